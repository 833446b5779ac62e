// Package iceberg measures compat/iceberg with the repository's benchmark workloads: the bytes, time and
// memory for a unit in the table. It is outside compat/iceberg's module, because programs that require that
// module do not require the benchmark.
//
//	cd bench/formats && GOWORK=off go test ./iceberg -bench . -benchtime 1x -cpu 1 -timeout 0
package iceberg
