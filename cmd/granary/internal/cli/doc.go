// Package cli has the parts that granary's commands share: usage errors and exit codes, values
// of flags, progress, atomic replacement of output files, and output for people and scripts.
package cli
