// Package effort says how much tests do. By default the tests of all packages take less than three
// minutes together. If the environment variable GRANARY_FULL is set, they do everything they can. With
// -short, tests that take more than a second are left out, and others try less:
//
//	GRANARY_FULL=1 go test work
//	GRANARY_SLOW=1 go test work
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

// Full is true if the environment variable GRANARY_FULL is set.
var Full = os.Getenv("GRANARY_FULL") != ""

// Patience is how long a test waits for an event that must happen. It is long, because it only has to tell a
// slow machine from a test that hangs.
const Patience = 2 * time.Minute

// Part returns n if Full is true. Otherwise it returns one of parts equal parts of n, at least 1.
func Part(n, parts int) int {
	if Full {
		return n
	}
	return max(1, n/parts)
}

// Less returns n, or with -short one of parts equal parts of n, at least 1. It is for counts that say how much one
// test tries, such as seeds. Under the race detector it returns n, because each package has
// smaller counts of its own there. A count that a flag gives becomes smaller too. Call it when flags are parsed, so not for the default of a flag.
func Less[N ~int | ~int64 | ~uint64](n, parts N) N {
	if testing.Short() && !Race {
		return max(1, n/parts)
	}
	return n
}

// Brief reports whether the race detector is on or -short is set. Tests of one goroutine try less then: under the
// detector they would find the same ten times slower.
func Brief() bool { return Race || testing.Short() }

// Long skips a test that takes seconds, with -short. Under the race detector it never skips, because many of
// these tests have several goroutines.
func Long(t testing.TB) {
	t.Helper()
	if testing.Short() && !Race {
		t.Skip("it takes seconds: -short leaves it out")
	}
}

// Slow is Long for a test that takes many seconds. It also skips the test without GRANARY_SLOW or GRANARY_FULL, so that
// the README's command ends in three minutes on a slow machine. .ci/run sets GRANARY_SLOW in a later step.
func Slow(t testing.TB) {
	t.Helper()
	Long(t)
	if !Full && !Race && os.Getenv("GRANARY_SLOW") == "" {
		t.Skip("it takes many seconds: GRANARY_SLOW=1 runs it")
	}
}

// Alone skips a test that does one thing after another, with -short under the race detector: it would take ten times as long there, and
// has no race of its own to find. Without -short it runs: .ci/long does so.
func Alone(t testing.TB) {
	t.Helper()
	if Race && testing.Short() {
		t.Skip("it does one thing after another: -short leaves it out under the race detector")
	}
}

// Allocated returns how many bytes f allocates. f runs with one processor and without garbage collection, because
// a collection or a move to another processor empties a sync.Pool, and the result would then vary with the
// machine's load. No parallel test may run beside it.
func Allocated(f func()) uint64 {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	runtime.GC() // collect earlier garbage
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// DrawLess has package rapid make a quarter of its checks under the race detector, unless the flag
// -rapid.checks says otherwise. It is for packages whose property-based tests use one goroutine. Call it
// before flags are parsed.
func DrawLess() {
	if checks := flag.Lookup("rapid.checks"); Race && checks != nil {
		_ = checks.Value.Set("25")
	}
}

// CollectRarely makes garbage collections rare in a process whose heap is small. Otherwise collections would
// take a third of the process's time. It does nothing if GOGC is set, or under the race detector, which has a
// heap of its own.
func CollectRarely() {
	if os.Getenv("GOGC") == "" && !Race {
		debug.SetGCPercent(400)
		debug.SetMemoryLimit(3 << 30)
	}
}
