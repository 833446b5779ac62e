// Package states is the command history with its subcommands: queries of recorded state histories, and the
// import of CSV. Package trace reads the recordings, package history answers queries, and package render
// draws pictures. This package has the flags, the syntax of times, the tables and the output files.
package states
