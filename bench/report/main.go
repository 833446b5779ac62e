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
	quick, json   bool
	papers        bool
	public        bool
	rounds        int
	keep, against string
	out, pictures string
}

func main() {
	var o options
	flag.BoolVar(&o.quick, "quick", false, "measure at a small size, without databases and servers")
	flag.BoolVar(&o.json, "json", false, "print the targets as JSON, and write no page")
	flag.StringVar(&o.keep, "keep", "", "keep the reports in a `folder`, and do not measure again what is there")
	flag.BoolVar(&o.papers, "papers", false, "measure what the papers measure, and write that part of the page alone")
	flag.BoolVar(&o.public, "public", false, "measure the public benchmark, and write that part of the page alone")
	flag.IntVar(&o.rounds, "rounds", 3, "with -quick: the number of `rounds` in which to measure what varies; the medians are printed")
	flag.StringVar(&o.against, "against", "", "with -json: a `file` with an older list; a ratio that fell by more than a fifth is measured again, and is an error in the end; without -quick so is one that rose")
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

func (o *options) run(ctx context.Context) (err error) {
	switch {
	case flag.NArg() > 0:
		return fmt.Errorf("%w: unknown argument %q", errUsage, flag.Arg(0))
	case o.quick && !o.json:
		return fmt.Errorf("%w: -quick is for -json: the page has figures of the full size", errUsage)
	case (o.papers || o.public) && o.json:
		return fmt.Errorf("%w: -papers and -public write a part of the page", errUsage)
	case o.quick && o.rounds < 1:
		return fmt.Errorf("%w: %d rounds", errUsage, o.rounds)
	case o.against != "" && !o.json:
		return fmt.Errorf("%w: -against is for -json", errUsage)
	case o.quick && o.keep != "":
		return fmt.Errorf("%w: rounds of a quick list are not kept", errUsage)
	}
	m, err := newMeasurer(o.keep)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.close()) }()
	if o.quick {
		return o.list(ctx, m)
	}
	if o.papers {
		return o.part(ctx, m)
	}
	if o.public {
		return o.publicPart(ctx, m)
	}
	if o.json {
		return o.targets(ctx, m)
	}
	all, runs := newReports(), full()
	if err := m.measure(ctx, all, runs); err != nil {
		return err
	}
	return o.write(all, all.rows(), runs)
}

// targets prints the targets of a page, and compares their ratios with the ratios in an older list.
func (o *options) targets(ctx context.Context, m *measurer) error {
	older, err := o.older()
	if err != nil {
		return err
	}
	all := newReports()
	if err := m.measure(ctx, all, ofTargets()); err != nil {
		return err
	}
	differ := same(older, all.rows())
	for n := 1; n <= again && differ != nil; n++ {
		fmt.Fprintf(os.Stderr, "report: %v\nreport: round %d of %d\n", differ, pageRounds+n, pageRounds+again)
		if err := m.measure(ctx, all, round(pageRounds+n)); err != nil {
			return err
		}
		differ = same(older, all.rows())
	}
	return errors.Join(printRows(all.rows()), differ)
}

func printRows(rows []row) error {
	enc := json.NewEncoder(os.Stdout)
	enc.SetIndent("", "  ")
	return enc.Encode(rows)
}
