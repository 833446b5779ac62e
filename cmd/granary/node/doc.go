// Package node is the server of granary serve, with all its flags, for a command that keeps the rows of the store elsewhere too: as
// granary-lake, whose table has the rows of all nodes. There is one server, so that tokens, TLS, limits and --sync are the same.
//
// A [Tier] has the command's own flags, and what is called around the server:
//
//	Check    the flags are right
//	Files    the directory is opened; its end is called before the store closes
//	Begin    the store is open; there are no tables and no requests
//	Start    the tables are there; its error ends the command before the first request
//	Run      beside the requests, until the command ends
//	Close    last
//
// It makes no compatibility promise.
package node
