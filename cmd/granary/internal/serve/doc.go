// Package serve has the commands serve and push: a server of profiles over HTTP, and a client that
// sends files to one.
//
// # Invariants
//
//	V1  A server listens before it says so, and says the address that it has.
//	V2  After an interrupt or SIGTERM no new request is taken, the requests in progress are answered
//	    or cut at --drain, and then the store is closed: what was acknowledged is durable.
//	V3  A reload that fails leaves tokens and certificates as they were.
//	V4  With --query-from no directory is opened or made.
//	V5  With --self the server's own profiles are in a store of their own: they take no room of those that
//	    are pushed, no question finds both, and they are gone at the end.
package serve
