// Command trees measures stores of intervals side by side, and prints a table: the state history
// trees of the papers (package sht), package history, an R-tree (rectangles) and PostgreSQL 15 in two
// layouts (postgres), on the same sets of intervals. Without the recorded sets, name others with -sets.
// It runs from the folder bench, with GOWORK=off:
//
//	go run ./trees
//	go run ./trees -sets synth:1000:1000 -trees eSHT,vR,SHT@16K -dir /tmp
//	go run ./trees -views -trees eSHT,vR -sets synth:10000:100 -json
//
// With -json it prints medians and spreads as JSON, of which BENCHMARKS.md is made (command report).
//
//	nodes, depth    of a tree
//	bytes_interval  of the closed file; of history, its image; of the R-tree, the heap; of PostgreSQL, the
//	                tables with their indexes
//	build_m_s       million intervals a second, what follows a load included
//	restart_ms      until a reopened store has answered its first question; a server starts, an
//	                R-tree is loaded again
//	single_us       a random key at a random time, both uniform
//	full_us         all keys at a random time; of history, into new memory
//	plane_ms        100 random keys at 2,000 times across the set
//	kind_ms         the first eighth of the keys, or the states of all threads, at the same times
//	..._nodes       that a tree looks at for a question
//
// With -views trees are asked as the views of R-SHT 7.2 and 7.7 do (views.go).
//
// Each store has a process of its own for each of -repeat turns, and stores take turns. A figure
// is the median of the processes; ± is half the distance between the lowest and the highest. A
// process compares all single and 2D answers, and five full ones, with a look at every interval,
// values included, before it times them. The answers that it times are counted. A wrong answer
// ends the run. A measurement asks 300 single questions, 20 full ones or 3 of 2D, and as many
// again until 40 ms have passed (-enough). If the first round takes ten times as long, it is the only
// one, and it ends after three questions and a second. With -patience, a store whose processes took so
// long for a set gets no more of them.
//
// Times are CPU times, user and system, of the process with one processor, collections included,
// and of the server's processes. Making an empty store is not in them, nor is initdb. A load
// that is not measured comes first, so that memory is not new, but for PostgreSQL. Trees
// are in memory without -dir, PostgreSQL is in files, which the system's cache holds.
// Trees keep up to 256 MiB of blocks in memory, so queries are of a warm cache; the checksum of a
// block counts in its first read. Queries hand each interval to a function. History returns its
// answers as a list.
//
// PostgreSQL is that of Debian's package postgresql-15. Each process starts a server on a socket in a
// temporary folder, and stops and removes it. Without the package, the run says that both layouts are
// skipped, and why.
package main
