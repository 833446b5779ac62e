// Package iceberg measures compat/iceberg with the workloads of the repository's benchmark: the bytes, time and
// memory of a unit in the table. It is outside of the module of compat/iceberg, because programs that require that
// module do not require the benchmark.
//
//	cd bench/formats && GOWORK=off go test ./iceberg -bench . -benchtime 1x -cpu 1 -timeout 0
package iceberg
