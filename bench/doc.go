// Command bench measures the store and prints one JSON report. It runs from its folder, with GOWORK=off if
// the checkout has a go.work.
//
//	go run . -rows 1000000
//	go run . -rows 1000000 -workload fleet
//	go run . -rows 1000000 -workload queries
//	go run . -workload arrow
//	go run . -rows 100000 -workload stacks
//	go run . -workload histories
//	go run . -rows 1000000 -peers all
//	go run . -rows 1000000 -peers all -workload durable
//	go run . -targets -sizes 1m,10m
//	go run . -targets -groups durable -sizes 1m,10m
//	go run ./compare -base COMMIT
//	go run ./trees
//	go run ./partials
//	go run ./serve
//	go run ./polarsignals
//	go run ./report
//	go run ./track
//
// The first replays the project's own profiles as pprof. The next five are the workloads in package
// workloads: rows of the made-up fleet by codes and by lists of location ids; queries of a snapshot of it,
// then a reader beside a writer and cancelled queries; the fleet as Arrow records; rows
// of new stacks; interval histories.
//
// With -peers, FrostDB, as Parca uses it and in the order of the RFC, kelindar/column, plain Arrow records,
// and DuckDB in memory, in a file and over Parquet take the same rows and answer the same queries. Each
// runs in its own process, in turns, and their answers are compared, also with an oracle's if it is named.
// DuckDB's program is in folder duck, a module of its own, for cgo. With -workload durable too, each stores
// the rows in a directory: FrostDB in its log, and then as Parquet. DuckDB and Parquet stand beside them:
// the command in folder formats, a module of its own, measures these with cgo. Where it cannot be built,
// the report names them as skipped. Pyroscope's server is not run.
//
// With -targets, the targets are measured under their keys, all or some groups. A table goes to standard
// error.
//
// The commands in their own folders: compare relates the figures of two commits; trees has the papers'
// trees and other interval stores beside package history; partials has partial histories beside the whole;
// serve loads a server over HTTP; report makes a page of the others' measurements.
//
// Unless a report says otherwise, times are the process's CPU times, all goroutines and the garbage
// collector included, because wall time on a shared machine depends on its other load. Workload fleet
// counts the thread that inserts and maintains. A heap is the live heap, minus the live heap before the
// store was opened. Every report explains its keys.
//
// The packages, in the order of their imports: results, measure, fleet, replay, peers, workloads, targets.
// The module is apart from the store's, so that the compared stores stay out of the store's module graph.
package main
