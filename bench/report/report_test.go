package main

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/granarydb/granary/bench/targets"
)

// made returns reports in the form that the commands print: this store's figures are 100, or 400 where more is
// better, and each peer's 300 and 200.
func made(t *testing.T) *reports {
	t.Helper()
	all := &reports{}
	decode := func(text string, into any) {
		t.Helper()
		if err := json.Unmarshal([]byte(text), into); err != nil {
			t.Fatal(err)
		}
	}
	of := map[string]targets.Figure{}
	for _, key := range targets.Keys() {
		value, met := 100.0, true
		f := targets.Figure{About: "about " + key, Unit: "ms", Must: 120, Aim: 80, Better: "lower", Status: "measured", Value: &value, Low: &value, High: &value, Met: &met}
		if key == "hist-build" {
			more := 400.0
			f.Value, f.Better = &more, "higher"
		}
		of[key] = f
	}
	all.Targets = targets.Report{Machine: "a machine", Targets: of}
	peers, figures := map[string]any{}, map[string]float64{}
	sets := map[string]any{}
	for _, p := range peersOf {
		figures[p.figure] = 300
		if p.set != "" {
			of := map[string]any{}
			for _, c := range columns {
				of[c] = map[string]float64{"median": 200, "low": 190, "high": 210}
			}
			sets[p.set] = map[string]any{eSHT: map[string]any{"nodes": 7, "depth": 2, "figures": of}, history: map[string]any{"figures": of}}
		}
	}
	for _, name := range []string{ours, frost} {
		peers[name] = map[string]any{"about": "a store | of rows", "median": figures}
	}
	text := func(v any) string {
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	decode(`{"repeat": 3, "notes": ["a note"], "skipped": {"duckdb": "no cgo"}, "peers": `+text(peers)+`}`, &all.Peers)
	all.Durable = all.Peers
	decode(`{"sets": `+text(sets)+`}`, &all.Trees)
	return all
}

// Each target with a peer has its figure, in the unit of the target.
func TestRows(t *testing.T) {
	all := made(t)
	rows := all.rows()
	if len(rows) != len(targets.Keys()) {
		t.Fatalf("%d rows, want %d", len(rows), len(targets.Keys()))
	}
	known := map[string]bool{}
	for _, r := range rows {
		known[r.Key] = true
		p, has := peersOf[r.Key]
		times, ok := r.ratio()
		if has != (r.Peer != nil) || has != ok {
			t.Errorf("%s: peer %v, ratio %v", r.Key, r.Peer, ok)
		}
		if !has {
			continue
		}
		want := 3.0
		if p.set != "" {
			want = 2 * max(p.times, oneMilli)
			if p.times == 0 {
				want = 2
			}
		}
		if r.Key == "hist-build" {
			want = 2
		}
		if times < want*0.999 || times > want*1.001 {
			t.Errorf("%s is %v times better, want %v", r.Key, times, want)
		}
	}
	for key := range peersOf {
		if !known[key] {
			t.Errorf("%s has a peer, and is no target", key)
		}
	}
}

// A pair that is not measured any more, and one whose ratio fell by a quarter, are named; noise is not.
func TestCompareWith(t *testing.T) {
	all := made(t)
	before := all.rows()
	path := filepath.Join(t.TempDir(), "older.json")
	data, err := json.Marshal(before)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := compareWith(path, all.rows()); err != nil {
		t.Errorf("the same figures: %v", err)
	}
	set := func(key string, value float64) {
		f := all.Targets.Targets[key]
		f.Value = &value
		all.Targets.Targets[key] = f
	}
	set("heap-1m", 118)
	set("types", 140)
	set("hist-build", 290)
	set("replay", 1000) // it has no peer
	lost := all.Targets.Targets["scan-arrow"]
	lost.Value = nil
	all.Targets.Targets["scan-arrow"] = lost
	err = compareWith(path, all.rows())
	for _, key := range []string{"types", "hist-build", "scan-arrow"} {
		if err == nil || !strings.Contains(err.Error(), key+": ") {
			t.Errorf("%s is not named: %v", key, err)
		}
	}
	if err != nil && (strings.Contains(err.Error(), "heap-1m") || strings.Contains(err.Error(), "replay")) {
		t.Errorf("noise is named: %v", err)
	}
	if err := compareWith(path+".none", all.rows()); err == nil {
		t.Error("a list that is not there is no error")
	}
}

// The page has each target, store, figure and note, with the command of each section.
func TestPage(t *testing.T) {
	all := made(t)
	p := &page{all: all, runs: map[string]run{}}
	for _, r := range full {
		p.runs[r.name] = r
	}
	if err := p.write(all.rows(), time.Date(2026, 11, 26, 0, 0, 0, 0, time.UTC), "abc"); err != nil {
		t.Fatal(err)
	}
	text := p.String()
	want := []string{"2026-11-26, at commit abc, on a machine", "| ×3 | `heap-1m` | about heap-1m | 100 ms | 100 to 100 | 300 frostdb-parca | 120 | 80 | yes |", "a note", "duckdb was skipped: no cgo", `| eSHT | 7 | 2 | ×1 200 |`}
	for _, r := range full {
		want = append(want, "    cd bench && GOWORK=off "+r.command()+"\n")
	}
	for _, key := range targets.Keys() {
		want = append(want, "`"+key+"`")
	}
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("%q is not in the page", w)
		}
	}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "|") && !strings.HasSuffix(line, "|\n") {
			t.Errorf("not a row: %q", line)
		}
	}
	delete(all.Trees.Sets[threads], history)
	if err := p.intervals(); err == nil {
		t.Error("a set without this store is no error")
	}
}

