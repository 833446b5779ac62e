//go:build race

package arrowconv

// raceEnabled says whether the race detector is on: exhaustive tests do less then.
const raceEnabled = true
