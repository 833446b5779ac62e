package main

import (
	"cmp"
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
	"github.com/spf13/pflag"

	"github.com/granarydb/granary/cmd/granary/internal/chart"
	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/cmd/granary/internal/dbdir"
	"github.com/granarydb/granary/cmd/granary/internal/replay"
	"github.com/granarydb/granary/cmd/granary/internal/serve"
	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
)

// The default size of the demo is an hour of scrapes, more than ten million rows.
const (
	demoSteps   = int(time.Hour / scrapeEvery)
	demoWriters = 4
)

func newDemo() *cobra.Command {
	var dir, storeDir, profilesDir, traceFile string
	var isServed, stays bool
	listen := serve.DemoAddress
	var budget int64
	span := demoSpan
	cmd := &cobra.Command{
		Use:   "demo [flags]",
		Short: "Replay a fleet and report the store's size and speed",
		Long: `demo replays real CPU, heap, goroutine, block and mutex profiles of several Go
programs as an hour of a fleet of 50 pods, each scraped every 10 seconds. Four
writers insert more than ten million rows while the store splits and compacts.
Then demo reports the cost and answers a few queries. It needs no network and no
data, and takes about a minute on two cores. Without -o the flame graph is
written to a new folder granary-demo-* for temporary files, which stays.

With --serve it opens a browser instead, as granary view does, and answers it
and granary's other clients as granary serve does: the fleet while it is
replayed, job="granary" for the demo's own profiles, and a history of its
goroutines.`,
		Example: `  granary demo
  granary demo --serve
  granary demo --span 2m --profiles gen && granary top --sample-index cpu gen
  granary demo --db demo.db && granary top --sample-index cpu --db demo.db
  granary demo --trace /tmp/demo.trace && go tool trace /tmp/demo.trace
  granary history plot -o /tmp/demo.svg /tmp/demo.trace   # its goroutines
  granary export --demo 5m -o /tmp/demo.parquet   # its rows, for pandas`,
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if isServed && dir != "" || !isServed && (cmd.Flags().Changed("listen") || stays) {
				return cli.Usage(errors.New("-o is for a report, --listen and --no-open are for --serve: leave one of them out"))
			}
			if traceFile == "-" {
				return cli.Usage(errors.New("--trace needs a file: the report goes to standard output"))
			}
			if cmd.Flags().Changed("db") {
				if err := dbdir.CheckUnused(storeDir); err != nil {
					return err
				}
			} else if budget > 0 {
				return cli.Usage(errors.New("--disk-budget needs --db: the demo is in memory otherwise"))
			}
			steps := int(span / scrapeEvery)
			if profilesDir != "" {
				if err := saveFleet(cmd, profilesDir, steps); err != nil {
					return err
				}
			}
			return withTrace(traceFile, func() error {
				if isServed {
					return serveDemo(cmd, listen, stays, columnstore.Options{Dir: storeDir, DiskBudget: budget, MemoryBudget: 1 << 30}, steps)
				}
				return demo(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr(), dir, columnstore.Options{Dir: storeDir, DiskBudget: budget}, steps)
			})
		},
	}
	cmd.Flags().StringVarP(&dir, "output", "o", "", "`DIR` to write the flame graph to; created if missing (default: a new folder for temporary files)")
	cmd.Flags().Var(newDemoSpan("span", &span), "span", "the `DURATION` of the replay")
	cmd.Flags().StringVar(&profilesDir, "profiles", "", "also write the profiles to `DIR`, as pprof files in folders named after their labels, to try the other commands on. An hour makes about 70,000 files")
	cmd.Flags().StringVar(&storeDir, "db", "", "also store the profiles in the directory `DIR`, as granary load does, to ask them with --db. It must be new or empty")
	cli.AddDiskBudget(cmd, &budget)
	cmd.Flags().BoolVar(&isServed, "serve", false, "answer over HTTP, with the demo's own profiles, until it is interrupted")
	cmd.Flags().StringVar(&listen, "listen", listen, "with --serve: `HOST:PORT` to listen on. Any client that reaches it can read and push")
	cmd.Flags().BoolVar(&stays, "no-open", false, "with --serve: print the URL, and open no browser")
	cmd.Flags().StringVar(&traceFile, "trace", "", "write a Go execution trace of the demo to `FILE`, for go tool trace and granary history")
	return cmd
}

// withTrace runs f, with an execution trace if name is not empty.
func withTrace(name string, f func() error) error {
	if name == "" {
		return f()
	}
	return cli.WriteTo(name, nil, func(w io.Writer) error {
		if err := trace.Start(w); err != nil {
			return err
		}
		defer trace.Stop()
		return f()
	})
}

// makeDir creates the folder of the flame graph and returns its name. Without a name the folder is temporary,
// because a new user's first command must not leave files in the clone.
func makeDir(name string) (string, error) {
	if name == "" {
		return os.MkdirTemp("", "granary-demo-")
	}
	return name, os.MkdirAll(name, 0o777)
}

