//go:build race

package mended_test

// raceEnabled reports whether the race detector is on. Tests of one goroutine do less then.
const raceEnabled = true
