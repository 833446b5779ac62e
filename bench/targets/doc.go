// Package targets measures the project's targets, each under its key.
//
// A target has a unit, a must and an aim. Its value is the median of repeated measurements, with the lowest
// and the highest beside it. Every measurement goes through the public API and counts everything: new
// stacks, maintenance, the garbage collector and all goroutines. Making the input is not counted.
//
// Targets that are measured together are a group. Options.Groups chooses some.
//
// A target whose input is missing, or whose size was not requested, is listed as skipped with the reason.
//
// The musts hold for a fleet of a million rows and its multiples, and for the R-SHT paper's trace. With
// fewer rows the report has values, but does not compare them.
package targets
