package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/cmd/granary/internal/clitest"
	"github.com/granarydb/granary/internal/beside"
)

// scrapes writes n profiles of each of two pods, ten seconds apart, to dir/pod-K/N.pb.gz. Their
// samples have a label pod.
func scrapes(t *testing.T, n int) string {
	t.Helper()
	dir := t.TempDir()
	for pod := range 2 {
		for k := range n {
			p := newProfile("heap:bytes", sample{"f main", []int64{int64(pod+1) << 20 * int64(2+k%3)}, map[string][]string{"pod": {fmt.Sprintf("pod-%d", pod)}}})
			file(t, filepath.Join(dir, fmt.Sprintf("pod-%d", pod), fmt.Sprintf("%04d.pb.gz", k)), at(p, epoch.Add(time.Duration(k)*10*time.Second)))
		}
	}
	return dir
}

func TestSeriesGolden(t *testing.T) {
	dir := scrapes(t, 30)
	file(t, filepath.Join(dir, "one.pb.gz"), service())
	file(t, filepath.Join(dir, "none.pb.gz"), newProfile("cpu:nanoseconds"))
	falls := newProfile("inuse_space:bytes", sample{"f", []int64{-3 << 20}, nil})
	file(t, filepath.Join(dir, "diffs", "a.pb.gz"), at(falls, epoch))
	falls = newProfile("inuse_space:bytes", sample{"f", []int64{5 << 20}, nil})
	file(t, filepath.Join(dir, "diffs", "b.pb.gz"), at(falls, epoch.Add(time.Hour)))
	for _, tc := range []struct {
		golden string
		args   []string
	}{
		{"series.golden", []string{"pod-0"}},
		{"series-by.golden", []string{"--by", "pod", "pod-0", "pod-1"}},
		{"series-sum.golden", []string{"pod-0", "pod-1"}},
		{"series-step.golden", []string{"--step", "1m", "--by", "pod", "pod-0", "pod-1"}},
		{"series-average.golden", []string{"--step", "1m", "--average", "--by", "pod", "pod-0", "pod-1"}},
		{"series-top.golden", []string{"--by", "file", "-n", "2", "pod-1"}},
		{"series-top.golden", []string{"--by", "file", "--limit", "2", "pod-1"}},
		{"series-top.golden", []string{"--by", "file", "--top", "2", "pod-1"}},
		{"series-negative.golden", []string{"diffs"}},
		{"series-one-time.golden", []string{"--by", "thread", "one.pb.gz"}},
		{"series-one-step.golden", []string{"--by", "pod", "--step", "24h", "pod-0", "pod-1"}},
		{"series-one-step.golden", []string{"--by", "pod", "--step", "1d", "pod-0", "pod-1"}},
		{"series-one-average.golden", []string{"--by", "pod", "--by", "file", "--average", "pod-0/0001.pb.gz", "pod-1/0001.pb.gz"}},
		{"series-none.golden", []string{"none.pb.gz"}},
		{"series-json.golden", []string{"--json", "--by", "pod", "--step", "1m", "--to", "2023-11-14T22:16:00Z", "pod-0", "pod-1"}},
		{"series-none-json.golden", []string{"--json", "none.pb.gz"}},
	} {
		t.Run(tc.golden, func(t *testing.T) {
			r := inDir(t, dir, append([]string{"series"}, tc.args...)...)
			if r.code != cli.ExitOK {
				t.Fatalf("exit code %d: %s", r.code, r.stderr)
			}
			clitest.CheckWidth(t, tc.golden, r.stdout)
			clitest.Golden(t, tc.golden, r.stdout)
		})
	}
}

// seriesJSON is the output of granary series --json.
type seriesJSON struct {
	SampleType string           `json:"sample_type"`
	Unit       string           `json:"unit"`
	Profiles   int              `json:"profiles"`
	Step       float64          `json:"step_seconds"`
	Average    bool             `json:"average"`
	Mean       bool             `json:"mean"`
	Lines      []seriesLineJSON `json:"lines"`
}

func granarySeries(t *testing.T, args ...string) seriesJSON {
	t.Helper()
	r := granary(t, append([]string{"series", "--json"}, args...)...)
	var out seriesJSON
	d := json.NewDecoder(strings.NewReader(r.stdout))
	d.DisallowUnknownFields()
	if err := d.Decode(&out); err != nil || r.code != cli.ExitOK {
		t.Fatalf("granary series %q: exit code %d, %v: %s", args, r.code, err, r.stderr)
	}
	return out
}

