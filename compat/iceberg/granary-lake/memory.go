package main

import (
	"os"
	"runtime/debug"
	"runtime/metrics"
)

// unitMemory is the memory that making a unit takes beyond the process's own, with the garbage that the
// collector has not seen yet. It is within the 512 MB that a unit may take.
const unitMemory = 448 << 20

// limited calls f, which makes units. Meanwhile the collector runs more often before the process exceeds
// its present memory by a unit's. It is not a bound: a unit with symbols can need more, and then takes more
// time. A limit of GOMEMLIMIT stays.
func limited(f func() error) error {
	if os.Getenv("GOMEMLIMIT") != "" {
		return f()
	}
	sample := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(sample)
	before := debug.SetMemoryLimit(int64(sample[0].Value.Uint64()-sample[1].Value.Uint64()) + unitMemory)
	defer debug.SetMemoryLimit(before)
	return f()
}
