package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/granarydb/granary/bench/trees/postgres"
)

// The sets of the papers' experiments. growing has a million intervals or more, of a growing number of
// attributes. fewer has fewer intervals, so that the SHT fits: its nodes grow with the square of the
// intervals if intervals outlast a leaf.
var (
	fewer   = []string{"synth:1000:300", "synth:3000:100", "synth:10000:30", "synth:30000:10", "synth:100000:3"}
	growing = []string{"synth:100:10000", "synth:1000:1000", "synth:10000:100", "synth:100000:10", million, fourMillion}
	longer  = []string{"synth:1000:100", "synth:1000:1000", "synth:1000:4000"}
)

const (
	fourMillion = "synth:4000000:1"
	withoutPID  = "without-pid:" + threads
	sparseSets  = 4 // number of sets in growing on which figure 18's queries run
)

// paperTrees are the trees of Table II. treeNames are all trees, then this store.
var (
	paperTrees = []string{"SHT", "oSHT", "eSHT", "R2", "R3", "vR"}
	treeNames  = []string{"SHT", "oSHT", "eSHT", "R2", "R3", "R4", "vR", history}
)

// blockSizes are the block sizes in figures 4 and 5 of the SHT paper.
var blockSizes = []string{"16K", "32K", "64K", "256K", "1024K", "4096K"}

// ofPapers returns the runs for the papers' part of the page.
func ofPapers() []run {
	var runs []run
	trees := func(part, args, stores string, sets ...string) {
		for _, set := range sets {
			r := run{name: "papers", part: "-" + part + "-" + strings.NewReplacer(":", "-", "/", "-").Replace(filepath.Base(set))}
			r.args = append(strings.Fields("./trees -json "+args), "-trees", stores, "-sets", set)
			runs = append(runs, r)
		}
	}
	partials := "./partials -svg ../docs/pictures/partial.svg"
	if _, err := os.Stat(recorded); err != nil {
		partials += " -sets few:2000000" // the only synthetic set of the command
	} else {
		trees("views", "-views -repeat 1", strings.Join(paperTrees, ","), recorded+threads)
		trees("peers", "-repeat 3 -patience 20s", "history,rtree,PG GiST", recorded+threads)
		trees("same", "-repeat 3", strings.Join(paperTrees, ","), strings.Replace(withoutPID, ":", ":"+recorded, 1))
		for _, set := range recordedSets[1:] {
			trees("small", "-repeat 3", "SHT,eSHT,R2,vR,history", recorded+set)
		}
	}
	// longer[1] is of growing too, which counts for the trees, because it has their views.
	trees("longer", "-repeat 3 -patience 15s", "SHT,eSHT,rtree,PG GiST", longer...)
	for i, set := range growing {
		args, stores := "-repeat 3 -patience 15s", "SHT,eSHT,R2,R3,R4,vR,history"
		if i < sparseSets {
			args = "-views " + args
		}
		if i >= 2 {
			stores = strings.TrimPrefix(stores, "SHT,")
		}
		trees("growing", args, stores, set)
	}
	trees("fewer", "-repeat 3 -patience 15s", "SHT,oSHT,eSHT,R2", fewer...)
	var sized []string
	for _, size := range blockSizes {
		sized = append(sized, "SHT@"+size, "eSHT@"+size)
	}
	trees("sizes", "-repeat 3 -patience 15s", strings.Join(sized, ","), longer...)
	return append(runs, run{name: "partials", args: strings.Fields(partials)})
}

// part measures the experiments of the papers, and replaces their part of the page. What is missing is said, or an
// error, before anything is measured.
func (o *options) part(ctx context.Context, m *measurer) error {
	whole, err := os.ReadFile(o.out)
	if err != nil {
		return err
	}
	before, _, has := bytes.Cut(whole, []byte("\n"+papersHeading))
	if !has {
		return fmt.Errorf("%s has no %q: %w", o.out, papersHeading, errPage)
	}
	if _, err := os.Stat(o.pictures); err != nil {
		return err
	}
	if _, err := os.Stat(recorded); err != nil {
		fmt.Fprintln(os.Stderr, "report: synthetic sets alone:", err)
	}
	if err := postgres.Find(postgres.Installed); err != nil {
		fmt.Fprintln(os.Stderr, "report: without databases:", err)
	}
	all, runs := newReports(), ofPapers()
	if err := m.measure(ctx, all, runs); err != nil {
		return err
	}
	if err := o.drawPapers(all); err != nil {
		return err
	}
	p := &page{all: all, runs: runs}
	p.papers()
	return os.WriteFile(o.out, append(before, p.String()...), 0o644)
}

// errPage means that this command did not write the page.
var errPage = errors.New("not a page of this command")

// drawPapers draws the papers' plots.
func (o *options) drawPapers(all *reports) error {
	for _, f := range paperFigures {
		if err := all.Papers.drawPaper(f, filepath.Join(o.pictures, f.file)); err != nil {
			return err
		}
	}
	return nil
}
