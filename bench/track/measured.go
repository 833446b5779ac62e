package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/granarydb/granary/bench/programs"
)

// historySet is a set of intervals that needs no recorded data.
const historySet = "synth:20000:20"

// tracked are the figures of the series: their names, and where the reports have them. A rate is better when it is higher.
var tracked = []struct {
	name      string
	isHistory bool
	key       string
	isRate    bool
}{
	{name: "insert", key: "all_in_ns_per_row"},
	{name: "insert-wait", key: "insert_us_p50"},
	{name: "heap", key: "heap_settled_bytes_per_row"},
	{name: "heap-peak", key: "peak_heap_bytes_per_row"},
	{name: "alloc", key: "alloc_bytes_per_row"},
	{name: "merge-all", key: "query_ms.merge-all-walked"},
	{name: "merge-type", key: "query_ms.merge-type"},
	{name: "merge-job", key: "query_ms.merge-job"},
	{name: "merge-pods", key: "query_ms.merge-pods"},
	{name: "profile", key: "query_ms.one-profile"},
	{name: "select-pods", key: "query_ms.select-pods-wide"},
	{name: "series", key: "query_ms.series-all"},
	{name: "totals", key: "query_ms.totals-type"},
	{name: "label-values", key: "query_ms.label-values"},
	{name: "history-build", isHistory: true, key: "build_m_s", isRate: true},
	{name: "history-bytes", isHistory: true, key: "bytes_interval"},
	{name: "history-state", isHistory: true, key: "single_us"},
	{name: "history-slice", isHistory: true, key: "full_us"},
	{name: "history-plane", isHistory: true, key: "plane_ms"},
	{name: "history-kind", isHistory: true, key: "kind_ms"},
}

// figure is one of a run: this store's cost by the peer's, of the medians and of the best runs, and the peer's median cost.
type figure struct {
	Ratio float64 `json:"ratio"`
	Best  float64 `json:"best"`
	Peer  float64 `json:"peer"`
}

// line is a run.
type line struct {
	Commit  string            `json:"commit"` // "+" behind it says that the checkout was changed
	Time    time.Time         `json:"time"`
	Machine string            `json:"machine"`
	Rows    int64             `json:"rows"`
	Repeat  int               `json:"repeat"`
	Figures map[string]figure `json:"figures"`
}

// store is a store's figures: medians and best runs by key.
type store struct{ median, best map[string]float64 }

// measured measures the checkout.
func measured(ctx context.Context, o options) (l line, err error) {
	commit, err := programs.Output(ctx, "", nil, "git", "describe", "--always", "--abbrev=12", "--dirty=+", "--exclude=*")
	if err != nil {
		return l, err
	}
	l = line{Commit: string(bytes.TrimSpace(commit)), Time: time.Now().UTC().Truncate(time.Second), Rows: o.rows, Repeat: o.repeat, Figures: map[string]figure{}}
	fmt.Fprintln(os.Stderr, "track: rows, beside kelindar/column")
	rows, peer, err := fleet(ctx, &l)
	if err != nil {
		return l, err
	}
	fmt.Fprintln(os.Stderr, "track: interval histories, beside the eSHT")
	history, tree, err := histories(ctx, o.repeat)
	if err != nil {
		return l, err
	}
	for _, t := range tracked {
		of, beside := rows, peer
		if t.isHistory {
			of, beside = history, tree
		}
		if l.Figures[t.name], err = related(of, beside, t.key, t.isRate); err != nil {
			return l, fmt.Errorf("figure %s: %w", t.name, err)
		}
	}
	return l, nil
}

// related returns a figure of two stores. A rate is turned into a cost.
func related(of, beside store, key string, isRate bool) (f figure, err error) {
	a, b := of.median[key], beside.median[key]
	if a <= 0 || b <= 0 || of.best[key] <= 0 || beside.best[key] <= 0 {
		return f, fmt.Errorf("the reports have %v and %v for %s", a, b, key)
	}
	if f = (figure{a / b, of.best[key] / beside.best[key], b}); isRate {
		f = figure{1 / f.Ratio, 1 / f.Best, 1 / f.Peer}
	}
	return f, nil
}

// fleet measures rows.
func fleet(ctx context.Context, l *line) (rows, peer store, err error) {
	var report struct {
		Machine string
		Peers   map[string]struct{ Median, Low map[string]float64 }
	}
	err = reported(ctx, &report, ".", "-peers", "granary,kelindar", "-rows", strconv.FormatInt(l.Rows, 10), "-repeat", strconv.Itoa(l.Repeat))
	l.Machine = report.Machine
	of := func(name string) store { return store{report.Peers[name].Median, report.Peers[name].Low} }
	return of("granary"), of("kelindar"), err
}

// histories measures interval histories.
func histories(ctx context.Context, repeat int) (history, tree store, err error) {
	var report struct {
		Sets map[string]map[string]struct {
			Figures map[string]struct{ Median, Low, High float64 }
		}
	}
	err = reported(ctx, &report, "./trees", "-json", "-trees", "history,eSHT", "-sets", historySet, "-repeat", strconv.Itoa(repeat))
	of := func(name string) store {
		s := store{map[string]float64{}, map[string]float64{}}
		for key, f := range report.Sets[historySet][name].Figures {
			if s.median[key], s.best[key] = f.Median, f.Low; strings.HasSuffix(key, "_m_s") {
				s.best[key] = f.High
			}
		}
		return s
	}
	return of("history"), of("eSHT"), err
}

// reported runs a command of this module, and reads its report.
func reported(ctx context.Context, report any, name string, args ...string) error {
	folder, err := os.MkdirTemp("", "track-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	program := filepath.Join(folder, "program")
	if _, err := programs.Output(ctx, "", nil, "go", "build", "-o", program, name); err != nil {
		return err
	}
	text, err := programs.Output(ctx, "", nil, append([]string{program}, args...)...)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, report); err != nil {
		return fmt.Errorf("read the report of %s: %w", name, err)
	}
	return nil
}
