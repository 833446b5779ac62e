// Package stackfile writes merged stacks as files of other programs: folded stacks, and files of speedscope. A bound on memory and
// a context are for servers: the stacks of an answer can be many times larger than the store that they are in.
package stackfile
