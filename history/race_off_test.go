//go:build !race

package history_test

// raceEnabled reports whether the race detector is on. Tests of one goroutine do less then.
const raceEnabled = false
