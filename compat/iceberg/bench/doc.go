// Package bench measures package iceberg with the workloads of the repository's benchmark. It
// is a module of its own, so that programs which require package iceberg do not require the
// benchmark.
//
//	cd compat/iceberg/bench && GOWORK=off go test -bench . -benchtime 1x -cpu 1 -timeout 0
package bench
