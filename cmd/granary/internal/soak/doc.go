// Package soak has the command soak: a load on a server in a process of its own, for hours, with everything that
// can happen to it, and a ledger of what it must have.
//
// Pushers send profiles by each protocol, and note in the ledger the values that were acknowledged, and the values that may have
// arrived. Others ask, ask what takes too long, send bombs, and do not read their answers. The server is killed, ended,
// stopped and told of other budgets all the while, and opens its directory again each time.
//
// # Invariants
//
//	K1  The sum of a protocol's values in the server is at least what was acknowledged, and at most that and what
//	    may have arrived. It is compared while no push is in progress.
//	K2  No answer has a status of 500, and a server that is told to end does so within its drain time and 5 s.
//	K3  The resident memory of the server is at most its --memory-total and 15 %.
//	K4  The choices of a run follow from its seed; what happens follows from the machine too.
package soak
