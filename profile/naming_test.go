package profile

import (
	"context"
	"fmt"
	"regexp"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	pprof "github.com/google/pprof/profile"

	"github.com/granarydb/granary/columnstore"
)

// bareProfile has a stack of three addresses in a binary, and one location that the program named.
func bareProfile(at time.Time) *pprof.Profile {
	m := &pprof.Mapping{ID: 1, Start: 0x7000, Limit: 0x9000, Offset: 0x1000, File: "/bin/shop", BuildID: "abcdef12"}
	f := &pprof.Function{ID: 1, Name: "main", SystemName: "main", Filename: "main.c"}
	p := &pprof.Profile{
		SampleType: []*pprof.ValueType{{Type: "cpu", Unit: "nanoseconds"}}, PeriodType: &pprof.ValueType{Type: "cpu", Unit: "nanoseconds"},
		Mapping: []*pprof.Mapping{m}, Function: []*pprof.Function{f}, TimeNanos: at.UnixNano(),
	}
	for i := range 3 {
		p.Location = append(p.Location, &pprof.Location{ID: uint64(i + 1), Mapping: m, Address: 0x7000 + uint64(16*i)})
	}
	p.Location[2].Line = []pprof.Line{{Function: f, Line: 3}}
	p.Sample = []*pprof.Sample{{Value: []int64{5}, Location: p.Location}}
	return p
}

// namesOf names two addresses of bareProfile, one of them with an inlined call.
func namesOf(a Address) []Frame {
	if a.BuildID != "abcdef12" || a.Mapping != "/bin/shop" || a.Start != 0x7000 || a.Offset != 0x1000 {
		return nil
	}
	switch a.Address {
	case 0x7000:
		return []Frame{{Function: "_ZN4shop4sellEv", File: "shop.cc", Line: 7}, {Function: "serve", File: "shop.cc", Line: 9}}
	case 0x7010:
		return []Frame{{Function: "loop", File: "loop.cc", Line: 11}}
	}
	return nil
}

// openNamed opens a database with the names of namesOf while on is true.
func openNamed(t *testing.T, on *atomic.Bool) (*columnstore.Store, *DB) {
	t.Helper()
	store, err := columnstore.Open(columnstore.Options{FutureLimit: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	db, err := Open(store, Options{Names: func(a Address) []Frame {
		if !on.Load() {
			return nil
		}
		return namesOf(a)
	}})
	if err != nil {
		t.Fatal(err)
	}
	return store, db
}

// TestNames has the same answers whether addresses get names when the profile is inserted, or later.
func TestNames(t *testing.T) {
	at := time.Unix(1_700_000_000, 0)
	for _, c := range []struct {
		name           string
		before, during bool // of the insert
	}{{"at insert", true, false}, {"in answers", false, true}, {"both", true, true}} {
		t.Run(c.name, func(t *testing.T) {
			var on atomic.Bool
			ctx := context.Background()
			store, db := openNamed(t, &on)
			on.Store(c.before)
			if _, err := db.Insert(ctx, bareProfile(at), InsertOptions{}); err != nil {
				t.Fatal(err)
			}
			on.Store(c.during)
			if err := store.View(ctx, func(snap *columnstore.Snapshot) error { return checkNames(ctx, t, db, snap) }); err != nil {
				t.Fatal(err)
			}
			if c.before {
				return
			}
			on.Store(false) // rows are unchanged
			if err := store.View(ctx, func(snap *columnstore.Snapshot) error {
				p, err := db.Profile(ctx, snap, Query{})
				if err == nil && (len(p.Sample) != 1 || len(p.Sample[0].Location[0].Line) != 0) {
					t.Errorf("without names the profile has %v", p)
				}
				return err
			}); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func checkNames(ctx context.Context, t *testing.T, db *DB, snap *columnstore.Snapshot) error {
	t.Helper()
	types, err := db.Types(ctx, snap)
	if err != nil {
		return err
	}
	want := []string{"shop::sell shop.cc:7", "serve shop.cc:9", "loop loop.cc:11", "main main.c:3"}
	for _, q := range []Query{
		{},
		{Function: regexp.MustCompile("^shop::sell$")},
		{Function: regexp.MustCompile("loop")},
		{Under: []string{"main", "loop"}},
		{Frames: []FrameCondition{{Function: regexp.MustCompile("^serve$"), File: regexp.MustCompile("shop.cc")}}},
		{Frames: []FrameCondition{{Function: regexp.MustCompile("shop]"), Not: true}}},
		{Show: regexp.MustCompile("shop|loop|main")},
	} {
		stacks, err := db.Merge(ctx, snap, types[0], q)
		if err != nil {
			return err
		}
		var got []string
		for frames := range stacks.All() {
			for _, f := range frames {
				got = append(got, fmt.Sprintf("%s %s:%d", f.Function, f.File, f.Line))
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%+v: (-want +got)\n%s", q, diff)
		}
		if found, err := stacks.Search(ctx, regexp.MustCompile("^loop$")); err != nil || found.Len() != 1 {
			t.Errorf("%+v: a search has %d stacks: %v", q, found.Len(), err)
		}
	}
	p, err := db.Profile(ctx, snap, Query{Hide: regexp.MustCompile("loop")})
	if err != nil {
		return err
	}
	var got []string
	for _, l := range p.Sample[0].Location {
		for _, ln := range l.Line {
			got = append(got, ln.Function.Name+" "+ln.Function.SystemName)
		}
	}
	if diff := cmp.Diff([]string{"_ZN4shop4sellEv _ZN4shop4sellEv", "serve serve", "main main"}, got); diff != "" {
		t.Errorf("the profile: (-want +got)\n%s", diff)
	}
	return p.CheckValid()
}

// Cumulative profiles are subtracted although names came between them.
func TestNamesBetweenDeltas(t *testing.T) {
	var on atomic.Bool
	ctx := context.Background()
	store, db := openNamed(t, &on)
	deltas := NewDeltas(DeltaOptions{})
	at := time.Unix(1_700_000_000, 0)
	for i := range 2 {
		p := bareProfile(at.Add(time.Duration(i) * time.Minute))
		p.SampleType = []*pprof.ValueType{{Type: "alloc_objects", Unit: "count"}, {Type: "alloc_space", Unit: "bytes"}, {Type: "inuse_objects", Unit: "count"}, {Type: "inuse_space", Unit: "bytes"}}
		p.PeriodType = &pprof.ValueType{Type: "space", Unit: "bytes"}
		p.Sample[0].Value = []int64{100 + int64(i), 1000 + int64(i), 1, 1}
		if _, err := db.Insert(ctx, p, InsertOptions{Deltas: deltas}); err != nil {
			t.Fatal(err)
		}
		on.Store(true)
	}
	err := store.View(ctx, func(snap *columnstore.Snapshot) error {
		stacks, err := db.Merge(ctx, snap, Type{Sample: "alloc_space", SampleUnit: "bytes", Period: "space", PeriodUnit: "bytes"}, Query{})
		if err == nil && stacks.Total != 1 {
			t.Errorf("the growth is %d, want 1", stacks.Total)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
