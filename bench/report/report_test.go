package main

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/granarydb/granary/bench/results"
	"github.com/granarydb/granary/bench/targets"
)

// made returns reports in the form that the commands print: this store's figures are 100, or 400 where more is
// better, and each peer's 300 and 200.
func made(t *testing.T) *reports {
	t.Helper()
	all := newReports()
	decode := func(text string, into any) {
		t.Helper()
		if err := json.Unmarshal([]byte(text), into); err != nil {
			t.Fatal(err)
		}
	}
	of := map[string]targets.Figure{}
	for _, key := range targets.Keys() {
		value, low, met := 100.0, 90.0, true
		f := targets.Figure{About: "about " + key, Unit: "ms", Must: 120, Aim: 80, Better: "lower", Status: "measured", Value: &value, Low: &low, High: &value, Met: &met}
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
	decode(`{"repeat": 3, "notes": ["a note"], "skipped": {"duckdb": "no cgo"}, "peers": `+text(t, peers)+`}`, &all.Peers)
	all.Durable = all.Peers
	decode(`{"sets": `+text(t, sets)+`}`, &all.Trees)
	all.Papers = madePapers()
	decode(`{"rows": 1000, "keys": {"peak_memory_mb": "the most"}, "skipped": {"real": "no data"}, "sets": [{"set": "random", "engines": [
		{"engine": "granary", "load_cpu_us_per_row": 60, "answers": {"Q0": {"cpu_ms": 30, "cold_cpu_ms": 50}, "Q1": {"cpu_ms": 4, "cold_cpu_ms": 5}, "Q0 ids": {"cpu_ms": 2, "cold_cpu_ms": 3}}},
		{"engine": "duckdb-memory", "version": "2.0", "answers": {"Q0": {"cpu_ms": 10, "cold_cpu_ms": 20}, "Q1": {"cpu_ms": 8, "cold_cpu_ms": 9}, "Q2": {"error": "no memory"}}},
		{"engine": "arrow-by-hand", "answers": {"Q0": {"cpu_ms": 3, "cold_cpu_ms": 3}}},
		{"engine": "polars", "skipped": "no Python"}]}]}`, &all.Public)
	return all
}

// madePapers returns figures of each run of the papers. Each store has more than the one before, in each figure.
func madePapers() intervals {
	of := intervals{Machine: "a machine", Sets: map[string]map[string]treeFigures{}}
	for _, r := range ofPapers() {
		if r.name != "papers" {
			continue
		}
		stores, set := strings.Split(r.args[len(r.args)-3], ","), strings.Replace(r.args[len(r.args)-1], recorded, "", 1)
		if of.Sets[set] == nil {
			of.Sets[set] = map[string]treeFigures{}
		}
		for i, store := range stores {
			f := treeFigures{Intervals: 1000, Nodes: uint32(10 + i), Depth: 3, Ranges: make([]int, 10), Figures: map[string]results.Spread{}}
			keys := append([]string{"single_nodes", "full_nodes"}, columns...)
			for _, v := range []string{"pstree_full", "pstree_single", "pstree_2d", "zoom_full", "zoom_single", "zoom_2d", "sparse_single", "sparse_full", "sparse_2d"} {
				keys = append(keys, v+"_ms", v+"_nodes")
			}
			for _, key := range keys {
				f.Figures[key] = results.Spread{Median: float64(1 + i)}
			}
			of.Sets[set][store] = f
		}
	}
	return of
}

// The part of the page that is about the papers is written in place of the one there, and has each claim, with the
// paper's ratio beside ours, held or not.
func TestRun_Papers(t *testing.T) {
	all, dir := made(t), t.TempDir()
	for _, r := range ofPapers() {
		keep(t, dir, r, printed(t, all)[r.name])
	}
	path := filepath.Join(dir, "PAGE.md")
	o := options{papers: true, keep: dir, out: path, pictures: dir}
	if err := os.WriteFile(path, []byte("# Benchmarks\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	unmeasured, nothing := context.WithCancel(t.Context())
	nothing()
	if err := (&options{papers: true, out: path, pictures: dir}).run(unmeasured); !errors.Is(err, errPage) {
		t.Errorf("a page without the part is to be found before anything is measured: %v", err)
	}
	if err := os.WriteFile(path, []byte("# Benchmarks\n\n## Targets\n\n## The papers again\n\nold\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := o.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	page := string(data)
	wanted := []string{"## Targets\n\n## The papers again", "| a | table |", "| **not held** |", "synth:1000:1000 | held |"}
	for _, c := range claims {
		wanted = append(wanted, c.text+" | "+c.theirs+" | ")
	}
	for _, text := range wanted {
		if !strings.Contains(page, text) {
			t.Errorf("%q is not in the page", text)
		}
	}
	if strings.Contains(page, "\nold\n") || strings.Contains(page, "NaN") || strings.Contains(page, "Inf") {
		t.Errorf("the page has what it must not have\n%s", page)
	}
}

// The part of the page about the public benchmark is written before the next part, in place of the one there. It has the
// least figure in bold, and where this store is behind.
func TestRun_Public(t *testing.T) {
	all, dir := made(t), t.TempDir()
	for _, r := range ofPublic() {
		keep(t, dir, r, printed(t, all)[r.name])
	}
	path := filepath.Join(dir, "PAGE.md")
	o := options{public: true, keep: dir, out: path, pictures: dir}
	if err := os.WriteFile(path, []byte("# Benchmarks\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := o.run(t.Context()); !errors.Is(err, errPage) {
		t.Errorf("a page without the next part: %v", err)
	}
	for _, old := range []string{"", "\n## The public benchmark\n\nold\n"} {
		if err := os.WriteFile(path, []byte("# Benchmarks\n\n## Targets\n"+old+"\n## Stores of intervals\n\nrest\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := o.run(t.Context()); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		page := string(data)
		for _, text := range []string{
			"## Targets\n\n## The public benchmark\n", "go run ./polarsignals -rows 100000 -set mixed -engines oracle,granary,granary-files,arrow-by-hand -json", "| granary | 30 (50) | **4** (5) |", "| granary, to ids | 2 (3) |",
			"| duckdb-memory | 10 (20) | 8 (9) |  |", "- set real was skipped: no data", "polars was skipped: no Python", "duckdb-memory has no answer to Q2: no memory",
			"behind the best other engine in Q0 ×0.333 (duckdb-memory). It is ahead of the best other engine in Q1 ×2 (duckdb-memory). It is behind Arrow by hand in Q0 ×0.1.", "`peak_memory_mb`: the most\n\n## Stores of intervals\n\nrest\n",
		} {
			if !strings.Contains(page, text) {
				t.Errorf("%q is not in the page\n%s", text, page)
			}
		}
		if strings.Contains(page, "\nold\n") {
			t.Error("the old part is still there")
		}
	}
}

// The later of two runs of a set counts, so of the sets of figure 18 that is the one with its queries.
func TestOfPapers(t *testing.T) {
	last := map[string]run{}
	for _, r := range ofPapers() {
		for store := range strings.SplitSeq(r.args[len(r.args)-3], ",") {
			last[r.args[len(r.args)-1]+" "+store] = r
		}
	}
	for _, set := range growing[:sparseSets] {
		for _, store := range []string{eSHT, "vR"} {
			if r := last[set+" "+store]; !slices.Contains(r.args, "-views") {
				t.Errorf("%s on %s counts in %q", store, set, r.command())
			}
		}
	}
}

// A run that is ended ends the processes of its program, and what they left behind goes.
func TestMeasurer_Ends(t *testing.T) {
	m, err := newMeasurer("")
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancelCause(t.Context())
	defer end(nil)
	m.programs["sh"] = "/bin/sh"
	left := filepath.Join(m.built, "left")
	go func() {
		for { // the shell has started the other process
			if _, err := os.Stat(left); err == nil {
				break
			}
			time.Sleep(time.Millisecond)
		}
		end(errUsage)
	}()
	began := time.Now()
	_, err = m.report(ctx, run{args: []string{"sh", "-c", `sleep 600 & echo >"$TMPDIR/left"; wait`}})
	if !errors.Is(err, errUsage) || time.Since(began) > time.Minute { // the output ends with the last process
		t.Errorf("after %v: %v", time.Since(began), err)
	}
	if _, err := os.Stat(left); errors.Join(err, m.close()) != nil {
		t.Error(err)
	}
	if _, err := os.Stat(m.built); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is left: %v", m.built, err)
	}
}

// A claim holds between its bounds, and not beyond them.
func TestClaim(t *testing.T) {
	of := func(v float64) treeFigures {
		return treeFigures{Figures: map[string]results.Spread{"full_us": {Median: v}}}
	}
	for _, c := range []struct {
		a, b            float64
		measured, holds bool
	}{{8, 2, true, true}, {17, 2, true, false}, {3, 2, true, false}, {0, 2, false, false}} {
		one := about(claim{set: "s", a: "a", b: "b", of: figure("full_us")}, 4)
		_, measured, holds := one.test(map[string]map[string]treeFigures{"s": {"a": of(c.a), "b": of(c.b)}})
		if measured != c.measured || holds != c.holds {
			t.Errorf("%v and %v: measured %v, holds %v", c.a, c.b, measured, holds)
		}
	}
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
		if has != (r.Peer != nil) || has != (r.Ratio != nil) {
			t.Errorf("%s: peer %v, ratio %v", r.Key, r.Peer, r.Ratio)
		}
		if !has {
			continue
		}
		want := 3.0
		if p.set != "" {
			want = 2 * max(p.times, microToMilli)
			if p.times == 0 {
				want = 2
			}
		}
		if r.Key == "hist-build" {
			want = 2
		}
		if times := *r.Ratio; times < want*0.999 || times > want*1.001 {
			t.Errorf("%s is %v times better, want %v", r.Key, times, want)
		}
	}
	for key := range peersOf {
		if !known[key] {
			t.Errorf("%s has a peer, and is no target", key)
		}
	}
}

// A pair that is not measured any more, and one whose ratio fell by a quarter, are named; noise is not, nor is a
// set that is not there.
func TestFallen(t *testing.T) {
	all := made(t)
	older := all.rows()
	if fell := fallen(older, all.rows()); len(fell) > 0 {
		t.Errorf("the same figures: %v", fell)
	}
	change(all)
	absent := all.Targets.Targets["hist-state"]
	absent.Value, absent.Status = nil, "skipped: the recorded threads are not at here"
	all.Targets.Targets["hist-state"] = absent
	want := []string{"hist-build", "scan-arrow", "types"}
	fell := fallen(older, all.rows())
	if got := slices.Sorted(maps.Keys(fell)); !slices.Equal(got, want) {
		t.Errorf("%v fell, want %v: %v", got, want, fell)
	}
	for key, err := range fell {
		if !strings.HasPrefix(err.Error(), key+": ") {
			t.Errorf("%s is not named: %v", key, err)
		}
	}
}

// A whole report differs from an older one whether a ratio fell or rose.
func TestSame(t *testing.T) {
	all := made(t)
	older := all.rows()
	if err := same(older, older); err != nil {
		t.Errorf("the same figures: %v", err)
	}
	change(all)
	better := 80.0 // a quarter more
	f := all.Targets.Targets["label-names"]
	f.Value = &better
	all.Targets.Targets["label-names"] = f
	err := same(older, all.rows())
	if err == nil {
		t.Fatal("no ratio differs")
	}
	for _, key := range []string{"types", "hist-build", "scan-arrow", "label-names"} {
		if !strings.Contains(err.Error(), key+": ") {
			t.Errorf("%s is not named: %v", key, err)
		}
	}
	if n := strings.Count(err.Error(), "its ratio was"); n != 4 {
		t.Errorf("%d ratios differ, want 4: %v", n, err)
	}
}

// change makes some figures worse: three ratios fall by more than noise.
func change(all *reports) {
	set := func(key string, value *float64) {
		f := all.Targets.Targets[key]
		f.Value = value
		all.Targets.Targets[key] = f
	}
	noise, more, less, without := 118.0, 140.0, 290.0, 1000.0
	set("heap-1m", &noise)
	set("types", &more)
	set("hist-build", &less)
	set("replay", &without) // it has no peer
	set("scan-arrow", nil)
}

// A ratio that fell is measured again, and holds once a round has it back. Others are named in the end.
func TestHold(t *testing.T) {
	older := made(t).rows()
	worse := made(t)
	change(worse)
	asked := 0
	err := hold(older, worse.rows(), func() ([]row, error) {
		asked++
		if asked < again {
			return worse.rows(), nil
		}
		return older, nil
	})
	if err != nil || asked != again {
		t.Errorf("after %d rounds: %v", asked, err)
	}
	asked = 0
	err = hold(older, worse.rows(), func() ([]row, error) { asked++; return worse.rows(), nil })
	if asked != again || err == nil {
		t.Fatalf("after %d rounds: %v", asked, err)
	}
	for _, key := range []string{"types", "hist-build", "scan-arrow"} {
		if !strings.Contains(err.Error(), key+": ") {
			t.Errorf("%s is not named: %v", key, err)
		}
	}
	failed := errors.New("no machine")
	if err := hold(older, worse.rows(), func() ([]row, error) { return nil, failed }); !errors.Is(err, failed) {
		t.Errorf("a round failed: %v", err)
	}
	if err := hold(older, older, func() ([]row, error) { return nil, failed }); err != nil {
		t.Errorf("nothing fell: %v", err)
	}
}

// The ratio of a list is the median of those of its rounds, not that of the medians.
func TestMiddle(t *testing.T) {
	of := func(ours, peer float64) []row {
		r := row{Key: "a", Ours: &ours, Peer: &peer}
		r.relate()
		return []row{r, {Key: "b", Ours: &ours}}
	}
	rows := middle([][]row{of(1, 10), of(2, 12), of(4, 100)})
	if a := rows[0]; *a.Ours != 2 || *a.Peer != 12 || *a.Ratio != 10 {
		t.Errorf("ours %v, peer %v, ratio %v", *a.Ours, *a.Peer, *a.Ratio)
	}
	if b := rows[1]; *b.Ours != 2 || b.Peer != nil || b.Ratio != nil {
		t.Errorf("without a peer: %+v", b)
	}
}

// names reports whether a page has the command of a run as a line, with its set alone or among others.
func names(page string, r run) bool {
	command, set, _ := strings.Cut("    "+r.command(), " -sets ")
	for line := range strings.Lines(page) {
		before, sets, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " -sets ")
		if before == command && (sets == set || slices.Contains(strings.Split(sets, ","), set)) {
			return true
		}
	}
	return false
}

// The page has each target, store, figure and note, with the command of each section.
func TestPage(t *testing.T) {
	all := made(t)
	all.from["abc"] = "2026-11-26"
	p := &page{all: all, runs: full()}
	if err := p.write(all.rows()); err != nil {
		t.Fatal(err)
	}
	written := p.String()
	want := []string{"on a machine. Measured on 2026-11-26 at commit abc.", "| `heap-1m` | about heap-1m | 100 ms, 90–100 | 300, ×3 | 120 |", "a note", "duckdb was skipped: no cgo", `| eSHT | ×1 |`}
	for _, r := range full() {
		if !names(written, r) {
			t.Errorf("%q is not in the page", r.command())
		}
	}
	for _, key := range targets.Keys() {
		want = append(want, "`"+key+"`")
	}
	for _, w := range want {
		if !strings.Contains(written, w) {
			t.Errorf("%q is not in the page", w)
		}
	}
	for line := range strings.Lines(written) {
		if strings.HasPrefix(line, "|") && !strings.HasSuffix(line, "|\n") {
			t.Errorf("not a row: %q", line)
		}
	}
	delete(all.Trees.Sets[threads], history)
	if err := p.intervals(); err == nil {
		t.Error("a set without this store is no error")
	}
}

// keep keeps a report in a folder, as if a run had printed it.
func keep(t *testing.T, dir string, r run, printed string) {
	t.Helper()
	data, err := json.Marshal(kept{Command: r.command(), Commit: "abc", Date: "2026-11-26", Printed: printed})
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, r.file()), data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// text returns a value as JSON.
func text(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// printed returns what the runs of a page print, by name.
func printed(t *testing.T, all *reports) map[string]string {
	t.Helper()
	return map[string]string{
		"targets": text(t, all.Targets), "peers": text(t, all.Peers), "small": text(t, all.Small), "durable": text(t, all.Durable),
		"trees": text(t, all.Trees), "papers": text(t, all.Papers), "partials": "| a | table |", "public": text(t, all.Public), "frostdb": text(t, all.Peers), "esht": text(t, all.Trees),
	}
}

// The ratio of a target is the median of those of the rounds. One that differs from that of an older list is measured in
// more rounds, as many as it takes.
func TestTargets_Rounds(t *testing.T) {
	all, dir := made(t), t.TempDir()
	older := filepath.Join(dir, "older.json")
	if err := os.WriteFile(older, []byte(text(t, all.rows())), 0o600); err != nil {
		t.Fatal(err)
	}
	said := printed(t, all)
	for _, r := range ofTargets() {
		keep(t, dir, r, said[r.name])
	}
	change(all)
	fallen := text(t, all.Targets)
	for _, n := range []int{1, 3, 4} {
		keep(t, dir, round(n)[0], fallen)
	}
	measured, nothing := context.WithCancel(t.Context())
	nothing() // what is not kept is not measured
	o := options{keep: dir, json: true, against: older}
	if err := o.run(measured); !errors.Is(err, context.Canceled) {
		t.Errorf("three of five rounds differ, and the sixth is not there: %v", err)
	}
	for n := pageRounds + 1; n <= pageRounds+again; n++ {
		for _, r := range round(n) {
			keep(t, dir, r, said[r.name])
		}
	}
	if err := o.run(measured); err != nil {
		t.Errorf("three of six rounds differ by a quarter: %v", err)
	}
	for n := pageRounds + 1; n <= pageRounds+again; n++ {
		keep(t, dir, round(n)[0], fallen)
	}
	if err := o.run(measured); err == nil || !strings.Contains(err.Error(), "types: its ratio was 3, and is 2.14") {
		t.Errorf("eight of ten rounds differ: %v", err)
	}
}

// The page and its pictures are written of kept reports, without measuring. Stores that disagree are an error.
func TestRun_Kept(t *testing.T) {
	all, dir := made(t), t.TempDir()
	said := printed(t, all)
	for _, r := range full() {
		keep(t, dir, r, said[r.name])
	}
	o := options{keep: dir, out: filepath.Join(dir, "PAGE.md"), pictures: dir}
	if err := o.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	pictures := []string{"PAGE.md", "bench-ratios.svg", "bench-intervals.svg", "bench-growth.svg"}
	for _, f := range paperFigures {
		pictures = append(pictures, f.file)
	}
	for _, name := range pictures {
		if data, err := os.ReadFile(filepath.Join(dir, name)); err != nil || len(data) < 1000 {
			t.Errorf("%s has %d bytes, %v", name, len(data), err)
		}
	}
	all.Peers.Disagree = map[string]map[string]string{"merge-all": {"granary": "1", "kelindar": "2"}}
	at := slices.IndexFunc(full(), func(r run) bool { return r.name == "peers" })
	keep(t, dir, full()[at], text(t, all.Peers))
	if err := o.run(t.Context()); err == nil || !strings.Contains(err.Error(), "merge-all") {
		t.Errorf("stores disagree: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, full()[at].file()), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := o.run(t.Context()); err == nil || !strings.Contains(err.Error(), "peers.json") {
		t.Errorf("a damaged report: %v", err)
	}
}

func TestRun_Usage(t *testing.T) {
	for _, o := range []options{{quick: true}, {quick: true, json: true}, {against: "a.json"}, {quick: true, against: "a.json"}, {quick: true, json: true, rounds: 1, keep: t.TempDir()}, {papers: true, json: true}, {public: true, json: true}} {
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
	for _, r := range quick() {
		if at := slices.Index(r.args, "-rows"); at >= 0 && r.name != "agree" {
			rows[r.args[at+1]] = true
		}
	}
	if len(rows) != 1 {
		t.Errorf("sizes %v", slices.Collect(maps.Keys(rows)))
	}
}
