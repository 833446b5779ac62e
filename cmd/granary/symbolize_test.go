package main

import (
	"bytes"
	"debug/elf"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	pprof "github.com/google/pprof/profile"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/cmd/granary/internal/clitest"
	"github.com/granarydb/granary/internal/effort"
)

// programs has the sources of programs that print addresses of their own.
const programs = "../../internal/debuginfo/testdata"

// outputOf runs a command, and returns its standard output.
func outputOf(t *testing.T, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	var failure bytes.Buffer
	cmd.Stderr, cmd.Env = &failure, append(os.Environ(), "CGO_ENABLED=0")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, failure.String())
	}
	return string(out)
}

func readPprof(t *testing.T, name string) *pprof.Profile {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	p, err := pprof.ParseData(data)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return p
}

// stacksOf returns the values of a profile by stack: functions, files and lines.
func stacksOf(p *pprof.Profile) map[string]int64 {
	all := map[string]int64{}
	for _, s := range p.Sample {
		var stack strings.Builder
		for _, l := range s.Location {
			for i, ln := range l.Line {
				fmt.Fprintf(&stack, "%s %s:%d %d\n", ln.Function.Name, ln.Function.Filename, ln.Line, i)
			}
			if len(l.Line) == 0 {
				stack.WriteString("?\n")
			}
		}
		all[stack.String()] += s.Value[0]
	}
	return all
}

// bare removes the names that symbolize finds again: those of a binary's own code.
func bare(t *testing.T, p *pprof.Profile) string {
	t.Helper()
	p = p.Copy()
	for _, l := range p.Location {
		if l.Mapping == p.Mapping[0] && !strings.HasPrefix(l.Line[0].Function.Name, "runtime._") {
			l.Line = nil
		}
	}
	return file(t, "bare.pb.gz", p.Compact())
}

// TestSymbolize_Go removes the names from a profile that a stripped Go program wrote, and finds them again in its file.
func TestSymbolize_Go(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "bin", "work")
	outputOf(t, "go", "build", "-o", program, "-ldflags=-s -w", programs+"/work/main.go")
	whole := filepath.Join(dir, "cpu.pb.gz")
	outputOf(t, program, whole)
	want := readPprof(t, whole)
	input, named := bare(t, want), filepath.Join(dir, "named.pb.gz")
	id := want.Mapping[0].BuildID
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/buildid/"+id+"/executable" {
			http.NotFound(w, r)
			return
		}
		http.ServeFile(w, r, program)
	}))
	defer server.Close()
	defer http.DefaultClient.CloseIdleConnections()
	for _, from := range [][]string{{"--binary", program}, {"--symbols", dir}, {"--debuginfod", server.URL}} {
		r := granary(t, append([]string{"symbolize", "-o", named, input}, from...)...)
		if r.code != cli.ExitOK || !strings.Contains(r.stderr, "got names") || strings.Contains(r.stderr, "without a name") {
			t.Fatalf("%v: %+v", from, r)
		}
		if diff := cmp.Diff(stacksOf(want), stacksOf(readPprof(t, named))); diff != "" {
			t.Errorf("%v: (-as the program wrote it +symbolized)\n%s", from, diff)
		}
	}
	for _, bounds := range [][]string{{"--debuginfod-size", "1KiB"}, nil} {
		if bounds == nil {
			server.Close()
		}
		r := granary(t, append([]string{"symbolize", "-o", named, "--debuginfod", server.URL, input}, bounds...)...)
		if r.code != cli.ExitFailed || !strings.Contains(r.stderr, "granary: 0 of ") || !strings.Contains(r.stderr, "debuginfod: build id "+id) {
			t.Errorf("%v: %+v", bounds, r)
		}
	}
}

