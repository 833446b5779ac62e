// Command granary loads pprof profiles into an embedded store and answers
// questions about them: the top functions, what changed from one profile to
// another, values over time, labels, a flame graph, a merged profile.
//
// Inputs are files, directories and http URLs. All commands exit with 0 when
// they did what was asked, with 1 when something failed (what could be answered
// is still printed), and with 2 when they were called wrongly. Errors are lines
// on standard error that name the input and the cause.
package main
