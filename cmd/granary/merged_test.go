package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/profile"
)

// gaugeDir writes heap profiles of two pods: p at four times, q at two of them. The heap in use
// of p is 25 on average, that of q 5. Both allocate 100 a profile.
func gaugeDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	heap := func(pod string, at time.Duration, inuse int64) {
		p := newProfile("alloc_space:bytes inuse_space:bytes", sample{stack: "f main", values: []int64{100, inuse}})
		p.TimeNanos += int64(at)
		p.DefaultSampleType = "inuse_space"
		file(t, filepath.Join(dir, "pod="+pod, fmt.Sprintf("heap-%v.pb.gz", at)), p)
	}
	for i := range int64(4) {
		heap("p", time.Duration(i)*10*time.Second, 10*(i+1))
	}
	heap("q", 0, 5)
	heap("q", 30*time.Second, 5)
	return dir
}

const (
	meansSaid  = "The values are means over up to 4 times, added up over 2 sets of labels; --sum adds up all.\n"
	meansNoted = "granary: inuse_space: means over up to 4 times, added up over 2 sets of labels; --sum adds up all\n"
)

// Values measured at an instant are means over each pod's times, and the answers say so.
func TestGaugesAreMeans(t *testing.T) {
	dir := gaugeDir(t)
	for _, tc := range []struct {
		args  []string
		total int64
		over  int
	}{
		{[]string{dir}, 25 + 5, 4},
		{[]string{"--sum", dir}, 110, 0},
		{[]string{"--sample-index", "alloc_space", dir}, 600, 0},
		{[]string{"--selector", `{pod="q"}`, dir}, 5, 2},
		{[]string{"--to", fmt.Sprint(1_700_000_001), dir}, 10 + 5, 0},
	} {
		if got := granaryTop(t, tc.args...); got.Total != tc.total || got.MeanOver != tc.over {
			t.Errorf("top %v: %d over %d times, want %d over %d", tc.args[:len(tc.args)-1], got.Total, got.MeanOver, tc.total, tc.over)
		}
	}
	for _, command := range [][]string{{"top"}, {"peek", "f"}} {
		if r := granary(t, append(command, dir)...); r.code != cli.ExitOK || !strings.Contains(r.stdout, meansSaid) {
			t.Errorf("%v: %+v", command, r)
		}
		if r := granary(t, append(command, "--sum", dir)...); r.code != cli.ExitOK || strings.Contains(r.stdout, "means") {
			t.Errorf("%v --sum: %+v", command, r)
		}
	}
	if got := granaryDiff(t, filepath.Join(dir, "pod=q"), dir); got.Before != 5 || got.After != 30 || got.MeanOver != 4 {
		t.Errorf("diff: %+v", got)
	}
	one := filepath.Join(dir, "pod=q", "heap-0s.pb.gz")
	r := granary(t, "diff", one, dir)
	sides := strings.Split(r.stdout, "\n")[1:3]
	if strings.Contains(sides[0], "mean") || !strings.HasSuffix(sides[1], " (mean over 4 times)") {
		t.Errorf("diff: %q", sides)
	}
}

// Files of means are reported on standard error, as their formats have no place for it.
func TestFilesOfMeans(t *testing.T) {
	dir := gaugeDir(t)
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"merge", "-o", "-", "--format", "folded"}, "main;f 30\n"},
		{[]string{"merge", "-o", "-", "--format", "speedscope"}, `"weights":[30]`},
		{[]string{"flamegraph", "-o", "-"}, "inuse_space, mean over 4 times"},
		{[]string{"merge", "-o", "-"}, ""},
		{[]string{"diff", "-o", "-", filepath.Join(dir, "pod=q")}, ""},
	} {
		r := granary(t, append(tc.args, dir)...)
		if r.code != cli.ExitOK || !strings.HasSuffix(r.stderr, meansNoted) || !strings.Contains(r.stdout, tc.want) {
			t.Errorf("%v: exit code %d, %q, output %.300s", tc.args, r.code, r.stderr, r.stdout)
		}
		if r := granary(t, append(tc.args, "--sum", dir)...); r.code != cli.ExitOK || r.stderr != "" {
			t.Errorf("%v --sum: %+v", tc.args, r.stderr)
		}
	}
	for sum, want := range map[string]int64{"": 30, "--sum": 110} {
		args := []string{dir}
		if sum != "" {
			args = append(args, sum)
		}
		p := mustParse(t, []byte(granary(t, append([]string{"merge", "-o", "-"}, args...)...).stdout), "the merge")
		if got := p.Sample[0].Value; len(p.Sample) != 1 || got[0] != 600 || got[1] != want {
			t.Errorf("merge %s: %v, want [600 %d]", sum, got, want)
		}
	}
}

