// Package formats knows formats of profiles other than pprof: it recognises those that people take
// for pprof, and writes folded stacks and files of speedscope.
package formats
