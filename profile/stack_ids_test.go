package profile

import (
	"context"
	"errors"
	"maps"
	"regexp"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/schema"
)

// rebuilt inserts stacks into another store by their ids, locations and records, and returns them from there.
func rebuilt(t fataler, s *StackSums) *Stacks {
	ids, err := s.IDs(ctx)
	if err != nil {
		t.Fatal(err)
	}
	order := slices.Clone(ids)
	slices.SortFunc(order, func(a, b StackID) int { return slices.Compare(a[:], b[:]) }) // another order than the store's
	located, err := s.Locate(ctx, order, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	b := schema.Batch{Rows: len(ids), Records: map[uuid.UUID][]byte{}, Columns: map[string]encoding.Vector{}}
	for _, name := range []string{ColumnSampleType, ColumnSampleUnit, ColumnPeriodType, ColumnPeriodUnit} {
		b.Columns[name] = encoding.Strings("any")
	}
	for _, name := range []string{ColumnDuration, ColumnPeriod} {
		b.Columns[name] = encoding.Int64s(0)
	}
	for i, id := range located.IDs {
		if b.Records[id] = located.Records[i]; len(located.Records[i]) == 0 {
			delete(b.Records, id)
		}
	}
	sums := make([]int64, len(ids)) // over all sources
	for _, of := range s.Sources {
		for i, at := range of.Stacks {
			sums[at] += of.Values[i]
		}
	}
	var lists [][]uuid.UUID
	var values []int64
	for i, stack := range located.Stacks {
		list := []uuid.UUID{}
		for _, at := range stack {
			list = append(list, located.IDs[at])
		}
		if StackIDOf(list) != order[i] {
			t.Fatal("stack", i, "has the id", StackIDOf(list), "want", order[i])
		}
		lists, values = append(lists, list), append(values, sums[slices.Index(ids, order[i])])
	}
	b.Columns[ColumnStacktrace], b.Columns[ColumnValue] = encoding.UUIDLists(lists...), encoding.Int64s(values...)
	b.Columns[ColumnTimestamp] = encoding.Int64s(time.Now().UnixNano())
	db := openDB(t, Options{})
	defer db.store.Close()
	if len(ids) > 0 {
		if _, err := db.Table().Insert(ctx, b); err != nil {
			t.Fatal(err)
		}
	}
	snap, err := db.store.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Close()
	out, err := db.Merge(ctx, snap, Type{"any", "any", "any", "any"}, Query{})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Stacks that another store gets by their ids, their locations and records are the same there, over any number of generations, and
// two stacks of an answer never have one id.
func TestStackIDs_Elsewhere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		db, _, snap := drawSnapshot(t, 1, 8)
		defer db.store.Close()
		defer snap.Close()
		q, typ := drawQuery(t), oracleTypes[rapid.IntRange(0, 1).Draw(t, "type")]
		q.Hide, q.Show, q.SumKinds, q.MaxBytes = nil, nil, true, 0
		want, err := db.Merge(ctx, snap, typ, q)
		if err != nil {
			t.Fatal(err)
		}
		sums, err := db.MergeSources(ctx, snap, typ, q)
		if err != nil {
			t.Fatal(err)
		}
		if got := rebuilt(t, sums); got.Len() != want.Len() || !maps.Equal(stackSums(got), stackSums(want)) {
			t.Fatalf("%d stacks %v, want %d %v", got.Len(), stackSums(got), want.Len(), stackSums(want))
		}
	})
}

