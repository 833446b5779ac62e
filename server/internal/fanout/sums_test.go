package fanout

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"
	"github.com/google/uuid"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
)

// nodeStacks returns the stacks of a store with a profile of some functions, of which each begins a stack of the ones behind it.
func nodeStacks(t testing.TB, functions ...string) *profile.Stacks {
	t.Helper()
	store, err := columnstore.Open(columnstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	db, err := profile.Open(store, profile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	of := &pprof.ValueType{Type: "cpu", Unit: "nanoseconds"}
	p := &pprof.Profile{SampleType: []*pprof.ValueType{of}, PeriodType: of, TimeNanos: time.Now().UnixNano()}
	for i, name := range functions {
		f := &pprof.Function{ID: uint64(i + 1), Name: name}
		p.Function = append(p.Function, f)
		p.Location = append(p.Location, &pprof.Location{ID: uint64(i + 1), Line: []pprof.Line{{Function: f}}})
	}
	for i := range functions {
		p.Sample = append(p.Sample, &pprof.Sample{Location: p.Location[i:], Value: []int64{int64(i)*7 - 5}})
	}
	if _, err := db.Insert(context.Background(), p, profile.InsertOptions{}); err != nil {
		t.Fatal(err)
	}
	snap, err := store.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Close()
	s, err := db.Merge(context.Background(), snap, cpuType, profile.Query{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var cpuType = profile.Type{Sample: "cpu", SampleUnit: "nanoseconds", Period: "cpu", PeriodUnit: "nanoseconds"}

// sumsOf returns the values of a node's answer by source and stack.
func sumsOf(s *stackSums) map[string]map[profile.StackID]int64 {
	all := map[string]map[profile.StackID]int64{}
	for _, of := range s.sources {
		own := map[profile.StackID]int64{}
		for i, at := range of.stacks {
			own[s.ids[at]] += of.values[i]
		}
		all[LabelsKey(of.labels)] = own
	}
	return all
}

// Sums are decoded as they were encoded, and each cut or longer answer is an error.
func TestSums(t *testing.T) {
	a, b := nodeStacks(t, "f", "g", "h"), nodeStacks(t, "x", "g", "h")
	sources := []profile.SourceStacks{
		{Labels: []profile.Label{{Name: "pod", Value: "a"}}, Times: 3, Stacks: a},
		{Labels: []profile.Label{{Name: "pod", Value: "b"}, {Name: "zone", Value: ""}}, Times: mostTimes, Stacks: b},
		{Times: 1},
	}
	for _, sources := range [][]profile.SourceStacks{nil, sources, {{Stacks: a}}} {
		data, err := EncodeSums(context.Background(), sources)
		if err != nil {
			t.Fatal(err)
		}
		got, err := decodeSums(data)
		if err != nil || len(got.sources) != len(sources) {
			t.Fatalf("%d sources, want %d: %v", len(got.sources), len(sources), err)
		}
		sums := sumsOf(&got)
		for i, s := range sources {
			if of := got.sources[i]; of.times != s.Times || len(of.labels) != len(s.Labels) {
				t.Errorf("source %v, want %v at %d times", of, s.Labels, s.Times)
			}
			own := sums[LabelsKey(LabelPairs(s.Labels))]
			if s.Stacks == nil {
				continue
			}
			ids, err := s.Stacks.IDs(context.Background())
			if err != nil || len(own) != len(ids) {
				t.Fatalf("%d sums of %d stacks: %v", len(own), len(ids), err)
			}
			for k, id := range ids {
				if own[id] != s.Stacks.Values()[k] {
					t.Errorf("stack %x: %d, want %d", id, own[id], s.Stacks.Values()[k])
				}
			}
		}
		for i := range data {
			if _, err := decodeSums(data[:i]); !errors.Is(err, errAnswer) {
				t.Errorf("the first %d of %d bytes: %v", i, len(data), err)
			}
		}
		if _, err := decodeSums(append(data, 0)); !errors.Is(err, errAnswer) {
			t.Errorf("a byte more: %v", err)
		}
	}
}

// wantedOf returns stacks, as a node's answer about them, and their ids.
func wantedOf(t testing.TB, functions ...string) ([]profile.StackID, *profile.StackLocations) {
	t.Helper()
	s := nodeStacks(t, functions...)
	ids, err := s.IDs(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	l, err := s.Locate(context.Background(), ids, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	return ids, l
}

// A node's answer has the wanted stacks: others, too few and malformed locations are errors that say so.
func TestLocated(t *testing.T) {
	ids, l := wantedOf(t, "f", "g", "h")
	data := EncodeLocated(l)
	got, err := decodeLocated(data, ids)
	if err != nil || !slices.Equal(got.IDs, l.IDs) || !slices.EqualFunc(got.Stacks, l.Stacks, slices.Equal) || !slices.EqualFunc(got.Records, l.Records, bytes.Equal) {
		t.Fatalf("%+v, want %+v: %v", got, l, err)
	}
	for i := range data {
		if _, err := decodeLocated(data[:i], ids); !errors.Is(err, errAnswer) {
			t.Errorf("the first %d of %d bytes: %v", i, len(data), err)
		}
	}
	swapped := slices.Clone(ids)
	swapped[0], swapped[1] = swapped[1], swapped[0]
	for name, c := range map[string]struct {
		edit   func(*profile.StackLocations)
		wanted []profile.StackID
		says   string
	}{
		"others":         {func(*profile.StackLocations) {}, swapped, "has other locations"},
		"fewer":          {func(*profile.StackLocations) {}, ids[:1], "3 stacks of 1"},
		"none":           {func(l *profile.StackLocations) { l.Stacks[1] = nil }, ids, "has -1 locations"},
		"a record":       {func(l *profile.StackLocations) { l.Records[0] = []byte("x") }, ids, "malformed location record"},
		"another id":     {func(l *profile.StackLocations) { l.IDs[0] = uuid.UUID{1} }, ids, "has other locations"},
		"no location":    {func(l *profile.StackLocations) { l.Stacks[0] = []uint32{9} }, ids, "location"},
		"another length": {func(l *profile.StackLocations) { l.Stacks[0] = l.Stacks[0][:0] }, ids, "has other locations"},
	} {
		edited := &profile.StackLocations{IDs: slices.Clone(l.IDs), Records: slices.Clone(l.Records), Stacks: slices.Clone(l.Stacks)}
		c.edit(edited)
		if _, err := decodeLocated(EncodeLocated(edited), c.wanted); !errors.Is(err, errAnswer) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
	}
}

// FuzzSums decodes what nodes and fronts could send.
func FuzzSums(f *testing.F) {
	ids, l := wantedOf(f, "f", "g")
	f.Add(EncodeLocated(l))
	for _, sources := range [][]profile.SourceStacks{{{Stacks: nodeStacks(f, "f", "g")}}, {{Times: 2, Labels: []profile.Label{{Name: "a", Value: "b"}}}}} {
		data, err := EncodeSums(context.Background(), sources)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add((&StackQuestion{Message: []byte("message"), Wanted: ids}).Encode())
	f.Fuzz(func(t *testing.T, data []byte) {
		if sums, err := decodeSums(data); err == nil {
			_ = sumsOf(&sums)
		}
		if got, err := decodeLocated(data, ids); err == nil && len(got.Stacks) != len(ids) {
			t.Errorf("%d stacks of %d", len(got.Stacks), len(ids))
		}
		if q, err := DecodeStackQuestion(data); err == nil && !bytes.Equal(q.Encode(), data) {
			t.Errorf("%x encoded again is %x", data, q.Encode())
		}
	})
}
