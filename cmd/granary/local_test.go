package main

import (
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
)

// Times in text and times without a zone in flags are those of the machine. JSON is in UTC.
func TestLocalTimes(t *testing.T) {
	old := time.Local
	t.Cleanup(func() { time.Local = old })
	time.Local = time.FixedZone("CET", 3600)
	input := file(t, "in.pb.gz", service())
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"top"}, "1 profile, 2023-11-14 23:13:20 CET\n"},
		{[]string{"series"}, "1 profile, 2023-11-14 23:13:20 CET\n"},
		{[]string{"top", "--json"}, `"from": "2023-11-14T22:13:20Z"`},
		{[]string{"top", "--from", "2023-11-14 23:13:20"}, "total 1 s"},
		{[]string{"top", "--from", "2023-11-14 23:13:21"}, noSamples},
		{[]string{"top", "--from", "2023-11-14T22:13:20Z"}, "total 1 s"},
		{[]string{"top", "--from", "2023-11-14T22:13:21Z"}, noSamples},
		{[]string{"top", "--to", "2023-11-15"}, "total 1 s"},
	} {
		if r := granary(t, append(tc.args, input)...); r.code != cli.ExitOK || !strings.Contains(r.stdout, tc.want) {
			t.Errorf("%q: %+v", tc.args, r)
		}
	}
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip(err)
	}
	time.Local = berlin
	at := time.Date(2023, 10, 29, 0, 30, 0, 0, time.UTC).UnixNano()
	if got, want := timeRange(at, at+int64(time.Hour)), "2023-10-29 02:30:00 CEST to 2023-10-29 02:30:00 CET"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// A chart is as wide as --width, and more lines than colours have letters on a terminal.
func TestChartWidth(t *testing.T) {
	a, later := file(t, "a.pb.gz", service()), service()
	later.TimeNanos += 1e11
	b := file(t, "b.pb.gz", later)
	widest := func(text string) int {
		most := 0
		for line := range strings.Lines(text) {
			most = max(most, len([]rune(line))-1)
		}
		return most
	}
	for _, width := range []int{60, 120, 200} {
		r := granary(t, "series", "--width", strconv.Itoa(width), a, b)
		if n := widest(r.stdout); r.code != cli.ExitOK || n < width-5 || n > width {
			t.Errorf("%d: %d columns, %+v", width, n, r)
		}
	}
	if r := granary(t, "series", "--width", "10", a); r.code != cli.ExitUsage || !strings.Contains(r.stderr, "from 24 to 1000") {
		t.Errorf("%+v", r)
	}
}

// The names in a legend stay different when they are cut, and a wide chart does not cut them.
func TestLegendNames(t *testing.T) {
	dir, deep := t.TempDir(), strings.Repeat("averyverylongname/", 4)
	for pod := range 3 {
		p := service()
		p.TimeNanos += int64(pod) * 1e11
		file(t, filepath.Join(dir, "pod"+strconv.Itoa(pod), deep, "cpu.pb.gz"), p)
	}
	for _, width := range []int{60, 120, 300} {
		r := granary(t, "series", "--by", "file", "--width", strconv.Itoa(width), dir)
		_, legend, _ := strings.Cut(r.stdout, "most  file\n")
		names := map[string]bool{}
		for line := range strings.Lines(legend) {
			fields := strings.Fields(line)
			name := fields[len(fields)-1]
			names[name] = true
			if width == 300 && !strings.HasSuffix(name, deep+"cpu.pb.gz") || len([]rune(line))-1 > width {
				t.Errorf("%d columns: %q", width, line)
			}
		}
		if len(names) != 3 {
			t.Errorf("%d columns: the legend has %d names of 3 lines\n%s", width, len(names), r.stdout)
		}
	}
}
