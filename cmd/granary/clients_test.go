package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	pprof "github.com/google/pprof/profile"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/internal/beside"
	"github.com/granarydb/granary/profile"
)

// writtenByOthers are files that other profilers wrote, and what they hold.
var writtenByOthers = []struct {
	name, index string
	total       int64
	function    string // one of them
	own         int64  // its value
}{
	{"std.pb.gz", "cpu", 100_000_000, "main.parse", 50_000_000},
	{"badutf8-func.pb.gz", "cpu", 100_000_000, "caf\ufffd::run", 50_000_000},
	{"noperiod.pb.gz", "cpu", 100_000_000, "main.parse", 50_000_000},
	{"cpu-us.pb.gz", "cpu", 100_000_000, "main.parse", 50_000_000},
	{"mangled.pb.gz", "cpu", 100_000_000, "std::vector::push_back", 50_000_000},
	{"mangled.pb.gz", "cpu", 100_000_000, "core::fmt::write", 30_000_000},
	{"dotnet.pb.gz", "inuse_space", 100_000_000, "main.parse", 50_000_000},
	{"microtime.pb.gz", "cpu", 100_000_000, "main.parse", 50_000_000},
	{"allocs-scrape-1.pb.gz", "inuse_space", 10_952_417, "", 0},
	{"allocs-scrape-4.pb.gz", "inuse_space", 10_952_417, "", 0},
	{"ebpf.otlp", "cpu", 526_315_780, "do_syscall_64", 315_789_468},
	{"async-profiler.jfr", "cpu", 270_000_000, "Busy.fib", 20_000_000},
	{"async-profiler.jfr", "alloc_in_new_tlab_objects", 2117, "", 0},
	{"async-profiler.collapsed", "samples", 25, "Busy.fib", 6},
	{"perf-script.txt", "samples", 89, "fib", 88},
	{"perf-script.txt", "cpu", 898_989_890, "", 0},
	{"heap.debug1.txt", "inuse_space", 12_690_613, "", 0},
	{"gperftools.cpu", "cpu", 780_000_000, "[busy]", 770_000_000},
}

// TestClientFiles reads files that other profilers wrote: alone, from a directory, and after a push by the command and by /ingest.
func TestClientFiles(t *testing.T) {
	dir := beside.Data(t, "clients")
	s, _, _ := serverOf(t)
	web := httptest.NewServer(s)
	defer web.Close()
	db := filepath.Join(t.TempDir(), "db")
	sent := map[string]bool{}
	for _, f := range writtenByOthers {
		path := filepath.Join(dir, f.name)
		if !sent[f.name] {
			sent[f.name] = true
			for _, args := range [][]string{{"load", "--db", db}, {"push", "--to", web.URL}} {
				if r := granary(t, append(args, "--label", "of="+f.name, path)...); r.code != cli.ExitOK {
					t.Errorf("%s: %s: %+v", f.name, args[0], r)
				}
			}
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := http.Post(web.URL+"/ingest?from=1795834800&name=sent{of="+url.QueryEscape(f.name)+"}", "", bytes.NewReader(data))
			if err != nil {
				t.Fatal(err)
			}
			if text, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusOK {
				t.Errorf("%s: status %d: %s", f.name, resp.StatusCode, text)
			}
			resp.Body.Close()
		}
		for _, args := range [][]string{{path}, {"--db", db, "--selector", `{of="` + f.name + `"}`}} {
			got := granaryTop(t, append(args, "--sample-index", f.index)...)
			i := slices.IndexFunc(got.Functions, func(of profile.Function) bool { return of.Name == f.function })
			if got.Total != f.total || f.function != "" && (i < 0 || got.Functions[i].Flat != f.own) {
				t.Errorf("%s: %q: %+v, want %+v", f.name, args, got, f)
			}
		}
		for _, of := range []string{`service_name!="sent"`, `service_name="sent"`} {
			if total := totalOf(t, web.URL, f.index, `{of="`+f.name+`",`+of+`}`); total != f.total {
				t.Errorf("%s: %s: %d pushed, want %d", f.name, of, total, f.total)
			}
		}
	}
	std, us := filepath.Join(dir, "std.pb.gz"), filepath.Join(dir, "cpu-us.pb.gz")
	if got := granaryTop(t, std, us); got.Total != 200_000_000 {
		t.Errorf("std and cpu-us: %+v", got)
	}
	first, second := filepath.Join(dir, "allocs-scrape-1.pb.gz"), filepath.Join(dir, "allocs-scrape-4.pb.gz")
	r := granary(t, "top", "--json", "--sample-index", "alloc_space", "--cumulative", "whole", first, second)
	if !strings.Contains(r.stdout, `"total": 13755598,`) { // nothing was allocated between them
		t.Errorf("two scrapes of one process: %+v", r)
	}
}

// totalOf returns the sum of a type in the answer to GET /pprof.
func totalOf(t *testing.T, at, typ, selector string) (total int64) {
	t.Helper()
	resp, err := http.Get(at + "/pprof?type=" + typ + "&selector=" + url.QueryEscape(selector))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: status %d, %v: %s", selector, resp.StatusCode, err, body)
	}
	p, err := pprof.ParseData(body)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range p.Sample {
		total += s.Value[len(s.Value)-1]
	}
	return total
}
