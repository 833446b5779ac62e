package measure

import (
	"runtime"
	"runtime/metrics"
	"time"
)

// Heap returns the bytes of live objects, after two collections.
func Heap() int64 {
	runtime.GC()
	runtime.GC() // the first may end a cycle that was under way
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// Mallocs returns the number of allocations since the process began. It stops the world.
func Mallocs() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Mallocs
}

// AllocatedBytes returns the bytes allocated since the process began. It stops the world, and is exact.
func AllocatedBytes() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

// Allocated returns the objects and bytes allocated and the CPU time used since the process
// began. It does not stop the world, and recent small allocations may be missing.
func Allocated() (objects, bytes uint64, cpu time.Duration) {
	s := []metrics.Sample{{Name: "/gc/heap/allocs:objects"}, {Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64(), s[1].Value.Uint64(), CPU()
}

// PeakHeap samples the heap, garbage included, in a goroutine that Stop ends.
type PeakHeap struct {
	done chan struct{}
	most chan int64
}

// WatchHeap begins to sample the heap every 5 ms.
func WatchHeap() *PeakHeap {
	p := &PeakHeap{done: make(chan struct{}), most: make(chan int64)}
	go func() {
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		var most int64
		for {
			metrics.Read(s)
			most = max(most, int64(s[0].Value.Uint64()))
			select {
			case <-tick.C:
			case <-p.done:
				p.most <- most
				return
			}
		}
	}()
	return p
}

// Stop ends the sampling and returns the highest sample. It must be called once.
func (p *PeakHeap) Stop() int64 {
	close(p.done)
	return <-p.most
}