// A point of several times is the mean over them for each pod.
func TestSeriesOfGauges(t *testing.T) {
	dir := gaugeDir(t)
	values := func(points []seriesPoint) (out []int64) {
		for _, p := range points {
			out = append(out, p.Value)
		}
		return out
	}
	for _, tc := range []struct {
		args []string
		want string
		mean bool
	}{
		{nil, "[15 20 30 45]", false}, // of one time each
		{[]string{"--step", "20s"}, "[20 40]", true},
		{[]string{"--step", "20s", "--sum"}, "[35 75]", false},
		{[]string{"--step", "20s", "--average"}, "[12 25]", false},
		{[]string{"--step", "20s", "--by", "pod"}, "[15 35] [5 5]", true},
		{[]string{"--step", "20s", "--sample-index", "alloc_space"}, "[300 300]", false},
	} {
		got := granarySeries(t, append(tc.args, dir)...)
		var lines []string
		for _, line := range got.Lines {
			lines = append(lines, fmt.Sprint(values(line.Points)))
		}
		if text := strings.Join(lines, " "); text != tc.want || got.Mean != tc.mean {
			t.Errorf("%v: %s, mean %v; want %s, %v", tc.args, text, got.Mean, tc.want, tc.mean)
		}
	}
	if r := granary(t, "series", "--step", "20s", dir); !strings.Contains(r.stdout, "A point is the mean over the times of each set of labels, of up to 3 profiles in 20s.\n--sum adds them up.\n") {
		t.Errorf("%+v", r)
	}
	if r := granary(t, "series", "--sum", "--average", dir); r.code != cli.ExitUsage || !strings.Contains(r.stderr, "choose one") {
		t.Errorf("%+v", r)
	}
}

// The labels of gauges are those of their profiles.
func TestLabelsOfGauges(t *testing.T) {
	r := granary(t, "labels", "--name", "pod", gaugeDir(t))
	want := "profiles    series  pod\n       4         8  p\n       2         4  q\n"
	if strings.TrimSpace(r.stdout) != strings.TrimSpace(want) {
		t.Errorf("%s, want %s", r.stdout, want)
	}
	if (profile.Type{Sample: "alloc_space"}).IsGauge() {
		t.Error("alloc_space is a gauge")
	}
}

// Errors of what a newcomer types say what to type instead.
func TestNewcomersErrors(t *testing.T) {
	input := file(t, "in.pb.gz", service())
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"top", "--selector", `pod="x"`, input}, `conditions on labels stand in braces: '{job="api"}'`},
		{[]string{"top", "--selector", `{pod=x}`, input}, `unexpected "x"`},
		{[]string{"peek", input}, "and after it at least one profile"},
		{[]string{"top", "--ignroe", "x", input}, "unknown flag: --ignroe: did you mean --ignore?"},
		{[]string{"top", "-cum", input}, "in -cum: did you mean --cum?"},
		{[]string{"top", "--frobnicate", input}, "unknown flag: --frobnicate\n"},
		{[]string{"top", "-sample_index=cpu", input}, "did you mean --sample-index?"},
	} {
		if r := granary(t, tc.args...); r.code != cli.ExitUsage || !strings.Contains(r.stderr, tc.want) {
			t.Errorf("%v: %+v", tc.args, r)
		}
	}
}
