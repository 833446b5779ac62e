// Package replay makes workloads from recorded profiles.
//
// Templates are a folder's pprof files. They become profiles by number, like package fleet's. Project
// returns the profiles in this repository's testdata, which Insert inserts as pprof, scrape by scrape.
package replay
