// Package figures prints values with their units for people: nanoseconds as 1.23 s, bytes as 4.5 MiB, counts as 1,234.
//
// It knows units, and neither profiles nor the store. The package makes no compatibility promise.
package figures
