//go:build race

package damaged

// slower divides the number of changes under the race detector.
const slower = 16
