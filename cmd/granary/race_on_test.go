//go:build race

package main

// raceEnabled reports whether the race detector is on. Comparisons of many files do fewer then.
const raceEnabled = true
