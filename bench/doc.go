// Command bench measures the store on a replay of real profiles and prints one
// JSON object: CPU time per row to insert, heap bytes per row, CPU time of a few
// queries.
//
//	go run . -rows 1000000
//	go run . -rows 1000000 -workload fleet
//	go run . -rows 1000000 -peers all
//	go run . -rows 1000000 -workload queries
//
// The second is a fleet that is made up, always the same: 200 pods of 25 jobs, four
// types, 30 labels, stacks of depth 5 to 60 of which a million rows have 237,156
// distinct ones. It goes in by codes and as lists of location ids, without pprof. What
// was made is printed before what it took. Here CPU time is that of the thread that
// inserts and maintains.
//
// The third puts the same fleet into FrostDB (as Parca uses it, and in the RFC's
// order) and kelindar/column too, each in a process of its own, one after the other
// and again; what they answer is compared with each other. -workload pprof takes real
// profiles of ../shared/data/pprof instead.
//
// The fourth fills the fleet, with names of functions and trace ids beside its rows, and
// asks questions of a snapshot of it; what each figure is, is printed with them. Then a
// writer and a reader are timed beside each other, and queries are cancelled. With -scale
// 10 the questions are asked of fleets with ten times the rows too. With -peers the other
// stores are asked as well, as far as they can say.
//
// Else CPU time is that of the whole process (all goroutines, the garbage collector
// included), because wall time on a shared machine says more about the machine.
// Queries are repeated and the median is given. Heap is the runtime's, after
// collection, minus the same before the store was opened.
//
// It is a Go module of its own, so that what it compares with never enters
// the module graph of the store.
package main
