package tree_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
)

var at = time.Date(2026, 1, 31, 9, 0, 0, 0, time.UTC)

var countType = profile.Type{Sample: "n", SampleUnit: "count", Period: "cpu", PeriodUnit: "nanoseconds"}

// openDB returns an empty table of profiles.
func openDB(t testing.TB) *profile.DB {
	t.Helper()
	store, err := columnstore.Open(columnstore.Options{Manual: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	db, err := profile.Open(store, profile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// merge returns the stacks of a type of the profiles with a label.
func merge(t testing.TB, db *profile.DB, typ profile.Type, selector string) *profile.Stacks {
	t.Helper()
	s, err := profile.ParseSelector(selector)
	if err != nil {
		t.Fatal(err)
	}
	var stacks *profile.Stacks
	err = db.Store().View(t.Context(), func(snap *columnstore.Snapshot) (err error) {
		stacks, err = db.Merge(t.Context(), snap, typ, profile.Query{Selector: s, SumKinds: true})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return stacks
}

// sample is a value of a stack, leaf first.
type sample struct {
	frames []profile.Frame
	value  int64
}

// stacksOf returns the stacks of samples.
func stacksOf(t testing.TB, samples ...sample) *profile.Stacks {
	t.Helper()
	p := &pprof.Profile{
		SampleType: []*pprof.ValueType{{Type: "n", Unit: "count"}}, PeriodType: &pprof.ValueType{Type: "cpu", Unit: "nanoseconds"},
		Period: 1, TimeNanos: at.UnixNano(),
	}
	type name struct{ function, file string }
	functions, locations, binaries := map[name]*pprof.Function{}, map[profile.Frame]*pprof.Location{}, map[string]*pprof.Mapping{}
	for _, s := range samples {
		out := &pprof.Sample{Value: []int64{s.value}}
		for _, f := range s.frames {
			l := locations[f]
			if l == nil {
				fn := functions[name{f.Function, f.File}]
				if fn == nil {
					fn = &pprof.Function{ID: uint64(len(functions) + 1), Name: f.Function, Filename: f.File}
					functions[name{f.Function, f.File}] = fn
					p.Function = append(p.Function, fn)
				}
				m := binaries[f.Mapping]
				if m == nil {
					n := uint64(len(binaries) + 1)
					m = &pprof.Mapping{ID: n, File: f.Mapping, Start: n << 20, Limit: (n + 1) << 20}
					binaries[f.Mapping] = m
					p.Mapping = append(p.Mapping, m)
				}
				l = &pprof.Location{ID: uint64(len(locations) + 1), Mapping: m, Address: m.Start + uint64(len(locations)), Line: []pprof.Line{{Function: fn, Line: f.Line}}}
				locations[f] = l
				p.Location = append(p.Location, l)
			}
			out.Location = append(out.Location, l)
		}
		p.Sample = append(p.Sample, out)
	}
	db := openDB(t)
	if _, err := db.Insert(context.Background(), p, profile.InsertOptions{}); err != nil {
		t.Fatal(err)
	}
	return merge(t, db, countType, "")
}

// randomSamples returns samples whose functions recur, are in several files, lines and binaries, and whose values
// can be negative.
func randomSamples(rng *rand.Rand, n int) (all []sample) {
	for range n {
		s := sample{value: rng.Int64N(40) - 8}
		for range 1 + rng.IntN(7) {
			k := rng.IntN(6)
			s.frames = append(s.frames, profile.Frame{
				Function: fmt.Sprint("f", k), File: fmt.Sprintf("f%d.go", k+rng.IntN(2)), Line: rng.Int64N(3), Mapping: []string{"", "/bin/a", "/bin/b"}[rng.IntN(3)],
			})
		}
		all = append(all, s)
	}
	return all
}

// realStacks returns the stacks of a type of the profiles of a folder of testdata.
func realStacks(t testing.TB, folder, sampleType string) *profile.Stacks {
	t.Helper()
	db := openDB(t)
	names, err := filepath.Glob("../../testdata/profiles/" + folder + "/*.pb.gz")
	if err != nil || len(names) == 0 {
		t.Fatalf("no profiles in %s: %v", folder, err)
	}
	for _, file := range names {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.InsertEncoded(t.Context(), data, profile.InsertOptions{Time: at, Origin: file}); err != nil {
			t.Fatal(err)
		}
	}
	var found profile.Type
	err = db.Store().View(t.Context(), func(snap *columnstore.Snapshot) (err error) {
		found, err = db.FindType(t.Context(), snap, sampleType)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return merge(t, db, found, "")
}
