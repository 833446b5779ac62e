//go:build !race

package profile

// raceEnabled reports whether the race detector is on. Tests of one goroutine then do less.
const raceEnabled = false
