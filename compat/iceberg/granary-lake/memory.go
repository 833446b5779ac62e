package main

import (
	"os"
	"runtime/debug"
)

// unitMemory bounds what the making of a unit takes beside the store, with what the collector has not seen yet: less than the
// 512 MB of BenchmarkUnit.
const unitMemory = 448 << 20

// limitMemory lets the collector run more often before the process has a unit's memory beside some bytes. It is no
// bound: a unit with symbols can need more, and costs more time then. A limit of GOMEMLIMIT stays.
func limitMemory(beside int64) {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(beside + unitMemory)
	}
}
