//go:build race

package disk_test

// raceEnabled reports whether the race detector is on. Tests of one goroutine then do less.
const raceEnabled = true
