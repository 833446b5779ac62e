package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/trace"
	"time"

	"github.com/spf13/cobra"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
)

// The demo's size: an hour, of more than ten million rows.
const (
	demoSteps   = int(time.Hour / scrapeEvery)
	demoWriters = 4
)

func newDemo() *cobra.Command {
	var dir, profilesDir, traceFile string
	span := demoSpan
	cmd := &cobra.Command{
		Use:   "demo [flags]",
		Short: "Replay a fleet and show what the store makes of it",
		Long: `demo replays real CPU, heap, goroutine, block and mutex profiles of several Go
programs as an hour of a fleet of 50 pods that are scraped every 10 seconds:
more than ten million rows, through four writers, while the store splits and
compacts. Then it reports what that cost and answers a few questions. It needs
no network and no data, and takes less than a minute on two cores.`,
		Example: `  granary demo
  granary demo --span 2m --profiles fleet && granary top fleet
  granary demo -o /tmp/granary --trace demo.trace && go tool trace demo.trace
  granary export --demo 5m -o demo.parquet   # its rows, for pandas and others`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageError{fmt.Errorf("demo takes no arguments, not %q", args[0])}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if traceFile == "-" {
				return usageError{errors.New("--trace needs a file: standard output is for the report")}
			}
			steps := int(span / scrapeEvery)
			if profilesDir != "" {
				if err := saveFleet(cmd, profilesDir, steps); err != nil {
					return err
				}
			}
			return withTrace(traceFile, func() error {
				return demo(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr(), dir, steps)
			})
		},
	}
	cmd.Flags().StringVarP(&dir, "output", "o", "granary-demo", "`DIR` to write the flame graph to; made if it is not there")
	cmd.Flags().Var(spanValue{"span", &span}, "span", "how long a `TIME` of the fleet to replay")
	cmd.Flags().StringVar(&profilesDir, "profiles", "", "also write the profiles to `DIR`, as pprof files in folders that say their labels: something to try the other commands with. An hour is some 70,000 files")
	cmd.Flags().StringVar(&traceFile, "trace", "", "write a Go execution trace of the demo to `FILE`, for go tool trace")
	return cmd
}

// withTrace runs f, traced if a file is named.
func withTrace(name string, f func() error) error {
	if name == "" {
		return f()
	}
	return writeTo(name, nil, func(w io.Writer) error {
		if err := trace.Start(w); err != nil {
			return err
		}
		defer trace.Stop()
		return f()
	})
}

// demo is the whole demo, with so many scrapes of each pod.
func demo(ctx context.Context, out, progressTo io.Writer, dir string, steps int) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	f, err := newFleet(time.Now(), steps)
	if err != nil {
		return err
	}
	before := heap()
	store, err := columnstore.Open(columnstore.Options{})
	if err != nil {
		return err
	}
	defer store.Close()
	db, err := profile.Open(store, profile.Options{})
	if err != nil {
		return err
	}
	r := report{printer: printer{w: out}, fleet: f, store: store, db: db}
	bar := newProgress(progressTo, "replaying")
	start := time.Now()
	r.profiles, err = f.replay(ctx, db, demoWriters, bar.show)
	if err != nil {
		return err
	}
	r.insertTime = time.Since(start)
	bar.end()
	if err := store.Compact(ctx); err != nil {
		return err
	}
	r.heap = heap() - before
	r.print("\n")
	return store.View(ctx, func(snap *columnstore.Snapshot) error { return r.run(ctx, snap, dir) })
}

