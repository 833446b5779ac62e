// Command partials measures partial histories in files (history/partial/partialfile) against whole ones
// (history/file) for distances of checkpoints, prints a Markdown table and draws a picture of it. Without
// the recorded sets, name others with -sets. It runs from the folder bench, with GOWORK=off:
//
//	go run ./partials -svg ../docs/pictures/partial.svg
//	go run ./partials -sets few:200000,synth:100:2000 -every 1000,10000
//
//	n          events between two checkpoints; - for the whole history
//	intervals  intervals in the file; for a part, kept intervals
//	bytes      of the file, names and positions included
//	build      of the file, events made and names included
//	state      of a random attribute at a random instant
//	slice      of all attributes at a random instant
//	range      of a random attribute in a hundredth of the time
//	2D         100 attributes, or all, at 1,000 instants across all of the time
//	×          for a part, times smaller or longer than the whole
//
// Set few:EVENTS is made here (few.go): few attributes, and many events. Events are in memory or computed,
// so a replay does not pay for reading a trace. Blocks are in memory, because the cache has room for all.
// Each answer from a part is compared with the whole history's. Times are CPU times with one processor,
// medians for the mean query. BENCHMARKS.md has figures.
package main