// TestSymbolize_Cxx names the stack of a stripped C++ program by its separate debug information.
func TestSymbolize_Cxx(t *testing.T) {
	effort.Slow(t)
	for _, tool := range []string{"g++", "objcopy", "strip"} {
		if _, err := exec.LookPath(tool); err != nil {
			if os.Getenv("GRANARY_NEED_CXX") != "" {
				t.Fatal(err)
			}
			t.Skipf("%s is not there: apt-get install g++ binutils", tool)
		}
	}
	dir := t.TempDir()
	full, program, debug := filepath.Join(dir, "full"), filepath.Join(dir, "shop"), filepath.Join(dir, "debug", "shop.debug")
	if err := os.Mkdir(filepath.Dir(debug), 0o755); err != nil {
		t.Fatal(err)
	}
	outputOf(t, "g++", "-O2", "-g", "-Wl,--build-id=sha1", "-o", full, programs+"/shop.cc")
	outputOf(t, "objcopy", "--only-keep-debug", full, debug)
	outputOf(t, "strip", "-o", program, full)
	input, named := file(t, "cxx.pb.gz", processProfile(t, program)), filepath.Join(dir, "named.pb.gz")
	r := granary(t, "symbolize", "-o", named, "--symbols", filepath.Dir(debug), input)
	if r.code != cli.ExitOK {
		t.Fatalf("%+v", r)
	}
	var got []string
	for _, l := range readPprof(t, named).Sample[0].Location {
		for _, ln := range l.Line {
			got = append(got, fmt.Sprintf("%s %s:%d", ln.Function.Name, filepath.Base(ln.Function.Filename), ln.Line))
		}
	}
	want := []string{
		"record shop.cc:17", "shop::Basket::total shop.cc:21", // inlined
		"shop::Basket::total shop.cc:22", "shop::Basket::total shop.cc:22", "shop::Basket::total shop.cc:22",
		"work shop.cc:28", "apply shop.cc:27", "main shop.cc:30",
	}
	if diff := cmp.Diff(want, got[:min(len(want), len(got))]); diff != "" { // then come those of the C library
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// processProfile runs a program that prints its mappings and a stack, and returns a profile of it without names.
func processProfile(t *testing.T, program string) *pprof.Profile {
	t.Helper()
	f, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	note, err := f.Section(".note.gnu.build-id").Data()
	if err = errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	number := func(s string) uint64 {
		v, err := strconv.ParseUint(s, 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	m := &pprof.Mapping{ID: 1, File: program, BuildID: hex.EncodeToString(note[16:])}
	p := &pprof.Profile{
		SampleType: []*pprof.ValueType{{Type: "samples", Unit: "count"}}, PeriodType: &pprof.ValueType{Type: "cpu", Unit: "nanoseconds"}, Period: 1,
		Mapping: []*pprof.Mapping{m}, TimeNanos: 1_700_000_000_000_000_000, Sample: []*pprof.Sample{{Value: []int64{1}}},
	}
	for line := range strings.Lines(outputOf(t, program)) {
		parts := strings.Fields(line)
		if addr, ok := strings.CutPrefix(line, "frame 0x"); ok {
			// It is where the call returns to.
			if a := number(strings.TrimSpace(addr)) - 1; a >= m.Start && a < m.Limit {
				l := &pprof.Location{ID: uint64(len(p.Location) + 1), Mapping: m, Address: a}
				p.Location, p.Sample[0].Location = append(p.Location, l), append(p.Sample[0].Location, l)
			}
		} else if parts[1] == "r-xp" && parts[len(parts)-1] == program {
			from, to, _ := strings.Cut(parts[0], "-")
			m.Start, m.Limit, m.Offset = number(from), number(to), number(parts[2])
		}
	}
	return p
}

func TestSymbolize_Report(t *testing.T) {
	dir := t.TempDir()
	symbols := filepath.Join(dir, "shop.sym")
	const text = "MODULE Linux x86_64 A1B2C3D4E5F60718293A4B5C6D7E8F900 shop\nFILE 0 /src/a.cc\nFUNC 1000 100 0 _ZN4shop4sellEv\n1000 100 7 0\n"
	if err := os.WriteFile(symbols, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p := service()
	m := []*pprof.Mapping{
		{ID: 1, Start: 0x400000, Limit: 0x500000, Offset: 0x1000, File: "/bin/shop", BuildID: "d4c3b2a1f6e51807293a4b5c6d7e8f9001020304"},
		{ID: 2, Start: 0x700000, Limit: 0x800000, File: "/lib/libc.so.6", BuildID: "ffff000011112222"},
		{ID: 3, Start: 0x900000, Limit: 0xa00000, File: "/lib/other.so"},
	}
	p.Mapping = m
	for i, l := range p.Location {
		l.Line, l.Mapping, l.Address = nil, m[min(i, 2)], m[min(i, 2)].Start+uint64(i)
	}
	p.Function = nil
	input := file(t, "cpu.pb.gz", p)
	out := filepath.Join(dir, "named.pb.gz")
	r := granary(t, "symbolize", "-o", out, "--binary", symbols, input)
	if r.code != cli.ExitOK {
		t.Fatalf("%+v", r)
	}
	clitest.Golden(t, "symbolize.golden", strings.ReplaceAll(r.stderr, dir, "DIR"))
	named := readPprof(t, out)
	found := false
	for _, f := range named.Function {
		found = found || f.Name == "shop::sell" && f.SystemName == "_ZN4shop4sellEv" && f.Filename == "/src/a.cc"
	}
	if !found || !named.Mapping[0].HasFunctions {
		t.Errorf("functions %+v", named.Function)
	}
	again := granary(t, "symbolize", "-o", filepath.Join(dir, "again.pb.gz"), "--binary", symbols, file(t, "whole.pb.gz", service()))
	if again.code != cli.ExitOK || !strings.Contains(again.stderr, "every location has lines already") {
		t.Errorf("%+v", again)
	}
}

func TestSymbolize_Usage(t *testing.T) {
	clitest.Golden(t, "symbolize-help.golden", granary(t, "symbolize", "--help").stdout)
	input := file(t, "cpu.pb.gz", service())
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{input}, "-o"},
		{[]string{"-o", "x", input}, "name where the names are"},
		{[]string{"-o", "x", "--debuginfod", "ftp://x", input}, "http"},
		{[]string{"-o", "x", "--symbols", "missing-dir", input}, "missing-dir"},
		{[]string{"-o", "x", "--binary", input, input}, "--binary"},
		{[]string{"-o", input, "--symbols", ".", input}, "-o"},
	} {
		if r := granary(t, append([]string{"symbolize"}, c.args...)...); r.code != cli.ExitUsage || !strings.Contains(r.stderr, c.want) {
			t.Errorf("%v: %+v", c.args, r)
		}
	}
}
