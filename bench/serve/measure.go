package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/granarydb/granary/bench/programs"
	"github.com/granarydb/granary/bench/results"
)

// figures is the report on a load.
type figures struct {
	Keys     map[string]string            `json:"keys"`
	Profiles int                          `json:"profiles"`
	Rows     int64                        `json:"rows"`
	RowsS    float64                      `json:"rows_s"`
	Push     results.Latencies            `json:"push"`
	Due      results.Latencies            `json:"push_due"`
	Noop     results.Latencies            `json:"noop"`
	NoopDue  results.Latencies            `json:"noop_due"`
	Ask      map[string]results.Latencies `json:"ask"`
	AskAll   results.Latencies            `json:"ask_all"`
	CPU      float64                      `json:"server_cpu_s_per_m_rows"`
	RSS      float64                      `json:"server_rss_mib"`
	Store    float64                      `json:"server_store_mib"`
	Disk     float64                      `json:"server_disk_b_row"`
}

var keys = map[string]string{
	"rows_s":                  "rows acknowledged a second, wall time",
	"push":                    "from a push's start to its answer; 50th, 99th percentile and most, in microseconds as all times here",
	"push_due":                "the same from the time at which the push was due",
	"noop":                    "the same push to a handler that reads the body and does nothing, in the client's process",
	"ask":                     "a question of the last five minutes, by method",
	"server_cpu_s_per_m_rows": "CPU time of the server, questions included, by rows",
	"server_rss_mib":          "greatest resident memory of the server that a look each second saw",
	"server_store_mib":        "greatest memory that the store accounted for",
	"server_disk_b_row":       "log and files at the end, by rows",
}

// measure loads a server, compares its counts with the client's, and loads the handler that does nothing.
func (o *options) measure(ctx context.Context, command, dir string, f *files) (*figures, error) {
	p, err := o.begin(ctx, command, filepath.Join(dir, "db"), o.sync)
	if err != nil {
		return nil, err
	}
	r := &figures{Keys: keys}
	fmt.Fprintf(os.Stderr, "serve: load for %s, %.0f rows each %s\n", o.duration, f.rows, o.every)
	start := time.Now()
	sent, answers := o.load(ctx, p, f, r)
	took := time.Since(start)
	if err := errors.Join(sent.first, answers.first, ctx.Err()); err != nil {
		return nil, fmt.Errorf("%d pushes and %d questions failed: %w", sent.failed, answers.failed, err)
	}
	if err := compare(p, sent); err != nil {
		return nil, err
	}
	m, err := p.Metrics()
	if err != nil {
		return nil, err
	}
	r.Profiles, r.Rows, r.RowsS = sent.profiles, sent.rows, float64(sent.rows)/took.Seconds()
	r.CPU = m["process_cpu_seconds_total"] / float64(sent.rows) * 1e6
	r.Disk = (m["granary_store_log_bytes"] + m["granary_store_file_bytes"]) / float64(sent.rows)
	r.Push, r.Due = results.LatenciesOf(sent.took), results.LatenciesOf(sent.due)
	r.Ask = map[string]results.Latencies{}
	var all []float64
	for method, took := range answers.took {
		r.Ask[method] = results.LatenciesOf(took)
		all = append(all, took...)
	}
	r.AskAll = results.LatenciesOf(all)
	if err := p.End(); err != nil {
		return nil, err
	}
	return r, o.idle(ctx, f, r)
}

// load pushes and queries for the duration, and samples the server's memory meanwhile.
func (o *options) load(ctx context.Context, p *programs.Server, f *files, r *figures) (sent *pushed, answers *asked) {
	ctx, cancel := context.WithTimeout(ctx, o.duration)
	defer cancel()
	var wait sync.WaitGroup
	wait.Go(func() { sent = o.push(ctx, p.URL+"/pprof", f) })
	wait.Go(func() { answers = o.ask(ctx, p.URL) })
	for look := time.NewTicker(time.Second); ctx.Err() == nil; {
		select {
		case <-ctx.Done():
		case <-look.C:
			if m, err := p.Metrics(); err == nil {
				r.RSS = max(r.RSS, m["process_resident_memory_bytes"]/(1<<20))
				r.Store = max(r.Store, m["granary_store_bytes"]/(1<<20))
			}
		}
	}
	wait.Wait()
	return sent, answers
}

// idle loads the handler that does nothing, for a tenth of the duration and at least a second.
func (o *options) idle(ctx context.Context, f *files, r *figures) error {
	url, end, err := noop(ctx)
	if err != nil {
		return err
	}
	defer end()
	ctx, cancel := context.WithTimeout(ctx, max(o.duration/10, time.Second))
	defer cancel()
	sent := o.push(ctx, url, f)
	r.Noop, r.NoopDue = results.LatenciesOf(sent.took), results.LatenciesOf(sent.due)
	return sent.first
}

// compare compares the client's counts with the server's.
func compare(p *programs.Server, sent *pushed) error {
	m, err := p.Metrics()
	if err != nil {
		return err
	}
	for name, want := range map[string]float64{
		"granary_push_rows_total": float64(sent.rows), "granary_push_profiles_total": float64(sent.profiles), "granary_store_rows": float64(sent.rows),
	} {
		if m[name] != want {
			return fmt.Errorf("%s is %.0f, the client counted %.0f", name, m[name], want)
		}
	}
	for kind, want := range sent.sums {
		if got, err := sum(p.URL, kind); err != nil || got != want {
			return fmt.Errorf("the sum of %s is %d, the client counted %d; %v", kind, got, want, err)
		}
	}
	return nil
}

// print prints the figures as a table.
func (r *figures) print() {
	out := func(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
	out("%d profiles, %d rows, %.0f rows/s; counts and sums of the server equal the client's", r.Profiles, r.Rows, r.RowsS)
	row := func(name string, q results.Latencies) {
		out("%-28s %9.2f %9.2f %9.2f   %d", name, q.P50/1e3, q.P99/1e3, q.Max/1e3, q.Count)
	}
	out("%-28s %9s %9s %9s", "ms", "50 %", "99 %", "most")
	row("push", r.Push)
	row("push, from when it is due", r.Due)
	row("no-op", r.Noop)
	row("no-op, from when it is due", r.NoopDue)
	row("all questions", r.AskAll)
	for _, method := range []string{"SelectMergeStacktraces", "SelectSeries", "LabelValues", "ProfileTypes"} {
		row("  "+method, r.Ask[method])
	}
	out("server: %.2f s of CPU a million rows, %.0f MiB resident, %.0f MiB of the store, %.1f B/row on disk", r.CPU, r.RSS, r.Store, r.Disk)
}
