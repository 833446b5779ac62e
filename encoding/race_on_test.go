//go:build race

package encoding

// raceEnabled reports whether the race detector is on. A pool then drops entries at random,
// and tests of one goroutine do less.
const raceEnabled = true
