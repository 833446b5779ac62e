package main

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
)

// Old profiles are not in a range that counts from now: the answer says from when they are.
func TestWhyEmpty_BeforeNow(t *testing.T) {
	old := file(t, "old.pb.gz", service())
	for from, then := range map[string]string{"-1h": "latest-1h", "now-1d12h": "latest-1d12h", "1w": "latest-1w", "now": "latest"} {
		since := regexp.MustCompile(`^granary: there are no samples: no profiles since 20\d\d-\S+ \S+ UTC; the newest is of 2023-11-14 22:13:20 UTC: --from ` + then + "\n$")
		for _, command := range [][]string{{"top"}, {"peek", "."}, {"series"}, {"labels"}, {"merge", "-o", "-"}} {
			r := granary(t, append(command, "--from", from, old)...)
			if r.code != cli.ExitOK || !since.MatchString(r.stderr) {
				t.Errorf("%q --from %s: %+v", command, from, r)
			}
		}
		if got := granaryTop(t, "--from", then, old); got.Total != 1e9 {
			t.Errorf("--from %s: %+v", then, got)
		}
	}
	recent := service()
	recent.TimeNanos = time.Now().Add(-30 * time.Minute).UnixNano()
	for from, want := range map[string]int64{"-1h": 1e9, "31m": 1e9, "now-29m": 0} {
		if got := granaryTop(t, "--from", from, old, file(t, "recent.pb.gz", recent)); got.Total != want {
			t.Errorf("--from %s: %d, want %d", from, got.Total, want)
		}
	}
}

// An empty answer comes with the condition that leaves no samples.
func TestWhyEmpty(t *testing.T) {
	dir := t.TempDir()
	file(t, filepath.Join(dir, "a.pb.gz"), service())
	file(t, filepath.Join(dir, "heap.pb.gz"), newProfile("alloc_space:bytes inuse_space:bytes", sample{"free main", []int64{9, 0}, nil}))
	none := file(t, "none.pb.gz", newProfile("samples:count cpu:nanoseconds"))
	for _, tc := range []struct {
		flags []string
		want  string // after "there are no samples", "" without a note
	}{
		{[]string{"--from", "2024-01-01"}, "--from 2024-01-01 leaves none of 2023-11-14 22:13:20 UTC"},
		{[]string{"--from", "2000-01-01", "--to", "2001-01-01", "--focus", "nope"}, "--from 2000-01-01 --to 2001-01-01 leaves none of 2023-11-14 22:13:20 UTC"},
		{[]string{"--from", "latest-1h", "--to", "latest"}, "--from latest-1h --to latest leaves none of 2023-11-14 22:13:20 UTC"},
		{[]string{"--selector", `{thread="nope"}`}, `--selector '{thread="nope"}' leaves none`},
		{[]string{"--search", "nope"}, "--search 'nope' leaves none"},
		{[]string{"--focus", "nope", "--ignore", "parse"}, "--focus 'nope' leaves none"},
		{[]string{"--ignore", "."}, "--ignore '.' leaves none"},
		{[]string{"--focus", "parse", "--ignore", "handle", "--search", "compress"}, "--search 'compress' and --focus 'parse' and --ignore 'handle' together leave none"},
		{[]string{"--selector", `{thread="worker-1"}`, "--focus", "parse"}, `--selector '{thread="worker-1"}' and --focus 'parse' together leave none`},
		{[]string{"--focus", "handle\x1b"}, "--focus 'handle\ufffd' leaves none"},
	} {
		for _, command := range [][]string{
			{"top"},
			{"top", "--json"},
			{"peek", "."},
			{"peek", "--json", "."},
			{"series"},
			{"series", "--json"},
			{"labels"},
			{"labels", "--name", "thread"},
			{"labels", "--json"},
			{"merge", "-o", "-"},
			{"merge", "-o", "-", "--format", "folded"},
			{"merge", "-o", "-", "--format", "speedscope"},
			{"flamegraph", "-o", "-"},
			{"export", "-o", "-", "--format", "arrow"},
		} {
			r := granary(t, append(append(command, tc.flags...), dir)...)
			if r.code != cli.ExitOK || r.stderr != "granary: there are no samples: "+tc.want+"\n" {
				t.Errorf("%q %q: exit code %d: %s", command, tc.flags, r.code, r.stderr)
			}
		}
	}
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"top", none}, ""},
		{[]string{"top", "--focus", "nope", none}, ""},
		{[]string{"merge", "-o", "-", none}, "granary: there are no samples\n"},
		{[]string{"top", "--focus", "compress", filepath.Join(dir, "a.pb.gz")}, ""},
		{[]string{"top", filepath.Join(dir, "heap.pb.gz")}, "granary: there are no samples: none has a value of inuse_space (--sample-index)\n"},
		{[]string{"top", "--sample-index", "alloc_space", "--hide", "free|main", dir}, "granary: there are no samples: --hide 'free|main' leaves none\n"},
		{[]string{"diff", "--focus", "gc", filepath.Join(dir, "a.pb.gz"), none}, ""},
	} {
		if r := granary(t, tc.args...); r.code != cli.ExitOK || r.stderr != tc.want {
			t.Errorf("%q: exit code %d: %s", tc.args, r.code, r.stderr)
		}
	}
	// Each side of a difference has its own note.
	a, b := file(t, "a.pb.gz", service()), file(t, "b.pb.gz", later())
	r := granary(t, "diff", "--focus", "inflate", a, b)
	if r.code != cli.ExitOK || r.stderr != "granary: "+a+": there are no samples: --focus 'inflate' leaves none\n" {
		t.Errorf("%+v", r)
	}
	r = granary(t, "diff", "--normalize", "--focus", "inflate", a, b)
	if r.code != cli.ExitFailed || !strings.Contains(r.stderr, "--focus 'inflate' leaves none\n") || !strings.Contains(r.stderr, "the total of cpu is 0 in A") {
		t.Errorf("%+v", r)
	}
}
