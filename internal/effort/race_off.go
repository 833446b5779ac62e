//go:build !race

package effort

// Race reports whether the race detector is on. Tests of one goroutine do less then.
const Race = false
