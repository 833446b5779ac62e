//go:build race

package profile

// raceEnabled says that the race detector is on: tests of one goroutine do less.
const raceEnabled = true
