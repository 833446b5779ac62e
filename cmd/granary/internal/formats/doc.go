// Package formats writes profile formats other than pprof: folded stacks, speedscope files, and trees as
// JSON.
package formats