// Sums and means of steps, of labels of samples and of whole profiles.
func TestSeriesValues(t *testing.T) {
	dir := scrapes(t, 100)
	const mib = 1 << 20
	got := granarySeries(t, dir)
	if got.SampleType != "heap" || got.Unit != "bytes" || got.Profiles != 200 || got.Step != 0 || len(got.Lines) != 1 || len(got.Lines[0].Points) != 100 {
		t.Fatalf("%+v", got)
	}
	for k, p := range got.Lines[0].Points {
		want := seriesPoint{epoch.Add(time.Duration(k) * 10 * time.Second).UTC().Format(time.RFC3339), 3 * mib * int64(2+k%3)}
		if p != want {
			t.Errorf("point %d is %+v, want %+v", k, p, want)
		}
	}
	got = granarySeries(t, "--by", "pod", "--step", "30s", dir) // pod-1 has more, and comes first
	if got.Step != 30 || len(got.Lines) != 2 || got.Lines[0].Labels["pod"] != "pod-1" || got.Lines[0].Points[1].Value != 2*9*mib || got.Lines[1].Points[1].Value != 9*mib {
		t.Errorf("by pod: %+v", got)
	}
	// The mean is over a line's profiles.
	got = granarySeries(t, "--by", "pod", "--step", "30s", "--average", dir)
	if !got.Average || got.Lines[0].Points[1].Value != 2*3*mib || got.Lines[1].Points[1].Value != 3*mib {
		t.Errorf("mean by pod: %+v", got)
	}
	got = granarySeries(t, "--average", "--step", "30s", dir)
	if got.Lines[0].Points[1].Value != 4.5*mib {
		t.Errorf("mean of all: %+v", got.Lines[0].Points[1])
	}
	got = granarySeries(t, "--by", "file", "--by", "pod", "--top", "3", dir)
	if len(got.Lines) != 3 || len(got.Lines[0].Labels) != 2 || got.Lines[0].Points[0].Value != 8*mib {
		t.Errorf("three files: %+v", got)
	}
}

// Samples without the label have a line of their own.
func TestSeriesWithoutLabel(t *testing.T) {
	input := file(t, "in.pb.gz", service())
	got := granarySeries(t, "--by", "thread", input)
	sums := map[string]int64{}
	for _, line := range got.Lines {
		sums[line.Labels["thread"]] = line.Points[0].Value
	}
	want := map[string]int64{"": 9e7, "main": 1e7, "worker-1": 6e8, "worker-2": 3e8}
	if diff := cmp.Diff(want, sums); diff != "" {
		t.Error(diff)
	}
}

// Many times are drawn in steps. The first and the last step are drawn only if they are whole.
func TestSeriesOfManyTimes(t *testing.T) {
	dir := scrapes(t, 100)
	r := granary(t, "series", filepath.Join(dir, "pod-0"))
	for _, want := range []string{"the sum of up to 3 profiles in 30s", "The step of 30s is chosen", "100 profiles", "cut short"} {
		if !strings.Contains(r.stdout, want) {
			t.Errorf("there is no %q:\n%s", want, r.stdout)
		}
	}
	clitest.CheckWidth(t, "series", r.stdout)
}

// Pods that are profiled at times of their own get steps in which their numbers are steady.
func TestSeriesOfPodsApart(t *testing.T) {
	dir := t.TempDir()
	for pod := range 4 {
		for k := range 12 {
			p := newProfile("cpu:nanoseconds", sample{"f main", []int64{1e9 << pod}, nil})
			name := fmt.Sprintf("pod=p%d/%02d.pb.gz", pod, k)
			file(t, filepath.Join(dir, name), at(p, epoch.Add(time.Duration(k)*10*time.Second+time.Duration(pod)*1234567891)))
		}
	}
	r := granary(t, "series", dir)
	if !strings.Contains(r.stdout, "The step of 10s is chosen") || !strings.Contains(r.stdout, "       15 s         15 s         15 s  all") {
		t.Errorf("%s", r.stdout)
	}
	if r := granary(t, "series", "--by", "pod", dir); strings.Contains(r.stdout, "is chosen") {
		t.Errorf("a pod alone has one time for each profile:\n%s", r.stdout)
	}
	if got := granarySeries(t, dir); got.Step != 0 || len(got.Lines[0].Points) != 48 {
		t.Errorf("JSON has steps of %v s and %d points", got.Step, len(got.Lines[0].Points))
	}
}

// Real profiles of one process, three seconds apart.
func TestSeriesOfRealProfiles(t *testing.T) {
	dir := filepath.Dir(beside.Data(t, "pprof/many/1644509272337470000.pb.gz"))
	got := granarySeries(t, "--sample-index", "inuse_space", dir)
	if got.Profiles != 10 || len(got.Lines) != 1 || len(got.Lines[0].Points) != 10 {
		t.Fatalf("%+v", got)
	}
	for i, name := range profilesBelow(t, dir) {
		if p := got.Lines[0].Points[i]; p.Value != granaryTop(t, "--sample-index", "inuse_space", name).Total {
			t.Errorf("%s is not %+v", name, p)
		}
	}
	clitest.CheckWidth(t, "series", granary(t, "series", dir).stdout)
}
