//go:build race

package columnstore

// raceEnabled says that the race detector is on: tests of one goroutine do less.
const raceEnabled = true
