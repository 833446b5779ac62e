package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/granarydb/granary/bench/measure"
	"github.com/granarydb/granary/bench/results"
	"github.com/granarydb/granary/bench/trees/postgres"
)

func main() {
	is, err := child(os.Stdout)
	if !is {
		var o options
		flag.StringVar(&o.sets, "sets", defaultSets, "interval sets, by commas: files, synth:ATTRIBUTES:CHANGES, or without-pid:FILE")
		flag.StringVar(&o.only, "trees", allStores, "stores, by commas, a tree with the size of its blocks behind it if it is another, as SHT@16K")
		flag.StringVar(&o.Dir, "dir", "", "directory for trees on disk, and for databases; if empty, trees are in memory")
		flag.IntVar(&o.repeat, "repeat", 5, "processes of each store, of which the median counts")
		flag.DurationVar(&o.patience, "patience", 0, "a store whose processes took so long for a set gets no more of them; 0 is no limit")
		flag.Int64Var(&o.Most, "max", 1<<30, "bytes at which a tree is given up")
		flag.DurationVar(&o.Enough, "enough", 40*time.Millisecond, "least CPU time of a measurement of questions")
		flag.BoolVar(&o.json, "json", false, "print medians and spreads as JSON instead of a table")
		flag.BoolVar(&o.Views, "views", false, "ask trees as the views of the R-SHT paper do: Table III and figure 18")
		flag.Parse()
		err = run(os.Stdout, o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "trees:", err)
		os.Exit(1)
	}
}

// recorded is where the recorded sets are. They are not part of the project.
const recorded = "../../shared/data/intervals/"

const defaultSets = recorded + "many-threads," + recorded + "uneven-streams," + recorded + "bug446190," +
	recorded + "flipping-endianness,synth:100:10000,synth:1000:1000,synth:10000:100,synth:100000:10"

const allStores = "SHT,oSHT,eSHT,R2,R3,R4,vR,history,rtree,PG GiST,PG B-tree"

// options are those of the command, of which a child has the exported ones.
type options struct {
	sets, only string
	repeat     int
	patience   time.Duration
	json       bool
	Dir        string
	Most       int64
	Enough     time.Duration
	Views      bool
}

// run prints a table, or JSON.
func run(w io.Writer, o options) error {
	var stores []peer
	for name := range strings.SplitSeq(o.only, ",") {
		p, err := peerOf(name)
		if err != nil {
			return err
		}
		stores = append(stores, p)
	}
	all := report{Machine: results.Machine(), Keys: map[string]string{}, Sets: map[string]map[string]summary{}}
	if err := postgres.Find(postgres.Installed); err != nil && slices.ContainsFunc(stores, func(p peer) bool { return p.server }) {
		all.Skipped = fmt.Sprintf("PG GiST and PG B-tree are skipped: %v", err)
		stores = slices.DeleteFunc(stores, func(p peer) bool { return p.server })
	}
	for _, m := range measured {
		all.Keys[m.key] = m.about
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, heading())
	for name := range strings.SplitSeq(o.sets, ",") {
		of, err := measureAll(name, stores, o)
		if err != nil {
			return fmt.Errorf("set %s: %w", name, err)
		}
		set := map[string]summary{}
		for i, p := range stores {
			set[p.name] = summarise(of[i])
			fmt.Fprintf(table, "%s\t%s\t%s\n", setName(name), p.name, set[p.name].row())
		}
		all.Sets[setName(name)] = set
	}
	if o.json {
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		return enc.Encode(all)
	}
	if all.Skipped != "" {
		fmt.Fprintln(w, all.Skipped)
	}
	return table.Flush()
}

// measureAll measures the stores in turns, and returns the figures of all repetitions of each.
func measureAll(set string, stores []peer, o options) ([][]figures, error) {
	of, took := make([][]figures, len(stores)), make([]time.Duration, len(stores))
	for range o.repeat {
		for i, p := range stores {
			if o.patience > 0 && took[i] > o.patience {
				continue
			}
			begun := time.Now()
			var f figures
			text, err := json.Marshal(task{set, p.name, o})
			if err == nil {
				err = measure.Again(childVariable, string(text), &f)
			}
			if err != nil {
				return nil, fmt.Errorf("%s: %w", p.name, err)
			}
			took[i] += time.Since(begun)
			of[i] = append(of[i], f)
		}
	}
	for i, p := range stores {
		fmt.Fprintf(os.Stderr, "trees: %s, %s: %d processes, %.1f s\n", setName(set), p.name, len(of[i]), took[i].Seconds())
	}
	return of, nil
}

// childVariable is the environment variable with the task of a process that measures one
// store. The command starts itself for each store, set and repetition, so that no store
// inherits the heap of another.
const childVariable = "GRANARY_BENCH_TREES"

// task is what a child measures.
type task struct {
	Set, Peer string
	Options   options
}

// child does the task of this process, if it is a child: it prints figures.
func child(w io.Writer) (is bool, err error) {
	text, is := os.LookupEnv(childVariable)
	if !is {
		return false, nil
	}
	var t task
	if err := json.Unmarshal([]byte(text), &t); err != nil {
		return true, fmt.Errorf("task of a child: %w", err)
	}
	p, err := peerOf(t.Peer)
	if err != nil {
		return true, err
	}
	s, err := openSet(t.Set)
	if err != nil {
		return true, err
	}
	f, err := s.measure(p, t.Options)
	if err != nil {
		return true, err
	}
	return true, json.NewEncoder(w).Encode(f)
}
