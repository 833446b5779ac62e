package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// options are the flags' values.
type options struct {
	file, picture string
	rows          int64
	repeat        int
	add, draw     bool
}

// exitWorse is the exit code after a sure change to the worse.
const exitWorse = 3

var errWorse = errors.New("a figure is worse")

func main() {
	var o options
	flag.StringVar(&o.file, "file", "track/figures.jsonl", "the series, a `file` with a line for each run")
	flag.StringVar(&o.picture, "picture", "track/figures.svg", "the `file` of the picture")
	flag.Int64Var(&o.rows, "rows", 500_000, "rows of the fleet; a series has one size")
	flag.IntVar(&o.repeat, "repeat", 5, "processes of each store, of which the median counts")
	flag.BoolVar(&o.add, "add", true, "add the run to the series")
	flag.BoolVar(&o.draw, "draw", false, "draw the series as it is, and measure nothing")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "track:", err)
		if errors.Is(err, errWorse) {
			os.Exit(exitWorse)
		}
		os.Exit(1)
	}
}

// run measures the checkout and relates it to the series.
func run(ctx context.Context, o options) error {
	if o.rows < 1 || o.repeat < 1 {
		return errors.New("want at least one row and one repetition")
	}
	series, err := readSeries(o.file)
	if err != nil {
		return err
	}
	if o.draw {
		return drawSeries(series, o.picture)
	}
	l, err := measured(ctx, o)
	if err != nil {
		return err
	}
	changes := changesOf(series, l)
	if err := writeTable(os.Stdout, l, changes); err != nil {
		return err
	}
	if o.add {
		if err := appendLine(o.file, l); err != nil {
			return err
		}
		if err := drawSeries(append(series, l), o.picture); err != nil {
			return err
		}
	}
	for _, c := range changes {
		if c.isSure && c.by > 0 {
			return fmt.Errorf("%w: %s by %.0f %%", errWorse, c.name, 100*c.by)
		}
	}
	return nil
}
