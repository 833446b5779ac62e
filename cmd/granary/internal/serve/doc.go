// Package serve has the commands serve and push: a server of profiles over HTTP, and a client that
// sends files to one.
//
// # Invariants
//
//	V1  A server listens before it logs its address, and logs the actual address.
//	V2  After an interrupt or SIGTERM the server takes no new request, answers the requests in
//	    progress or cuts them at --drain, and then closes the store: acknowledged data is durable.
//	V3  A reload that fails leaves tokens and certificates unchanged.
//	V4  With --query-from no directory is opened or created.
//	V5  With --self the server's own profiles are in a separate store: they take no room from
//	    pushed profiles, no query finds both, and they are gone when the server ends.
package serve