// The sums by source are those of the profiles by source.
func TestMergeSources(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		db, _, snap := drawSnapshot(t, 1, 8)
		defer db.store.Close()
		defer snap.Close()
		q, typ := drawQuery(t), oracleTypes[1]
		q.Hide, q.Show, q.SumKinds, q.MaxBytes, q.NoSampleLabels = nil, nil, true, 0, true
		profiles, err := db.SourceProfiles(ctx, snap, q, typ)
		if err != nil {
			t.Fatal(err)
		}
		sums, err := db.MergeSources(ctx, snap, typ, q)
		if err != nil || len(sums.Sources) != len(profiles) {
			t.Fatalf("%d sources, want %d: %v", len(sums.Sources), len(profiles), err)
		}
		for _, want := range profiles {
			i := slices.IndexFunc(sums.Sources, func(s SourceSums) bool { return labelsKey(s.Labels) == labelsKey(want.Labels) })
			if i < 0 || sums.Sources[i].Times != want.Times {
				t.Fatalf("%v at %d times: source %d of %v", want.Labels, want.Times, i, sums.Sources)
			}
			total, stacks := int64(0), 0
			if want.Profile != nil {
				stacks = len(want.Profile.Sample)
				for _, s := range want.Profile.Sample {
					total += s.Value[0]
				}
			}
			for _, value := range sums.Sources[i].Values {
				total -= value
			}
			if n := len(sums.Sources[i].Stacks); total != 0 || n != stacks {
				t.Fatalf("%v: %d stacks, want %d; the sum is %d too low", want.Labels, n, stacks, total)
			}
		}
	})
}

// An address without names has the id and the record of a location with the names that the database has for it now, as a program that named
// it itself would have sent it.
func TestStackIDs_Names(t *testing.T) {
	var on atomic.Bool
	_, db := openNamed(t, &on)
	if _, err := db.Insert(ctx, bareProfile(time.Now()), InsertOptions{}); err != nil {
		t.Fatal(err)
	}
	merged := func() *StackSums {
		snap, err := db.store.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		defer snap.Close()
		s, err := db.MergeSources(ctx, snap, Type{"cpu", "nanoseconds", "cpu", "nanoseconds"}, Query{})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	bare := merged()
	before, err := bare.IDs(ctx)
	if err != nil {
		t.Fatal(err)
	}
	on.Store(true)
	named := merged()
	after, err := named.IDs(ctx)
	if err != nil || len(after) != 1 || after[0] == before[0] {
		t.Errorf("ids %x, before %x: %v", after, before, err)
	}
	got := rebuilt(t, named)
	if want := map[string]int64{"shop::sell serve loop main": 5}; !maps.Equal(stackSums(got), want) {
		t.Errorf("%v, want %v", stackSums(got), want)
	}
	if found, err := got.Search(ctx, regexp.MustCompile("^shop::sell")); err != nil || found.Len() != 1 {
		t.Errorf("%d stacks of a name, want 1: %v", found.Len(), err)
	}
}

// Locate leaves out what it does not find, and ends at its bound and with its context.
func TestLocate_Bounds(t *testing.T) {
	db := openDB(t, Options{})
	defer db.store.Close()
	if _, err := db.Insert(ctx, bareProfile(time.Now()), InsertOptions{}); err != nil {
		t.Fatal(err)
	}
	snap, err := db.store.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Close()
	s, err := db.MergeSources(ctx, snap, Type{"cpu", "nanoseconds", "cpu", "nanoseconds"}, Query{})
	if err != nil {
		t.Fatal(err)
	}
	ids, err := s.IDs(ctx)
	if err != nil {
		t.Fatal(err)
	}
	l, err := s.Locate(ctx, []StackID{{1}, ids[0], {2}}, 1<<20)
	if err != nil || l.Stacks[0] != nil || len(l.Stacks[1]) != 3 || l.Stacks[2] != nil || len(l.IDs) != 3 {
		t.Errorf("%+v, %v", l, err)
	}
	if _, err := s.Locate(ctx, ids, 100); !errors.Is(err, columnstore.ErrQueryMemory) {
		t.Errorf("within 100 bytes: %v", err)
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := s.Locate(ended, ids, 1<<20); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end: %v", err)
	}
	if _, err := s.IDs(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("ids after the end: %v", err)
	}
}
