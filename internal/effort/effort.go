// Package effort says how much tests do. By default the tests of all packages take less than three
// minutes together. With the environment variable GRANARY_FULL they do all that they can, and with
// -short those alone run that take a second or less:
//
//	GRANARY_FULL=1 go test work
//	go test -short work
package effort

import (
	"flag"
	"os"
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

// Full reports whether GRANARY_FULL is set.
var Full = os.Getenv("GRANARY_FULL") != ""

// Patience is how long a test waits for what must come. It is long, because it only tells a slow machine from a test that hangs.
const Patience = 2 * time.Minute

// Part returns n if Full is true. Otherwise it returns one of parts equal parts of n, at least 1.
func Part(n, parts int) int {
	if Full {
		return n
	}
	return max(1, n/parts)
}

// Long skips a test that takes seconds if tests are to be short. With the race detector it does not, because many of these
// tests have several goroutines.
func Long(t testing.TB) {
	t.Helper()
	if testing.Short() && !Race {
		t.Skip("it takes seconds: -short leaves it out")
	}
}

// Allocated returns how many bytes f allocates. Meanwhile one processor works and nothing is collected, because a
// collection and a move to another processor take what a pool holds: with them the figure would depend on the load of the
// machine. No parallel test may run beside it.
func Allocated(f func()) uint64 {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	runtime.GC() // of what was there before
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// DrawLess has package rapid make a quarter of its checks with the race detector, unless the flag
// -rapid.checks says otherwise. It is for packages whose drawn tests are of one goroutine, and is
// called before flags are parsed.
func DrawLess() {
	if checks := flag.Lookup("rapid.checks"); Race && checks != nil {
		_ = checks.Value.Set("25")
	}
}

// CollectRarely makes garbage collections rare in a process whose heaps are small: they would take
// a third of its time. It does nothing if GOGC is set, or with the race detector, which has a
// heap of its own.
func CollectRarely() {
	if os.Getenv("GOGC") == "" && !Race {
		debug.SetGCPercent(400)
		debug.SetMemoryLimit(3 << 30)
	}
}