// heap returns the bytes of live objects on the heap.
func heap() int64 {
	runtime.GC()
	runtime.GC() // the first one may end a cycle that began before
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// report is what the demo prints.
type report struct {
	printer
	fleet      *fleet
	store      *columnstore.Store
	db         *profile.DB
	profiles   int64
	insertTime time.Duration
	heap       int64
}

func (r *report) print(text string) { r.printf("%s", text) }

func (r *report) run(ctx context.Context, snap *columnstore.Snapshot, dir string) error {
	if err := r.stored(ctx, snap); err != nil {
		return err
	}
	cpu, err := r.db.FindType(ctx, snap, "cpu")
	if err != nil {
		return err
	}
	start := time.Now()
	stacks, err := r.db.Merge(ctx, snap, cpu, profile.Query{})
	if err != nil {
		return err
	}
	r.top(stacks, time.Since(start))
	if err := r.chart(ctx, snap, cpu); err != nil {
		return err
	}
	return errors.Join(r.err, r.flameGraph(stacks, dir))
}

// stored tells what is in the store and what it took to get there.
func (r *report) stored(ctx context.Context, snap *columnstore.Snapshot) error {
	s := r.store.Stats()
	series, err := r.db.Table().Series(ctx, snap, columnstore.And())
	if err != nil {
		return err
	}
	stacks, err := r.db.Table().Aggregate(ctx, snap, columnstore.AggregateOptions{By: []string{profile.ColumnStacktrace}})
	if err != nil {
		return err
	}
	count := func(n int64) string { return profile.FormatValue(n, "count") }
	mb := func(n int64) string { return profile.FormatValue(n, "bytes") }
	r.printf("What went in\n")
	r.printf("  %14s  pods of %d programs, scraped every %v for %v\n", count(int64(len(r.fleet.pods))),
		len(r.fleet.programs()), scrapeEvery, time.Duration(r.fleet.steps)*scrapeEvery)
	r.printf("  %14s  profiles, replayed with other values from %d real ones\n", count(r.profiles), len(r.fleet.templates))
	r.printf("  %14s  rows: one value of one stack each\n", count(s.Rows))
	r.printf("  %14s  rows a second, with %d writers while the store split and compacted\n",
		count(int64(float64(s.Rows)/r.insertTime.Seconds())), demoWriters)
	r.printf("\nWhat the store made of it\n")
	r.printf("  %14s  series: sets of labels that profiles share\n", count(int64(len(series))))
	r.printf("  %14s  distinct stacks, each kept once\n", count(int64(len(stacks.Counts))))
	r.printf("  %14s  granules: sorted ranges of rows, found by a sparse index\n", count(int64(s.Granules)))
	r.printf("  %14s  splits of a granule that grew too large, %s compactions\n", count(s.Splits), count(s.Compactions))
	r.printf("  %14s  on the heap, all in: %.1f bytes a row\n", mb(r.heap), float64(r.heap)/float64(s.Rows))
	r.printf("  %14s  of it rows (%.1f bytes a row), %s stacks, %s symbols, %s labels\n", mb(s.PartBytes),
		float64(s.PartBytes)/float64(s.Rows), mb(s.StackBytes), mb(s.RecordBytes), mb(s.SeriesBytes))
	return r.err
}

func (r *report) top(stacks *profile.Stacks, took time.Duration) {
	unit := stacks.Type.SampleUnit
	functions := stacks.Top()
	r.printf("\nWhere the CPU time went, summed over all pods (%s stacks merged in %v)\n",
		profile.FormatValue(int64(stacks.Len()), "count"), took.Round(time.Millisecond))
	r.printf("  %10s %7s %10s %7s  %s\n", "flat", "flat%", "cum", "cum%", "function")
	for _, f := range functions[:min(10, len(functions))] {
		r.printf("  %10s %7s %10s %7s  %s\n", profile.FormatValue(f.Flat, unit), percent(f.Flat, stacks.Total),
			profile.FormatValue(f.Cum, unit), percent(f.Cum, stacks.Total), f.Name)
	}
}

// chart draws the CPU time of each job over time.
func (r *report) chart(ctx context.Context, snap *columnstore.Snapshot, cpu profile.Type) error {
	const points = 60
	span := time.Duration(r.fleet.steps) * scrapeEvery
	step := max(scrapeEvery, (span / points).Truncate(scrapeEvery))
	lines, err := r.db.Range(ctx, snap, cpu, profile.Query{}, profile.RangeOptions{Step: step, By: []string{"job"}})
	if err != nil {
		return err
	}
	c := chart{unit: "nanoseconds", from: r.fleet.start.UnixNano(), terminal: isTerminal(r.w)}
	c.to = c.from + int64(span)
	c.label = func(v float64) string { return fmt.Sprintf("%.1f", v/1e9) } // a second of CPU time a second is a core
	c.tick = func(t int64) string { return time.Duration(t - c.from).Round(time.Second).String() }
	var jobs []string
	for _, line := range lines {
		line.Points = line.Points[:max(1, len(line.Points)-1)] // the last step is cut short
		for k := range line.Points {
			p := &line.Points[k]
			p.Time, p.Value = max(p.Time, c.from), int64(float64(p.Value)/step.Seconds())
		}
		c.lines = append(c.lines, line.Points)
		for _, l := range line.Labels {
			jobs = append(jobs, l.Value)
		}
	}
	r.printf("\nCPU cores in use, by job: %s begins to need more\n", slowJob)
	r.print(c.String())
	for i, job := range jobs {
		r.printf("   %s %s", c.mark(i), job)
	}
	r.print("\n")
	return nil
}

func (r *report) flameGraph(stacks *profile.Stacks, dir string) error {
	name := filepath.Join(dir, "flamegraph.svg")
	err := writeTo(name, nil, func(w io.Writer) error { return drawFlameGraph(w, stacks, "CPU time of the demo fleet", 0) })
	if err != nil {
		return err
	}
	r.printf("\nFlame graph: %s (open it in a browser)\n", name)
	r.printf("Next: granary top YOUR.pb.gz, granary export --demo 5m -o demo.parquet, or granary --help\n")
	return r.err
}
