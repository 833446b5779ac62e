package targets

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/granarydb/granary/bench/fleet"
	"github.com/granarydb/granary/bench/peers"
	"github.com/granarydb/granary/schema"
)

// wantKeys are the keys of all targets. A key of two values has two entries.
const wantKeys = `insert-ids-1m insert-ids-10m insert-record insert-pprof heap-1m heap-10m heap-100m
		merge-all merge-all-arrow merge-all-100m merge-type-arrow merge-job-arrow select-pod one-profile regex-pods
		scan-arrow scan-arrow-dictionary label-names label-values types insert-p99
		log-bytes log-cost log-cost-maintained file-bytes-1m file-bytes-1m-ids file-bytes-10m file-bytes-10m-ids sync-8 sync-64
		hist-log-bytes hist-log replay replay-stacks open-10m open-10m-killed cold-merge cold-merge-10m cold-stacks filing-p99
		hist-bytes hist-file hist-build hist-state hist-state-1e6 hist-slice hist-slice-into hist-cursor hist-slice-few hist-sample hist-kind
		serve-rate serve-insert-p99 serve-query-p99`

// tiny has about three scrapes of a small fleet in its smallest size.
func tiny(sizes ...string) Options {
	return Options{
		Rows: 15_000, Repeat: 1, Sizes: sizes,
		variant: fleet.Variant{Jobs: 6, Pods: 2}, Phase: 200 * time.Millisecond, commits: 128,
		load: 2 * time.Second, pods: 40,
		threads: "synth:500:20", million: "synth:1000:4",
	}
}

// TestRun measures every target at a tiny size and reads its JSON.
func TestRun(t *testing.T) {
	o := tiny(Sizes...)
	o.Profiles = t.TempDir()
	r, err := Run(o)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range queryKeys {
		if data, err := os.ReadFile(filepath.Join(o.Profiles, key+".prof")); err != nil || len(data) == 0 {
			t.Errorf("the profile of %s has %d bytes, %v", key, len(data), err)
		}
	}
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Targets map[string]struct {
			Status, Unit, Better        string
			Value, Low, High, Must, Aim *float64
			Met                         *bool
		}
	}
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	want := slices.Sorted(slices.Values(strings.Fields(wantKeys)))
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(got.Targets))); diff != "" {
		t.Errorf("keys (-want +got)\n%s", diff)
	}
	for key, f := range got.Targets {
		if f.Unit == "" || f.Must == nil || f.Aim == nil || *f.Must <= 0 || *f.Aim <= 0 || (f.Better == "higher") != (*f.Aim > *f.Must) {
			t.Errorf("%s: %+v", key, f)
		}
		if f.Met != nil {
			t.Errorf("%s is compared with the must of a million rows", key)
		}
		switch {
		case key == "hist-kind": // the synthetic set has no threads
			if !strings.HasPrefix(f.Status, "skipped: ") {
				t.Errorf("%s: %q", key, f.Status)
			}
		case key == "hist-log": // a difference of short times
			if f.Value == nil {
				t.Errorf("%s: %+v", key, f)
			}
		case f.Status != "measured" || f.Value == nil || *f.Value <= 0 || *f.Low > *f.Value || *f.High < *f.Value:
			t.Errorf("%s: %+v", key, f)
		}
	}
	var text strings.Builder
	if err := r.WriteTable(&text); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(text.String(), "\n"); lines != len(table)+1 {
		t.Errorf("the table has %d lines, want %d", lines, len(table)+1)
	}
}

// A size that is not asked for, and recorded threads that are not there, are skipped with the
// reason.
func TestRun_Skipped(t *testing.T) {
	o := tiny("1m")
	o.Groups = []string{"ids", "histories"}
	o.threads = t.TempDir() + "/none"
	r, err := Run(o)
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{
		"heap-100m": "size 100m", "merge-all-100m": "size 100m", "insert-ids-10m": "size 10m", "types": "group queries", "hist-kind": "/none", "hist-bytes": "/none",
	} {
		f := r.Targets[key]
		if !strings.HasPrefix(f.Status, "skipped: ") || !strings.Contains(f.Status, want) || f.Value != nil {
			t.Errorf("%s: %q, %v; want skipped and %q", key, f.Status, f.Value, want)
		}
	}
	if f := r.Targets["hist-state-1e6"]; f.Value == nil {
		t.Errorf("hist-state-1e6: %q", f.Status)
	}
}

// Groups that are not asked for are skipped. Each target that can be measured has a group.
func TestRun_Groups(t *testing.T) {
	o := tiny("1m")
	o.Groups = []string{"pprof"}
	r, err := Run(o)
	if err != nil {
		t.Fatal(err)
	}
	for _, target := range table {
		f := r.Targets[target.key]
		if measured := f.Value != nil; measured != (target.group == "pprof") {
			t.Errorf("%s of group %q: %q", target.key, target.group, f.Status)
		}
		if !slices.Contains(Groups(), target.group) {
			t.Errorf("%s: unknown group %q", target.key, target.group)
		}
	}
}

