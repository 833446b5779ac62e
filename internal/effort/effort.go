// Package effort says how much tests do. By default the tests of all packages take less than three
// minutes together. With the environment variable GRANARY_FULL they do all that they can:
//
//	GRANARY_FULL=1 go test work
package effort

import (
	"flag"
	"os"
	"runtime/debug"
)

// Full reports whether GRANARY_FULL is set.
var Full = os.Getenv("GRANARY_FULL") != ""

// Part returns n if Full is true. Otherwise it returns one of parts equal parts of n, at least 1.
func Part(n, parts int) int {
	if Full {
		return n
	}
	return max(1, n/parts)
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
