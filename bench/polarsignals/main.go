package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/granarydb/granary/bench/measure"
	"github.com/granarydb/granary/bench/results"
)

// options are the flags' values.
type options struct {
	rows    int
	set     string
	engines string
	repeat  int
	python  string
	json    bool
}

// child is the variable of the environment that makes this program measure one engine with one set.
const child = "GRANARY_POLARSIGNALS"

var errUsage = errors.New("usage")

func main() {
	var o options
	flag.Usage = usage
	flag.IntVar(&o.rows, "rows", 1_000_000, "rows of each set; with random stacks some engines hold 15 KB of memory a row")
	flag.StringVar(&o.set, "set", "all", "sets: random, real, mixed, with commas between, or all")
	flag.StringVar(&o.engines, "engines", "all", "engines, with commas between, or all: "+strings.Join(engineNames(), ", "))
	flag.IntVar(&o.repeat, "repeat", 3, "answers to a question after the first, whose median counts; one if the first takes more than 2 s")
	flag.StringVar(&o.python, "python", "", "a folder for the Python environment, made if it is missing; the default is in the user's cache")
	flag.BoolVar(&o.json, "json", false, "print one JSON report instead of tables")
	flag.Parse()
	ctx, stop := context.Background(), func() {}
	if os.Getenv(child) == "" { // a process for one engine ends at once
		ctx, stop = signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	}
	err := o.run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "polarsignals:", err)
		if errors.Is(err, errUsage) {
			os.Exit(2)
		}
		os.Exit(1)
	}
}

func usage() {
	fmt.Fprint(os.Stderr, `polarsignals measures the public benchmark of profiling data in several engines.

    go run ./polarsignals -rows 100000 -set random     a first table, in some minutes
    go run ./polarsignals -engines oracle,granary      this store alone, checked; needs no Python
    go run ./polarsignals -rows 100000 -json           all sets and engines, half an hour

A row has labels, a value, a time and a stack of whole locations. The questions:

`)
	for _, q := range questions {
		fmt.Fprintf(os.Stderr, "    %s  %s\n", q.name, q.about)
	}
	fmt.Fprint(os.Stderr, "\nFlags:\n")
	flag.PrintDefaults()
}

// chosen returns the names in a list with commas, or all.
func chosen(list string, all []string) ([]string, error) {
	if list == "all" {
		return all, nil
	}
	names := strings.Split(list, ",")
	for _, name := range names {
		if !slices.Contains(all, name) {
			return nil, fmt.Errorf("%w: %q is none of %s", errUsage, name, strings.Join(all, ", "))
		}
	}
	return names, nil
}

func (o *options) run(ctx context.Context) error {
	if of := os.Getenv(child); of != "" {
		engine, set, _ := strings.Cut(of, " ")
		return o.measure(engine, set)
	}
	sets, err := chosen(o.set, dataSets)
	if err != nil {
		return err
	}
	names, err := chosen(o.engines, engineNames())
	if err != nil {
		return err
	}
	if o.rows < 1 || o.repeat < 1 || flag.NArg() > 0 {
		return fmt.Errorf("%w: want at least one row and one repetition, and no arguments", errUsage)
	}
	dir, err := os.MkdirTemp("", "polarsignals")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	report := report{Machine: results.Machine(), Rows: o.rows, Repeat: o.repeat, Keys: keys, Skipped: map[string]string{}}
	p := &peers{folder: o.python, dir: dir}
	for _, set := range sets {
		of, err := o.measureSet(ctx, p, set, names)
		if errors.Is(err, errNotRecorded) {
			report.Skipped[set] = err.Error()
			fmt.Fprintf(os.Stderr, "polarsignals: set %s is skipped: %v\n", set, err)
			continue
		}
		if err != nil {
			return fmt.Errorf("set %s: %w", set, err)
		}
		report.Sets = append(report.Sets, *of)
		if !o.json {
			of.print(os.Stdout)
		}
	}
	if o.json {
		return cmp.Or(results.Print(&report), report.check())
	}
	return report.check()
}

// measure measures an engine of this program with a set, and prints the result.
func (o *options) measure(engine, set string) error {
	s, err := newSource(set, o.rows)
	if err != nil {
		return err
	}
	var r *result
	switch engine {
	case "oracle":
		r, err = measureOracle(s)
	case "granary", "granary-files":
		r, err = measureGranary(s, o.repeat, engine == "granary-files")
	case "arrow-by-hand":
		r, err = measureHand(s, o.repeat)
	default:
		err = fmt.Errorf("no engine %q", engine)
	}
	if err != nil {
		return err
	}
	return results.Print(r)
}

// measureSet measures engines with a set, one after the other.
func (o *options) measureSet(ctx context.Context, p *peers, set string, names []string) (*setReport, error) {
	s, err := newSource(set, o.rows)
	if err != nil {
		return nil, err
	}
	of := &setReport{Set: set}
	rows := filepath.Join(p.dir, set+".parquet")
	for _, name := range names {
		fmt.Fprintf(os.Stderr, "polarsignals: %s, %s\n", set, name)
		r := &result{}
		if engineOf(name).python {
			r, err = p.measure(ctx, s, rows, name, o.repeat)
		} else {
			err = measure.Again(child, name+" "+set, r)
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil {
			r = &result{Engine: name, Skipped: err.Error()}
			fmt.Fprintf(os.Stderr, "polarsignals: %s is skipped: %v\n", name, err)
		}
		of.Engines = append(of.Engines, r)
	}
	return of, errors.Join(os.RemoveAll(rows), os.RemoveAll(rows+".vortex"))
}
