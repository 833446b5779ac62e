// Package replay makes workloads of recorded profiles.
//
// Templates are the pprof files of a folder. They become profiles by number, as those of
// package fleet. Project are the profiles in this repository's testdata, which Insert
// inserts as pprof, scrape by scrape.
package replay