// The page and its pictures are written again of kept reports. Stores that disagree are an error.
func TestRun_From(t *testing.T) {
	all, dir := made(t), t.TempDir()
	keep := func(name string, v any) {
		t.Helper()
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name+".json"), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, v := range map[string]any{"targets": all.Targets, "peers": all.Peers, "durable": all.Durable, "trees": all.Trees} {
		keep(name, v)
	}
	o := options{from: dir, out: filepath.Join(dir, "PAGE.md"), pictures: dir}
	if err := o.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"PAGE.md", "bench-ratios.svg", "bench-intervals.svg"} {
		if data, err := os.ReadFile(filepath.Join(dir, name)); err != nil || len(data) < 1000 {
			t.Errorf("%s has %d bytes, %v", name, len(data), err)
		}
	}
	all.Peers.Disagree = map[string]map[string]string{"merge-all": {"granary": "1", "kelindar": "2"}}
	keep("peers", all.Peers)
	if err := o.run(t.Context()); err == nil || !strings.Contains(err.Error(), "merge-all") {
		t.Errorf("stores disagree: %v", err)
	}
	o.from = dir + "/none"
	if err := o.run(t.Context()); err == nil {
		t.Error("a folder that is not there is no error")
	}
}

func TestRun_Usage(t *testing.T) {
	for _, o := range []options{{quick: true}, {against: "a.json"}} {
		if err := o.run(t.Context()); err == nil || !strings.Contains(err.Error(), errUsage.Error()) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

func TestDigits(t *testing.T) {
	for v, want := range map[float64]string{0.01234: "0.0123", 9.999: "10", 999.4: "999", 999.6: "1,000", 1234567: "1,234,567", -1234: "-1,234"} {
		if got := digits(v); got != want {
			t.Errorf("%v is %q, want %q", v, got, want)
		}
	}
}

// A quick list has both sides at one size.
func TestQuick(t *testing.T) {
	rows := map[string]bool{}
	for _, r := range quick {
		if at := slices.Index(r.args, "-rows"); at >= 0 {
			rows[r.args[at+1]] = true
		}
	}
	if len(rows) != 1 {
		t.Errorf("sizes %v", slices.Collect(maps.Keys(rows)))
	}
}
