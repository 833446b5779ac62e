// Package workloads runs the measurements of this store, each as one report.
//
//   - Replay inserts the project's own profiles as pprof.
//   - Fleet inserts the made-up fleet by codes and by lists of location ids: cost of a row.
//   - Queries queries a compacted fleet: cost of a query, cancellation, a reader beside a writer.
//   - Arrow turns a fleet and its sums into Arrow records, FrostDB beside it.
//   - Durable inserts the fleet into a directory and opens it again: log, files, restarts. It also
//     measures cold merges, commits that wait for the disk, journals, and inserts while files are written.
//   - Stacks inserts rows whose stacks are all new.
//   - Histories builds and queries interval histories.
//
// A report's JSON keys are stable, because package main in folder compare relates two commits by them.
package workloads
