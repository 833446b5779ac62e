package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// lineOf returns a run in which all figures have a ratio, and of the best runs another.
func lineOf(ratio, best float64) line {
	l := line{Commit: "0123456789ab", Time: time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC), Machine: "m", Rows: 10, Repeat: 3, Figures: map[string]figure{}}
	for _, t := range tracked {
		l.Figures[t.name] = figure{ratio, best, 7}
	}
	return l
}

// TestTracked holds what the documentation promises: twenty figures with names of their own.
func TestTracked(t *testing.T) {
	names := map[string]bool{}
	for _, f := range tracked {
		names[f.name] = true
	}
	if len(names) != 20 || len(tracked) != 20 {
		t.Errorf("%d figures with %d names, want 20", len(tracked), len(names))
	}
}

func TestChangesOf(t *testing.T) {
	series := []line{lineOf(9, 9), lineOf(1, 1), lineOf(1, 1), lineOf(3, 3), lineOf(1, 1), lineOf(1, 1)} // the first is too old, one is an exception
	other := lineOf(50, 50)
	other.Rows = 11
	series = append(series, other)
	l := lineOf(1.04, 1)
	l.Figures["insert"] = figure{3.2, 3.1, 7}
	l.Figures["heap"] = figure{0.8, 0.9, 7}
	l.Figures["series"] = figure{1.1, 1.02, 7}
	l.Figures["alloc"] = figure{1.1, 0.9, 7}
	l.Figures["totals"] = figure{3.5, 3.5, 7}
	got := map[string]bool{}
	for _, c := range changesOf(series, l) {
		got[c.name] = c.isSure
	}
	if diff := cmp.Diff(map[string]bool{"insert": true, "heap": true, "alloc": false, "series": false, "totals": true}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	for _, c := range changesOf(series[:3], l)[:1] {
		if c.name != "insert" || c.isSure {
			t.Errorf("%+v is sure, though one of three lines was worse", c)
		}
	}
	if all := changesOf(nil, l); all != nil {
		t.Errorf("%v without a series", all)
	}
	var text bytes.Buffer
	if err := writeTable(&text, l, changesOf(series, l)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"+220 %\n", "-20 %\n", "+10 %, not sure\n"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, &text)
		}
	}
}

func TestRelated(t *testing.T) {
	of, beside := store{map[string]float64{"k": 10}, map[string]float64{"k": 8}}, store{map[string]float64{"k": 5}, map[string]float64{"k": 2}}
	for isRate, want := range map[bool]figure{false: {2, 4, 5}, true: {0.5, 0.25, 0.2}} {
		if got, err := related(of, beside, "k", isRate); err != nil || got != want {
			t.Errorf("%v, %v, want %v", got, err, want)
		}
	}
	if _, err := related(of, beside, "other", false); err == nil {
		t.Error("no error for a figure that no report has")
	}
}

// TestSeries writes lines, reads them, and draws them.
func TestSeries(t *testing.T) {
	name := filepath.Join(t.TempDir(), "figures.jsonl")
	series, err := readSeries(name)
	if err != nil || series != nil {
		t.Fatalf("%v, %v of no file", series, err)
	}
	want := []line{lineOf(1, 2), lineOf(3, 4)}
	for _, l := range want {
		if err := appendLine(name, l); err != nil {
			t.Fatal(err)
		}
	}
	got, err := readSeries(name)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v, (-want +got)\n%s", err, diff)
	}
	picture := filepath.Join(t.TempDir(), "figures.svg")
	if err := drawSeries(got, picture); err != nil {
		t.Fatal(err)
	}
	svg, err := os.ReadFile(picture)
	for _, f := range tracked {
		if err != nil || !bytes.Contains(svg, []byte(f.name)) {
			t.Errorf("the picture has no %s: %v", f.name, err)
		}
	}
	if err := drawSeries(nil, picture); err == nil {
		t.Error("a picture of nothing")
	}
	if err := os.WriteFile(name, []byte("{}\n{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := readSeries(name); err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("%v, want line 2", err)
	}
}

// TestReports runs both commands on few rows: their reports have every figure.
func TestReports(t *testing.T) {
	if testing.Short() {
		t.Skip("it measures for half a minute")
	}
	t.Chdir("..")
	l, err := measured(t.Context(), options{rows: 2000, repeat: 1})
	if err != nil {
		t.Fatal(err)
	}
	if len(l.Figures) != len(tracked) || l.Machine == "" || l.Commit == "" {
		t.Errorf("%+v", l)
	}
}
