package measure

import (
	"runtime"
	"time"

	"github.com/granarydb/granary/bench/results"
)

// OnThread returns the CPU time that f takes on the calling thread. It excludes other goroutines, such as
// the maintainer's and the collector's.
func OnThread(f func()) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	start := Thread()
	f()
	return Thread() - start
}

// MedianMs returns the median CPU time of `repeat` calls, in milliseconds. A collection precedes each call
// and is not counted. It stops at the first error.
func MedianMs(repeat int, f func() error) (float64, error) {
	var times []float64
	for range max(1, repeat) {
		runtime.GC()
		start := Process()
		if err := f(); err != nil {
			return 0, err
		}
		times = append(times, float64(Process()-start)/1e6)
	}
	return results.Median(times), nil
}

// QueryMs returns a call's median CPU time, in milliseconds, of up to 15 batches as long as all take less
// than 150 ms together, and of 3 otherwise. A batch takes about 5 ms, so that the caches after a collection
// do not decide it; a collection precedes each, and is not counted. A call that takes half a second is made
// once. A shorter first call warms up. It stops at the first error.
func QueryMs(f func() error) (ms float64, err error) {
	const least, most, enough, long, batch = 3, 15, 150.0, 500.0, 5.0
	first, err := MedianMs(1, f)
	if err != nil || first > long {
		return first, err
	}
	calls := int(max(1, min(batch/max(1e-4, first), 1000)))
	var times []float64
	for total := 0.0; total < long && (len(times) < least || len(times) < most && total < enough); {
		all, err := MedianMs(1, func() error {
			for range calls {
				if err := f(); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return 0, err
		}
		times = append(times, all/float64(calls))
		total += all
	}
	return results.Median(times), nil
}

// Cost is a call's cost, from batches of calls.
type Cost struct {
	Ms    []float64 // CPU time by batch; a collection within a batch counts
	Bytes float64   // allocated, the median
	Batch int       // calls in a batch
}

// CostOf measures `repeat` batches of calls. A batch takes at least 25 ms, so that neither the clock nor
// the caches after a collection decide its time. A call before each batch warms up. It stops at the first
// error.
func CostOf(repeat int, f func() error) (c Cost, err error) {
	const enough, most = 25.0, 20_000 // ms; calls
	start := CPU()
	if err := f(); err != nil {
		return c, err
	}
	c.Batch = int(min(most, max(1, enough/max(1e-6, float64(CPU()-start)/1e6))))
	for range max(1, repeat) {
		runtime.GC() // no collection is due soon
		if err := f(); err != nil {
			return c, err
		}
		start := CPU()
		for range c.Batch {
			if err := f(); err != nil {
				return c, err
			}
		}
		c.Ms = append(c.Ms, float64(CPU()-start)/1e6/float64(c.Batch))
	}
	// Allocations are counted apart, because a collection before each batch empties the pools.
	var bytes []float64
	for range 4*max(1, repeat) + 1 {
		allocated := AllocatedBytes()
		if err := f(); err != nil {
			return c, err
		}
		bytes = append(bytes, float64(AllocatedBytes()-allocated))
	}
	c.Bytes = results.Median(bytes)
	return c, nil
}

// PerCall returns a call's CPU time in nanoseconds, a value for each of `repeat` batches. A batch takes at
// least 25 ms.
func PerCall(repeat int, call func()) []float64 {
	call()
	n := 1
	for start := CPU(); CPU()-start < 25*time.Millisecond; n++ {
		call()
	}
	costs := make([]float64, repeat)
	for i := range costs {
		start := CPU()
		for range n {
			call()
		}
		costs[i] = float64(CPU()-start) / float64(n)
	}
	return costs
}