// demo runs the whole demo, with `steps` scrapes of each pod, in a store with these options.
func demo(ctx context.Context, out, progressTo io.Writer, dir string, opts columnstore.Options, steps int) (err error) {
	dir, err = makeDir(dir)
	if err != nil {
		return err
	}
	f, err := newFleet(time.Now(), steps)
	if err != nil {
		return err
	}
	before := heap()
	source := inputSource{db: opts.Dir}
	l, err := open(opts, source)
	if err != nil {
		return source.explain(err)
	}
	defer func() { err = cmp.Or(err, source.explain(l.Close())) }()
	r := report{Printer: cli.Printer{W: out}, fleet: f, store: l.store, db: l.db}
	bar := cli.NewProgress(progressTo, "replaying")
	start := time.Now()
	r.profiles, err = f.replay(ctx, l.db, demoWriters, bar.Show)
	if err != nil {
		return err
	}
	r.insertTime = time.Since(start)
	bar.Done()
	if err := l.store.Compact(ctx); err != nil {
		return err
	}
	r.heap = heap() - before
	r.Printf("\n")
	return l.store.View(ctx, func(snap *columnstore.Snapshot) error { return r.run(ctx, snap, dir) })
}

// serveDemo serves a fleet while one writer replays it. One writer leaves processor time for answers.
func serveDemo(cmd *cobra.Command, listen string, stays bool, opts columnstore.Options, steps int) (err error) {
	l, err := serve.Listen(listen)
	if err != nil {
		return err
	}
	defer func() { _ = l.Close() }() // serving closes it too
	f, err := newFleet(time.Now(), steps)
	if err != nil {
		return err
	}
	agents := map[string]string{"cpu": "process_cpu", "heap": "memory"} // the same as in the demo's own profiles
	for _, p := range f.pods {
		for _, k := range p.kinds {
			k.labels[profile.NameLabel] = cmp.Or(agents[k.labels[profile.NameLabel]], k.labels[profile.NameLabel])
		}
	}
	source := inputSource{db: opts.Dir}
	store, err := columnstore.Open(opts)
	if err != nil {
		return source.explain(err)
	}
	defer func() { err = cmp.Or(err, source.explain(store.Close())) }()
	return serve.Demo(cmd, l, store, func(ctx context.Context, db *profile.DB) error {
		_, err := f.replay(ctx, db, 1, func(int64, int64) {})
		return err
	}, opening(cmd, stays))
}

// heap returns the bytes of live objects on the heap.
func heap() int64 {
	runtime.GC()
	runtime.GC() // the first call may only finish a running cycle
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// report prints the demo's results.
type report struct {
	cli.Printer
	fleet      *fleet
	store      *columnstore.Store
	db         *profile.DB
	profiles   int64
	insertTime time.Duration
	heap       int64
}

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
	return errors.Join(r.Err, r.flameGraph(stacks, dir))
}

// stored prints the contents of the store and the cost of inserting them.
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
	r.Printf("What went in\n")
	r.Printf("  %14s  pods of %d programs, scraped every %v for %v\n", count(int64(len(r.fleet.pods))),
		len(r.fleet.programs()), scrapeEvery, time.Duration(r.fleet.steps)*scrapeEvery)
	r.Printf("  %14s  profiles, replayed with other values from %d real ones\n", count(r.profiles), len(r.fleet.templates))
	r.Printf("  %14s  rows: one value of one stack each\n", count(s.Rows))
	r.Printf("  %14s  rows a second, with %d writers while the store split and compacted\n",
		count(int64(float64(s.Rows)/r.insertTime.Seconds())), demoWriters)
	r.Printf("\nWhat the store made of it\n")
	r.Printf("  %14s  series: sets of labels that profiles share\n", count(int64(len(series))))
	r.Printf("  %14s  distinct stacks, each kept once\n", count(int64(len(stacks.Counts))))
	r.Printf("  %14s  granules: sorted ranges of rows, found by a sparse index\n", count(int64(s.Granules)))
	r.Printf("  %14s  splits of a granule that grew too large, %s compactions\n", count(s.Splits), count(s.Compactions))
	r.Printf("  %14s  on the heap, all in: %.1f bytes a row\n", mb(r.heap), float64(r.heap)/float64(s.Rows))
	r.Printf("  %14s  of it rows (%.1f bytes a row), %s stacks, %s symbols, %s labels\n", mb(s.PartBytes),
		float64(s.PartBytes)/float64(s.Rows), mb(s.StackBytes), mb(s.RecordBytes), mb(s.SeriesBytes))
	return r.Err
}