// A run with the full size says whether a must is met, on either side of it.
func TestCollector_Met(t *testing.T) {
	c := newCollector(true)
	for _, target := range table {
		c.add(target.key, 0, target.must, target.must*1.1, target.must*0.9)
	}
	c.samples["hist-state"] = []float64{99, 101, 102}
	c.samples["hist-build"] = []float64{29, 29, 31}
	figures, err := c.figures()
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]bool{"hist-slice": true, "hist-state": false, "hist-build": false, "insert-pprof": true} {
		if f := figures[key]; f.Met == nil || *f.Met != want {
			t.Errorf("%s: met %v, want %v", key, f.Met, want)
		}
	}
	delete(c.samples, "types")
	if _, err := c.figures(); err == nil || !strings.Contains(err.Error(), "types") {
		t.Errorf("a target without a measurement: %v", err)
	}
}

// A target of several processes has the median of their values, and their whole range. One that no process measured
// has the status of one that was asked for it.
func TestMiddle(t *testing.T) {
	of := func(values map[string]float64, status string) Report {
		r := Report{Machine: "m", Targets: map[string]Figure{}}
		for _, target := range table {
			f := Figure{Status: status, Must: 10, Better: "lower"}
			if v, ok := values[target.key]; ok {
				met, low, high := v <= 10, v-1, v+1
				f = Figure{Status: "measured", Must: 10, Better: "lower", Value: &v, Low: &low, High: &high, Met: &met, Runs: 5}
			}
			r.Targets[target.key] = f
		}
		return r
	}
	all := Middle(
		of(map[string]float64{"types": 30}, "skipped: group x is not among -groups"),
		of(map[string]float64{"replay": 3}, "skipped: no threads"),
		of(map[string]float64{"types": 7}, "skipped: size 1m is not among -sizes"),
		of(map[string]float64{"types": 9}, "skipped: size 1m is not among -sizes"),
	)
	f := all.Targets["types"]
	if *f.Value != 9 || *f.Low != 6 || *f.High != 31 || !*f.Met || f.Runs != 15 {
		t.Errorf("value %v of %v to %v, met %v, %d runs", *f.Value, *f.Low, *f.High, *f.Met, f.Runs)
	}
	if f := all.Targets["replay"]; *f.Value != 3 || f.Runs != 5 || f.Status != "measured" {
		t.Errorf("of one process: %+v", f)
	}
	if f := all.Targets["hist-state"]; f.Value != nil || f.Status != "skipped: no threads" {
		t.Errorf("of no process: %+v", f)
	}
}

func TestRun_Errors(t *testing.T) {
	for want, o := range map[string]Options{
		"at least one row":  {Repeat: 1, Sizes: Sizes},
		"one repetition":    {Rows: 1, Sizes: Sizes},
		`unknown size "2m"`: {Rows: 1, Repeat: 1, Sizes: []string{"2m"}},
		"and one size":      {Rows: 1, Repeat: 1},
		`unknown group "x"`: {Rows: 1, Repeat: 1, Sizes: []string{"1m"}, Groups: []string{"x"}},
		"want more rows":    {Rows: 100, Repeat: 1, Sizes: []string{"1m"}, Phase: 1, threads: "synth:2:2", million: "synth:2:2"},
	} {
		if _, err := Run(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// A record has the rows of its profile: a store that took records answers all questions as
// one that took the values.
func TestRecord(t *testing.T) {
	f := fleet.NewVariant(fleet.Seed, tiny("1m").variant)
	about := f.Profile(0, fleet.Start)
	var answers [2][]map[string]int
	for i := range answers {
		l, err := openLoader()
		if err != nil {
			t.Fatal(err)
		}
		defer l.store.Store.Close()
		prepare := []func(schema.Batch) func() error{l.byIDs, l.byRecord}[i]
		if err := l.load(f, 5_000, prepare); err != nil {
			t.Fatal(err)
		}
		if err := l.store.Settle(); err != nil {
			t.Fatal(err)
		}
		for _, q := range peers.Questions(about) {
			answer, err := peers.Answer(l.store, q)
			if err != nil {
				t.Fatal(err)
			}
			answers[i] = append(answers[i], answer)
		}
	}
	for i, q := range peers.Questions(about) {
		if values, records := answers[0][i], answers[1][i]; len(values) == 0 || !maps.Equal(values, records) {
			t.Errorf("%s: %d elements by records, %d by values: %s", q.Name, len(records), len(values), peers.FirstDifferent(records, values))
		}
	}
}
