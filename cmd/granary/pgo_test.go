package main

import (
	"bytes"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/internal/effort"
)

// calls returns what the compiler reads of a profile.
func calls(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "tool", "preprofile", "-i", name).Output()
	if err != nil {
		t.Fatalf("go tool preprofile -i %s: %v", name, err)
	}
	return string(out)
}

// TestPGO makes a profile for the compiler of recorded ones: it reads the same of both, and the small one is small.
func TestPGO(t *testing.T) {
	effort.Slow(t)
	dir := t.TempDir()
	gen := filepath.Join(dir, "gen")
	if r := granary(t, "demo", "--span", "3m", "--profiles", gen); r.code != cli.ExitOK {
		t.Fatalf("%+v", r)
	}
	small, large := filepath.Join(dir, "default.pgo"), filepath.Join(dir, "large.pgo")
	if r := granary(t, "pgo", "-o", small, gen); r.code != cli.ExitOK {
		t.Fatalf("%+v", r)
	}
	if r := granary(t, "merge", "-o", large, "--sample-index", "cpu", gen); r.code != cli.ExitOK {
		t.Fatalf("%+v", r)
	}
	want := calls(t, large)
	if got := calls(t, small); got != want || strings.Count(want, "\n") < 100 {
		t.Errorf("the compiler reads %d and %d lines", strings.Count(got, "\n"), strings.Count(want, "\n"))
	}
	sizes := [2]int64{}
	for i, name := range []string{small, large} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		sizes[i] = info.Size()
	}
	if sizes[0]*2 > sizes[1] {
		t.Errorf("%d bytes, the merged profile has %d", sizes[0], sizes[1])
	}
	t.Logf("%d bytes instead of %d", sizes[0], sizes[1])
}

// TestPGO_HalfLife weighs the samples of an hour ago half.
func TestPGO_HalfLife(t *testing.T) {
	dir := t.TempDir()
	start := time.Date(2026, 1, 31, 9, 0, 0, 0, time.UTC)
	var files []string
	for i, name := range []string{"main.old", "main.new"} {
		p := service()
		for _, f := range p.Function {
			f.StartLine = 1
		}
		p.Function[0].Name = name
		p.TimeNanos = start.Add(time.Duration(i) * time.Hour).UnixNano()
		files = append(files, file(t, name, p))
	}
	out := filepath.Join(dir, "default.pgo")
	weights := map[string]int64{}
	if r := granary(t, append([]string{"pgo", "-o", out, "--half-life", "1h"}, files...)...); r.code != cli.ExitOK {
		t.Fatalf("%+v", r)
	}
	data, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	p, err := pprof.Parse(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range p.Sample {
		for _, l := range s.Location {
			weights[l.Line[0].Function.Name] += s.Value[0]
		}
	}
	if weights["main.new"] == 0 || weights["main.new"] < weights["main.old"]*19/10 || weights["main.new"] > weights["main.old"]*21/10 {
		t.Errorf("%v", weights)
	}
}

// TestPGO_Build builds a program with both profiles: the compiler inlines the same.
func TestPGO_Build(t *testing.T) {
	if !effort.Full {
		t.Skip("GRANARY_FULL builds the standard library with profiles")
	}
	dir := t.TempDir()
	gen := filepath.Join(dir, "gen")
	if r := granary(t, "demo", "--span", "2m", "--profiles", gen); r.code != cli.ExitOK {
		t.Fatalf("%+v", r)
	}
	decisions := map[string]string{}
	for name, args := range map[string][]string{"small": {"pgo"}, "large": {"merge", "--sample-index", "cpu"}} {
		out := filepath.Join(dir, name+".pgo")
		if r := granary(t, append(args, "-o", out, gen)...); r.code != cli.ExitOK {
			t.Fatalf("%+v", r)
		}
		cmd := exec.CommandContext(t.Context(), "go", "build", "-pgo", out, "-gcflags=-m=2", "-o", os.DevNull, "github.com/granarydb/granary/profile/pgo")
		text, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		decisions[name] = strings.ReplaceAll(string(text), out, "")
	}
	if decisions["small"] != decisions["large"] || len(decisions["small"]) < 1000 {
		t.Errorf("the compiler decides otherwise: %d bytes and %d", len(decisions["small"]), len(decisions["large"]))
	}
}

// TestPGO_Measured builds the program in testdata/orders with a profile of itself, and measures both builds in turns. How much faster it is
// depends on the compiler and the machine: the log says it. The test wants that the compiler uses the profile: it gives a hot function more
// room for what is inlined into it.
func TestPGO_Measured(t *testing.T) {
	if !effort.Full {
		t.Skip("GRANARY_FULL builds the standard library with profiles")
	}
	ordersRepository(t)
	outputOf(t, "go", "test", "-c", "-pgo=off", "-o", "off.test", ".")
	outputOf(t, "./off.test", "-test.run=^$", "-test.bench=Report", "-test.benchtime=3s", "-test.cpuprofile=cpu.pb.gz")
	if r := granary(t, "pgo", "-o", "default.pgo", "cpu.pb.gz"); r.code != cli.ExitOK {
		t.Fatalf("%+v", r)
	}
	at, err := filepath.Abs("default.pgo")
	if err != nil {
		t.Fatal(err)
	}
	said, err := exec.CommandContext(t.Context(), "go", "test", "-c", "-pgo="+at, "-gcflags=-d=pgodebug=1", "-o", "on.test", ".").CombinedOutput()
	if err != nil || !strings.Contains(string(said), "increased budget=2000 for func=example.com/orders.checksum") { // which inlines more into it
		t.Fatalf("%v: %s", err, said)
	}
	least := map[string]time.Duration{"off": math.MaxInt64, "on": math.MaxInt64} // CPU time, which other work disturbs less
	for range 10 {
		for name := range least {
			cmd := exec.CommandContext(t.Context(), "./"+name+".test", "-test.run=^$", "-test.bench=Report", "-test.benchtime=60x")
			if err := cmd.Run(); err != nil {
				t.Fatal(err)
			}
			least[name] = min(least[name], cmd.ProcessState.UserTime())
		}
	}
	t.Logf("%s of CPU without a profile, %s with one: %+.1f%%", least["off"], least["on"], 100*(float64(least["on"])/float64(least["off"])-1))
}

func TestPGO_Errors(t *testing.T) {
	p := service()
	for _, f := range p.Function {
		f.StartLine = 0
	}
	if r := granary(t, "pgo", "-o", filepath.Join(t.TempDir(), "x"), file(t, "cpu.pb.gz", p)); r.code != cli.ExitFailed || !strings.Contains(r.stderr, "they are of no Go program") {
		t.Errorf("%+v", r)
	}
	if r := granary(t, "pgo"); r.code != cli.ExitUsage {
		t.Errorf("%+v", r)
	}
}