func (r *report) top(stacks *profile.Stacks, took time.Duration) {
	unit := stacks.Type.SampleUnit
	functions := stacks.Top()
	r.Printf("\nWhere the CPU time went, summed over all pods (%s stacks merged in %v)\n",
		profile.FormatValue(int64(stacks.Len()), "count"), took.Round(time.Millisecond))
	r.Printf("  %10s %7s %10s %7s  %s\n", "flat", "flat%", "cum", "cum%", "function")
	for _, f := range functions[:min(10, len(functions))] {
		r.Printf("  %10s %7s %10s %7s  %s\n", profile.FormatValue(f.Flat, unit), percent(f.Flat, stacks.Total),
			profile.FormatValue(f.Cum, unit), percent(f.Cum, stacks.Total), r.Name(f.Name, 43))
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
	c := chart.Chart{Unit: "nanoseconds", From: r.fleet.start.UnixNano(), Terminal: cli.Colored(r.W), Width: cli.Width(r.W, 0)}
	c.To = c.From + int64(span)
	c.Label = func(v float64) string { return fmt.Sprintf("%.1f", v/1e9) } // one second of CPU time per second is one core
	c.Tick = func(t int64) string { return time.Duration(t - c.From).Round(time.Second).String() }
	var jobs []string
	for _, line := range lines {
		line.Points = line.Points[:max(1, len(line.Points)-1)] // the last step is incomplete
		for k := range line.Points {
			p := &line.Points[k]
			p.Time, p.Value = max(p.Time, c.From), int64(float64(p.Value)/step.Seconds())
		}
		c.Lines = append(c.Lines, line.Points)
		for _, l := range line.Labels {
			jobs = append(jobs, l.Value)
		}
	}
	r.Printf("\nCPU cores in use, by job: %s begins to need more\n", slowJob)
	r.Printf("%s", c.String())
	for i, job := range jobs {
		r.Printf("   %s %s", c.Mark(i), job)
	}
	r.Printf("\n")
	return nil
}

func (r *report) flameGraph(stacks *profile.Stacks, dir string) error {
	name := filepath.Join(dir, "flamegraph.svg")
	root := stacks.FlameGraph(profile.FlameGraphOptions{})
	err := cli.WriteTo(name, nil, func(w io.Writer) error { return drawFlameGraph(w, stacks.Type, root, "CPU time of the demo fleet", 0) })
	if err != nil {
		return err
	}
	r.Printf("\nFlame graph: %s (open it in a browser)\n", name)
	r.Printf("Next: granary top YOUR.pb.gz, granary export --demo 5m -o /tmp/demo.parquet, or granary --help\n")
	return r.Err
}

// demoSpan is the default span that the demo replays. maxDemoSpan is the greatest span: a day has about 250
// million rows.
const (
	demoSpan    = time.Duration(demoSteps) * scrapeEvery
	maxDemoSpan = 24 * time.Hour
)

// newDemoSpan returns the value of a flag for the span that the demo replays.
func newDemoSpan(flag string, span *time.Duration) pflag.Value {
	return cli.NewDuration(flag, scrapeEvery, maxDemoSpan, span)
}

// withDemo calls f with a snapshot of the demo's fleet and the query of the flags.
func withDemo(cmd *cobra.Command, s selection, span time.Duration, f answer) error {
	ctx := cmd.Context()
	asked, err := s.read()
	if err != nil {
		return err
	}
	fleet, err := newFleet(time.Now(), int(span/scrapeEvery))
	if err != nil {
		return err
	}
	l, err := open(columnstore.Options{}, inputSource{})
	if err != nil {
		return err
	}
	defer func() { _ = l.Close() }()
	bar := cli.NewLateProgress(cmd.ErrOrStderr(), "replaying")
	_, err = fleet.replay(ctx, l.db, demoWriters, bar.Show)
	bar.End()
	if err != nil {
		return err
	}
	return l.store.View(ctx, func(snap *columnstore.Snapshot) error { return s.answer(ctx, l.db, snap, asked, f) })
}

// saveFleet writes the profiles that the demo replays to files in a directory.
func saveFleet(cmd *cobra.Command, dir string, steps int) error {
	f, err := newFleet(time.Now(), steps)
	if err != nil {
		return err
	}
	bar := cli.NewLateProgress(cmd.ErrOrStderr(), "writing profiles")
	defer bar.End()
	var data []byte
	for step := range steps {
		for i := range f.pods {
			if err := cmd.Context().Err(); err != nil {
				return err
			}
			for kind := range f.pods[i].kinds {
				data = f.appendProfile(data[:0], scrape{step, &f.pods[i]}, kind)
				name := filepath.Join(replay.Folder(dir, f.pods[i].kinds[kind].labels), fmt.Sprintf("%05d.pb.gz", step))
				if err := replay.Save(name, data); err != nil {
					return err
				}
			}
		}
		bar.Show(int64(step+1), int64(steps))
	}
	return nil
}
