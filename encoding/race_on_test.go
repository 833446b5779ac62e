//go:build race

package encoding

// raceEnabled says whether the race detector is on: then a pool forgets at random, and
// tests of one goroutine do less.
const raceEnabled = true
