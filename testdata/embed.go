// Package testdata holds the real profiles that the tests and the demo use.
// Where each one comes from is told in profiles/README.md.
package testdata

import "embed"

// Profiles is the folder profiles: one folder per profiled program, with
// gzipped pprof files named after their kind (cpu, heap, goroutine, block or
// mutex), and a number where there are several of a kind.
//
//go:embed profiles
var Profiles embed.FS
