// Command granary loads pprof profiles into an embedded store, in memory or in a directory, and answers
// queries about them: the top functions, the callers and callees of a function, the difference between two
// profiles, regressions, values over time, labels, a flame graph, a merged profile. It also exports rows, inspects the
// store, replays a demo fleet and queries recorded state histories.
//
// Inputs are files, directories, http URLs, host:port and standard input. The exit code is 0 after
// success, 1 after a failure, 2 after a usage error and 130 after an interrupt; of check 1 is a regression, and 2 any
// error. If some inputs cannot be read, the answer from the others is still printed. Each error is one line on standard error that names
// the input and the cause.
package main
