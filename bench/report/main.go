package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// options are the values of the flags.
type options struct {
	quick, json         bool
	from, keep, against string
	out, pictures       string
}

func main() {
	var o options
	flag.BoolVar(&o.quick, "quick", false, "measure at a small size, without databases and servers")
	flag.BoolVar(&o.json, "json", false, "print the targets as JSON, and write no page")
	flag.StringVar(&o.from, "from", "", "take the reports of a `folder`, instead of measuring")
	flag.StringVar(&o.keep, "keep", "", "keep the reports in a `folder`")
	flag.StringVar(&o.against, "against", "", "with -json: a `file` with an older list; a ratio that fell by a fifth is an error")
	flag.StringVar(&o.out, "out", "../BENCHMARKS.md", "the page to write")
	flag.StringVar(&o.pictures, "pictures", "../docs/pictures", "the folder of its pictures")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := o.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		stop()
		if errors.Is(err, errUsage) {
			os.Exit(2)
		}
		os.Exit(1)
	}
}

var errUsage = errors.New("wrong usage")

func (o *options) run(ctx context.Context) error {
	switch {
	case flag.NArg() > 0:
		return fmt.Errorf("%w: unknown argument %q", errUsage, flag.Arg(0))
	case o.quick && !o.json:
		return fmt.Errorf("%w: -quick is for -json: the page has figures of the full size", errUsage)
	case o.against != "" && !o.json:
		return fmt.Errorf("%w: -against is for -json", errUsage)
	}
	runs := full
	if o.quick {
		runs = quick
	}
	all, err := o.reports(ctx, runs)
	if err != nil {
		return err
	}
	rows := all.rows()
	if !o.json {
		return o.write(all, rows, runs)
	}
	enc := json.NewEncoder(os.Stdout)
	enc.SetIndent("", "  ")
	if err := enc.Encode(rows); err != nil || o.against == "" {
		return err
	}
	return compareWith(o.against, rows)
}
