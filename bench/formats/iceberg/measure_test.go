package iceberg

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"syscall"
	"testing"
	"time"
)

// cpuTime returns the processor time that the process has used.
func cpuTime(t testing.TB) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// limitMemory lets the collector keep what comes now within 448 MiB of what is there, about, as granary-lake does.
func limitMemory(t testing.TB) {
	debug.FreeOSMemory()
	sample := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(sample)
	before := debug.SetMemoryLimit(int64(sample[0].Value.Uint64()-sample[1].Value.Uint64()) + 448<<20)
	t.Cleanup(func() { debug.SetMemoryLimit(before) })
}

// watchHeap returns a function that returns the growth of the heap since then at its greatest,
// garbage included.
func watchHeap(t testing.TB) func() uint64 {
	runtime.GC()
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	read := func() uint64 {
		metrics.Read(sample)
		return sample[0].Value.Uint64()
	}
	base, most := read(), uint64(0)
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(5 * time.Millisecond):
				most = max(most, read())
			}
		}
	})
	stop := sync.OnceFunc(func() { close(done); wg.Wait() })
	t.Cleanup(stop)
	return func() uint64 {
		stop()
		return most - min(most, base)
	}
}
