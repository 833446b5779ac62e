// Command trees measures the state history trees of the papers (packages sht, esht and rsht)
// and package history on the same sets of intervals, and prints a table. Without the recorded
// sets, name others with -sets. It runs from the folder bench, with GOWORK=off:
//
//	go run ./trees
//	go run ./trees -sets synth:1000:1000 -trees eSHT,vR -dir /tmp
//
//	build M/s    million intervals a second, closed included
//	MB, B/interval, nodes, depth   of the closed file; of history, its image
//	single us    a random key at a random time
//	full us      all keys at a random time; of history, into new memory
//	2D ms        100 random keys at 2,000 times across the set
//	one kind ms  the first eighth of the keys, or the states of all threads, at the same times
//
// Times are CPU times with one processor, medians. Trees keep up to 256 MiB of blocks in
// memory, so queries are of a warm cache; the checksum of a block counts in its first read.
// Queries hand each interval to a function. History returns its answers as a list. Both are
// asked the same questions, and all answers are counted and compared with the set's.
package main
