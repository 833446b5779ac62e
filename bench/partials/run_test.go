package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/granarydb/granary/history"
)

// The command measures a set of each kind, and draws a picture of its lines.
func TestRun(t *testing.T) {
	var out strings.Builder
	svg := filepath.Join(t.TempDir(), "partial.svg")
	if err := run(t.Context(), &out, options{sets: "synth:20:50,few:3000", every: "100,1000", svg: svg, dir: t.TempDir(), repeat: 1}); err != nil {
		t.Fatal(err)
	}
	rows := strings.Split(strings.TrimSpace(out.String()), "\n")[2:]
	if len(rows) != 6 {
		t.Fatalf("%d rows, want 6\n%s", len(rows), out.String())
	}
	for _, row := range rows {
		if strings.Count(row, "|") != 10 || strings.Contains(row, "NaN") || strings.Contains(row, "Inf") {
			t.Errorf("row %s", row)
		}
	}
	if !strings.HasPrefix(rows[0], "| synth:20:50 | - | 1,019 |") {
		t.Errorf("the whole history has not the intervals of the set: %s", rows[0])
	}
	picture, err := os.ReadFile(svg)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"synth:20:50", "few:3000", "the note: 1,000", "slice", "build", "1.2 to 1.5"} {
		if !strings.Contains(string(picture), text) {
			t.Errorf("the picture has no %q", text)
		}
	}
}

// An answer that differs from that of the whole history ends the command.
func TestCompare(t *testing.T) {
	few, err := openTrace("few:3000")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "whole")
	if err := few.writeWhole(path); err != nil {
		t.Fatal(err)
	}
	r, err := openWhole(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	q, err := ask(t.Context(), complete(r))
	if err != nil {
		t.Fatal(err)
	}
	other := *few
	other.provide = func(w states, e event) error {
		if e.value.Int() == 1000 {
			e.value = history.Int(7)
		}
		return few.provide(w, e)
	}
	if _, err := other.measurePart(t.Context(), path+"2", 100, q, 1); err == nil || !strings.Contains(err.Error(), "another answer") {
		t.Errorf("another provider: %v", err)
	}
}

// A reader of few that is opened at a position goes on as the one that gave it.
func TestFew(t *testing.T) {
	few, err := openTrace("few:500")
	if err != nil {
		t.Fatal(err)
	}
	r, err := few.Open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	events, last := 0, int64(0)
	for ; ; events++ {
		position, err := r.Position()
		if err != nil {
			t.Fatal(err)
		}
		again, err := few.Open(t.Context(), position)
		if err != nil {
			t.Fatal(err)
		}
		at, e, err := r.Next()
		at2, e2, err2 := again.Next()
		if at != at2 || e != e2 || !errors.Is(err2, err) {
			t.Fatalf("event %d is %v at %d, and from its position %v at %d: %v, %v", events, e, at, e2, at2, err, err2)
		}
		if errors.Is(err, io.EOF) {
			break
		}
		last = at
	}
	if events != 500 || last != few.end {
		t.Errorf("%d events up to %d, want 500 up to %d", events, last, few.end)
	}
}

func TestShort(t *testing.T) {
	for x, want := range map[float64]string{0.08412: "0.0841", 4.5: "4.5", 999.4: "999", 1639.6: "1,640", 52612: "52,600", 1234567: "1,230,000"} {
		if got := short(x); got != want {
			t.Errorf("short(%v) = %s, want %s", x, got, want)
		}
	}
}

func TestRun_Errors(t *testing.T) {
	for want, o := range map[string]options{
		"no-such-file":              {sets: "no-such-file", every: "10", dir: t.TempDir()},
		`"x" is no number`:          {sets: "few:x", every: "10", dir: t.TempDir()},
		`"0" is no number`:          {sets: "few:10", every: "0", dir: t.TempDir()},
		"no such file or directory": {sets: "few:10", every: "10", dir: filepath.Join(t.TempDir(), "none")},
	} {
		if err := run(t.Context(), io.Discard, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", o, err, want)
		}
	}
}
