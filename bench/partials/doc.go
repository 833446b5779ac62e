// Command partials measures partial histories in files (history/partial/partialfile) against whole ones (history/file)
// for distances of checkpoints, prints a Markdown table and draws a picture of it. Without the recorded
// sets, name others with -sets. It runs from the folder bench, with GOWORK=off:
//
//	go run ./partials -svg ../docs/pictures/partial.svg
//	go run ./partials -sets few:200000,synth:100:2000 -every 1000,10000
//
//	n          events between two checkpoints; - of the whole history
//	intervals  that are in the file; of a part, those that are kept
//	bytes      of the file, names and positions included
//	build      of the file, events made and names included
//	state      of a random attribute at a random instant
//	slice      of all attributes at a random instant
//	range      of a random attribute in a hundredth of the time
//	2D         100 attributes, or all, at 1,000 instants across all of the time
//	×          of a part: times smaller, or longer, than of the whole history
//
// Set few:EVENTS is made here (few.go): few attributes, and many events. Events are in memory or are made, so
// a replay has no cost of reading a trace. Blocks are in memory: the cache has room for all. Each
// answer of a part is compared with that of the whole history. Times are CPU times with one processor, of the mean question,
// medians. BENCHMARKS.md has figures.
package main
