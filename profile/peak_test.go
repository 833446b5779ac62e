package profile

import (
	"runtime"
	"runtime/metrics"
	"testing"
	"time"
)

// heapBytes returns the bytes of objects on the heap, dead ones that are not swept included.
func heapBytes() uint64 {
	s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

// peakOf runs f. It returns by how many bytes the heap grew at most, with its garbage, and
// the duration. The heap is read every millisecond, and at the end.
func peakOf(t *testing.T, f func()) (bytes uint64, took time.Duration) {
	t.Helper()
	runtime.GC()
	before := heapBytes()
	most := before
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				most = max(most, heapBytes())
			}
		}
	}()
	start := time.Now()
	f()
	took = time.Since(start)
	after := heapBytes()
	close(stop)
	<-done
	return max(most, after) - before, took
}
