// Package check compares what the functions of a program cost in the runs of two sides, the base and the new one, and tells
// regressions from noise.
//
//	Measured: one type of values, its runs on both sides
//	  -> names       closures and generics under one name; functions that moved as one (names.go, moves.go)
//	  -> quantities  a number of each run for each function, by itself and with what it calls (compare.go)
//	  -> test        which of them are higher by more than chance (test.go)
//	  -> Report      thresholds and budgets decide; as text, Markdown and JSON
//
// # Invariants
//
//	C1  With enough runs (Options.Alpha), a Report of sides that differ by chance alone has a regression with a probability of
//	    at most Alpha, however many functions and types it compares. Budgets are not tested: they are limits.
//	C2  A function that only has another name, or is inlined into or cut out of its caller, is compared with what it was.
//	C3  A verdict depends on the values of the runs alone: equal inputs have equal reports.
package check
