//go:build !race

package arrowconv

// raceEnabled reports whether the race detector is on; exhaustive tests then do less.
const raceEnabled = false
