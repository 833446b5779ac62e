// Package webpprof answers with pages of the web interface of google/pprof, made of a profile that a program has: the
// graph, the table, the callers and callees of functions, and the flame graph.
//
//	profile, page, parameters -> Render -> pprof's driver, one at a time -> Answer, in memory
//
// # Invariants
//
//	W1  One page is made at a time in the process, as the settings of pprof's driver are variables of the process.
//	W2  No page reads or writes a file, or asks the network: pprof has no object files, sources, symbols, settings and
//	    temporary files here. Its pages that need them are not there. The graph runs graphviz's dot, if there is one.
//	W3  What a page costs is bounded by the profile, and by limits on patterns and on the nodes of a graph.
//	W4  A page runs its scripts without the rights of the site that it comes from (Policy).
//
// It knows profiles of pprof alone.
package webpprof
