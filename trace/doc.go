// Package trace reads recorded state histories: interval sets (package ihs), CSV, and sets computed from a
// formula. [Load] opens any of them by name and builds a history.History; [CSV] turns rows into an interval
// set, and [Build] builds a history from what else can be written. [LoadInto] writes a recording into an
// existing history.
//
// Load knows these names:
//
//	run, run.ihs.gz          the interval set run.ihs.gz with run.attrs.tsv.gz
//	states.csv, x.csv.gz     CSV
//	-                        CSV on LoadOptions.Stdin
//	synth:1000:50            1000 attributes that change 50 times each (ihs.Synth)
//
// CSV begins with a line of column names, in any order. Its rows are changes, "time,attribute,value", or
// intervals, "start,end,attribute,value"; a column "kind" is optional. An attribute is a path of names. All
// values of an attribute have one kind: int if all are whole numbers, else float if all are numbers as in
// JSON, else string. An empty value is null.
//
// # Invariants
//
//	T1  In a set made from CSV, each attribute has exactly one value at each instant from
//	    the first to the last row; an instant without a row is null.
//	T2  A Recording has every interval in its input, whatever the number of commits. An
//	    input with a gap is an error that names the interval or the attribute.
//	T3  An error names the file, and the line in CSV. Memory is proportional to the bytes
//	    read, within an interval set's limits.
//
// The package writes no files and knows no flags or terminals.
package trace
