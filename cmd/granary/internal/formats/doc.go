// Package formats writes formats of profiles other than pprof: folded stacks, files of speedscope and
// trees as JSON.
package formats
