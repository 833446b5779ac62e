package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

// options are the flags' values.
type options struct {
	base, head string
	workloads  []string
	rounds     int
	rows       int64
	repeat     int
	procs      int
	sets       []string
	json       string
}

func main() {
	var o options
	var names, sets string
	flag.StringVar(&o.base, "base", "", "the `commit` to compare with")
	flag.StringVar(&o.head, "head", "", "the `commit` that is compared; by default the checkout as it is")
	flag.StringVar(&names, "workload", strings.Join(workloadNames, ","), "the `workloads`, with commas between them")
	flag.IntVar(&o.rounds, "rounds", 4, "rounds of four runs of a workload: A B B A")
	flag.Int64Var(&o.rows, "rows", 1_000_000, "rows of each run")
	flag.IntVar(&o.repeat, "repeat", 1, "measurements of each figure in a run")
	flag.IntVar(&o.procs, "procs", 0, "GOMAXPROCS of the runs; 0 leaves it alone")
	flag.StringVar(&sets, "sets", "", "history `sets`, with commas between them; by default those of the workload")
	flag.StringVar(&o.json, "json", "", "write the ratios to a `file` as well")
	flag.Parse()
	o.workloads = strings.Split(names, ",")
	if sets != "" {
		o.sets = strings.Split(sets, ",")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		stop()
		os.Exit(1)
	}
}

func (o *options) check() error {
	if o.base == "" {
		return errors.New("-base is missing: name a commit")
	}
	if o.rounds < 1 || o.rows < 1 || o.repeat < 1 || o.procs < 0 {
		return errors.New("want at least one round, one row and one repetition, and no negative -procs")
	}
	for _, w := range o.workloads {
		if figureKinds[w] == nil {
			return fmt.Errorf("unknown workload %q: want some of %s", w, strings.Join(workloadNames, ", "))
		}
	}
	return nil
}

// run compares two commits and prints a table.
func run(ctx context.Context, o options) error {
	if err := o.check(); err != nil {
		return err
	}
	b, err := checkOutSides(ctx, o.base, o.head)
	if err != nil {
		return err
	}
	defer b.close()
	var all []figures
	for _, w := range o.workloads {
		runs, err := b.measure(ctx, o, w)
		if err != nil {
			return fmt.Errorf("workload %s: %w", w, err)
		}
		f, err := relate(runs)
		if err != nil {
			return fmt.Errorf("workload %s: %w", w, err)
		}
		all = append(all, f)
	}
	if err := writeTable(os.Stdout, all); err != nil {
		return err
	}
	if o.json == "" {
		return nil
	}
	data, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(o.json, append(data, '\n'), 0o644)
}
