package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
)

// epoch is the time of the first generated profile.
var epoch = time.Unix(1_700_000_000, 0)

// hourly writes n profiles of consecutive hours into a directory. Profile k has 2^k seconds in
// a function fk that main calls.
func hourly(t *testing.T, n int) string {
	t.Helper()
	dir := t.TempDir()
	for k := range n {
		p := newProfile("cpu:nanoseconds", sample{fmt.Sprintf("f%d main", k), []int64{1e9 << k}, nil})
		p.TimeNanos = epoch.Add(time.Duration(k) * time.Hour).UnixNano()
		file(t, filepath.Join(dir, fmt.Sprintf("%d.pb.gz", k)), p)
	}
	return dir
}

// The bounds select by the time of profiles. --from is included, --to is not.
func TestTimes(t *testing.T) {
	dir := hourly(t, 4) // 1, 2, 4 and 8 seconds
	at := func(hour int) string { return epoch.Add(time.Duration(hour) * time.Hour).UTC().Format(time.RFC3339) }
	unix := func(hour int) string { return fmt.Sprint(epoch.Unix() + int64(hour)*3600) }
	for _, tc := range []struct {
		flags []string
		want  int64 // seconds
	}{
		{nil, 15},
		{[]string{"--from", at(1)}, 14},
		{[]string{"--to", at(1)}, 1},
		{[]string{"--from", at(1), "--to", at(3)}, 6},
		{[]string{"--from", unix(1), "--to", unix(3)}, 6},
		{[]string{"--from", "2023-11-15"}, 12}, // the second of four is at 23:13:20
		{[]string{"--from", "2023-11-14", "--to", "2023-11-15"}, 3},
		{[]string{"--from", "2023-11-14T23:13:20"}, 14},
		{[]string{"--from", "2023-11-14 23:13:21"}, 12},
		{[]string{"--from", "2023-11-14T23:13"}, 14},
		{[]string{"--to", "2023-11-14 23:14"}, 3},
		{[]string{"--to", "2023-11-14 23:13:20Z"}, 1},
		{[]string{"--from", unix(1) + ".5", "--to", unix(3) + ".5"}, 12},
		{[]string{"--from", "2023-11-15T01:13:20+02:00"}, 14}, // at(1) elsewhere
		{[]string{"--from", "latest-1h"}, 12},
		{[]string{"--from", "latest-119m59s"}, 12},
		{[]string{"--from=latest-2h", "--to=latest-1h"}, 2},
		{[]string{"--to", "latest"}, 7},
		{[]string{"--from", "latest-0.5h", "--to", "now"}, 8},
		{[]string{"--to", "-1w"}, 15},
		{[]string{"--from", "1h"}, 0},
		{[]string{"--from", "-1h", "--to", "now"}, 0},
		{[]string{"--from", "latest-1d"}, 15},
		{[]string{"--from", "latest-0d"}, 8},
		{[]string{"--from", "-999999h"}, 15},
		{[]string{"--from", at(2), "--to", "latest-30m"}, 4},
		{[]string{"--from", at(100)}, 0},
		{[]string{"--from", unix(1) + "000", "--to", unix(3) + "000000"}, 6},
	} {
		if got := granaryTop(t, append(tc.flags, dir)...); got.Total != tc.want*1e9 {
			t.Errorf("%q: total %d, want %d s", tc.flags, got.Total, tc.want)
		}
	}
}

// --search, --from and --to select the same samples for all commands.
func TestSelectionOfAllCommands(t *testing.T) {
	dir := hourly(t, 4)
	flags := []string{"--search", "^f[12]$", "--from", "latest-1h30m", dir} // leaves f2
	if got := granaryTop(t, flags...); got.Total != 4e9 || len(got.Functions) != 2 {
		t.Errorf("top: %+v", got)
	}
	if p := granaryMerge(t, flags...); len(p.Sample) != 1 || p.Sample[0].Value[0] != 4e9 || p.TimeNanos != epoch.Add(2*time.Hour).UnixNano() {
		t.Errorf("merge: %v", p)
	}
	if r := granary(t, append([]string{"flamegraph", "-o", "-"}, flags...)...); !strings.Contains(r.stdout, "f2") || strings.Contains(r.stdout, "f3") {
		t.Errorf("flamegraph: %.500s", r.stdout)
	}
	if got := granarySeries(t, flags...); len(got.Lines) != 1 || len(got.Lines[0].Points) != 1 || got.Lines[0].Points[0].Value != 4e9 {
		t.Errorf("series: %+v", got)
	}
	if got := granaryLabels(t, "file", flags...); len(got) != 1 || filepath.Base(got[0].Value) != "2.pb.gz" {
		t.Errorf("labels: %+v", got)
	}
	// Each side has its own newest profile.
	one := file(t, "one.pb.gz", newProfile("cpu:nanoseconds", sample{"f2 main", []int64{3e9}, nil}, sample{"f3 main", []int64{1e9}, nil}))
	got := granaryDiff(t, "--search", "^f[12]$", "--from", "latest-1h30m", one, dir)
	if got.Before != 3e9 || got.After != 4e9 || len(got.Functions) != 2 || got.Functions[0].Name != "f2" || got.Functions[0].Flat != 1e9 {
		t.Errorf("diff: %+v", got)
	}
}

// A search is not anchored and matches any function of a stack.
func TestSearch(t *testing.T) {
	input := file(t, "in.pb.gz", service())
	for search, want := range map[string]int64{
		"":                   1000,
		"parse":              300,
		"^par":               300,
		"^arse":              0,
		"handle":             900,
		"compress|gc":        690,
		"(?i)COMPRESS":       600,
		"^main$":             910,
		"no such function":   0,
		"^(handle|gc|main)$": 1000,
	} {
		if got := granaryTop(t, "--search", search, input); got.Total != want*1e6 {
			t.Errorf("%q: total %d, want %d ms", search, got.Total, want)
		}
	}
}

// A limited flame graph keeps the frames with the greatest values.
func TestMaxNodes(t *testing.T) {
	input := file(t, "in.pb.gz", service())
	r := granary(t, "flamegraph", "-o", "-", "--max-nodes", "3", input)
	if r.code != cli.ExitOK || !strings.Contains(r.stdout, "compress") || strings.Contains(r.stdout, "<title>parse") || !strings.Contains(r.stdout, "other") {
		t.Errorf("exit code %d, %.1000s", r.code, r.stdout)
	}
}

// at returns a profile with another time.
func at(p *pprof.Profile, time time.Time) *pprof.Profile {
	p.TimeNanos = time.UnixNano()
	return p
}
