package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
)

// recorded is the folder of the recorded sets. They are not part of the project.
const recorded = "../../shared/data/intervals/"

const defaultSets = recorded + "many-threads," + recorded + "uneven-streams," + recorded + "bug446190," +
	recorded + "flipping-endianness,few:2000000"

type options struct {
	sets, every, svg, dir string
	repeat                int
}

func main() {
	var o options
	flag.StringVar(&o.sets, "sets", defaultSets, "sets, by commas: files of intervals, synth:ATTRIBUTES:CHANGES, or few:EVENTS")
	flag.StringVar(&o.every, "every", "100,1000,10000,50000", "events between two checkpoints, by commas")
	flag.StringVar(&o.svg, "svg", "", "file for the picture")
	flag.StringVar(&o.dir, "dir", os.TempDir(), "directory for the histories")
	flag.IntVar(&o.repeat, "repeat", 3, "measurements of each figure, of which the median counts")
	flag.Parse()
	if err := run(context.Background(), os.Stdout, o); err != nil {
		fmt.Fprintln(os.Stderr, "partials:", err)
		os.Exit(1)
	}
}

// run prints a table, and draws the picture.
func run(ctx context.Context, w io.Writer, o options) error {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // idle collectors would look for work
	distances, err := numbers(o.every)
	if err != nil {
		return err
	}
	fmt.Fprintln(w, "| set | n | intervals | bytes; × smaller | build, ms; × longer | state, us; × longer | slice, us; × longer | range, us; × longer | 2D, ms; × longer |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|---|---|---|")
	var sets []measured
	for name := range strings.SplitSeq(o.sets, ",") {
		m, err := measureSet(ctx, name, distances, o, func(row string) { fmt.Fprintln(w, row) })
		if err != nil {
			return fmt.Errorf("set %s: %w", name, err)
		}
		sets = append(sets, m)
	}
	if o.svg == "" {
		return nil
	}
	return writePicture(sets, o.svg)
}

// numbers parses numbers of events.
func numbers(list string) (all []int, err error) {
	for text := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("%q is no number of events", text)
		}
		all = append(all, n)
	}
	return all, nil
}
