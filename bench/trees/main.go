package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
)

func main() {
	var o options
	flag.StringVar(&o.sets, "sets", defaultSets, "interval sets, by commas: files, or synth:ATTRIBUTES:CHANGES")
	flag.StringVar(&o.only, "trees", "", "trees, by commas; all if empty")
	flag.StringVar(&o.dir, "dir", "", "directory for trees on disk; in memory if empty")
	flag.IntVar(&o.repeat, "repeat", 5, "measurements of each figure, of which the median counts")
	flag.Int64Var(&o.most, "max", 1<<30, "bytes at which a tree is given up")
	flag.Parse()
	if err := run(os.Stdout, o); err != nil {
		fmt.Fprintln(os.Stderr, "trees:", err)
		os.Exit(1)
	}
}

// recorded is where the recorded sets are. They are not part of the project.
const recorded = "../../shared/data/intervals/"

const defaultSets = recorded + "many-threads," + recorded + "uneven-streams," + recorded + "bug446190," +
	recorded + "flipping-endianness,synth:1000:1000,synth:10000:100,synth:100000:10"

type options struct {
	sets, only, dir string
	repeat          int
	most            int64
}

// run prints a table.
func run(w io.Writer, o options) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "set\ttree\tbuild M/s\tMB\tB/interval\tnodes\tdepth\tsingle us\tfull us\t2D ms\tone kind ms\t")
	for name := range strings.SplitSeq(o.sets, ",") {
		s, err := openSet(name)
		if err != nil {
			return fmt.Errorf("set %s: %w", name, err)
		}
		if err := s.measureAll(o, func(tree string, f figures) error {
			fmt.Fprintf(table, "%s\t%s\t%s\t\n", s.name, tree, f)
			return nil
		}); err != nil {
			return fmt.Errorf("set %s: %w", name, err)
		}
	}
	return table.Flush()
}
