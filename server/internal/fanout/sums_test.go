package fanout

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"runtime"
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
func nodeStacks(t testing.TB, typ profile.Type, functions ...string) *profile.StackSums {
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
	of := &pprof.ValueType{Type: typ.Sample, Unit: typ.SampleUnit}
	p := &pprof.Profile{SampleType: []*pprof.ValueType{of}, PeriodType: &pprof.ValueType{Type: typ.Period, Unit: typ.PeriodUnit}, TimeNanos: time.Now().UnixNano()}
	for i, name := range functions {
		f := &pprof.Function{ID: uint64(i + 1), Name: name}
		p.Function = append(p.Function, f)
		p.Location = append(p.Location, &pprof.Location{ID: uint64(i + 1), Line: []pprof.Line{{Function: f}}})
	}
	for i := range functions {
		p.Sample = append(p.Sample, &pprof.Sample{Location: p.Location[i:], Value: []int64{int64(i)*7 - 5}})
	}
	for i, pod := range []string{"a", "b"} { // which have all stacks, and all but the last
		p.Sample = p.Sample[:len(functions)-i]
		if _, err := db.Insert(context.Background(), p, profile.InsertOptions{Labels: map[string]string{"pod": pod}}); err != nil {
			t.Fatal(err)
		}
	}
	snap, err := store.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Close()
	s, err := db.MergeSources(context.Background(), snap, typ, profile.Query{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var (
	cpuType  = profile.Type{Sample: "cpu", SampleUnit: "nanoseconds", Period: "cpu", PeriodUnit: "nanoseconds"}
	heapType = profile.Type{Sample: "inuse_space", SampleUnit: "bytes", Period: "space", PeriodUnit: "bytes"}
)

// decoded decodes sums with room for all.
func decoded(data []byte) (stackSums, error) {
	left := int64(1 << 40)
	return decodeSums(data, &left)
}

// Sums are decoded as they were encoded, and each cut or longer answer is an error.
func TestSums(t *testing.T) {
	for typ, sources := range map[profile.Type]int{cpuType: 1, heapType: 2} {
		sums := nodeStacks(t, typ, "f", "g", "h")
		data, err := EncodeSums(context.Background(), sums)
		if err != nil {
			t.Fatal(err)
		}
		ids, err := sums.IDs(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		got, err := decoded(data)
		if err != nil || len(got.sources) != sources || !slices.Equal(got.ids, ids) || len(ids) != 3 {
			t.Fatalf("%d sources, want %d, with the ids %x, want %x: %v", len(got.sources), sources, got.ids, ids, err)
		}
		for i, want := range sums.Sources {
			s := got.sources[i]
			if LabelsKey(s.labels) != LabelsKey(LabelPairs(want.Labels)) || s.times != want.Times || !slices.Equal(s.stacks, want.Stacks) || !slices.Equal(s.values, want.Values) {
				t.Errorf("source %+v, want %+v", s, want)
			}
		}
		for i := range data {
			if _, err := decoded(data[:i]); !errors.Is(err, errAnswer) {
				t.Errorf("the first %d of %d bytes: %v", i, len(data), err)
			}
		}
		if _, err := decoded(append(data, 0)); !errors.Is(err, errAnswer) {
			t.Errorf("a byte more: %v", err)
		}
	}
}

// Sums of few bytes that would take many in memory are an error before they take them.
func TestSums_Bombs(t *testing.T) {
	const n = 1 << 20
	head := func(counts ...uint64) (data []byte) {
		for _, c := range counts {
			data = binary.AppendUvarint(data, c)
		}
		return data
	}
	for name, data := range map[string][]byte{
		"sources": append(head(0, n), make([]byte, 3*n)...),
		"labels":  append(head(0, 1, n), make([]byte, 2*n+2)...),
		"sums":    append(head(0, 1, 0, 0, n), make([]byte, 2*n)...),
		"ids":     append(head(n), make([]byte, 16*n+1)...),
	} {
		left := int64(16 << 20)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := decodeSums(data, &left)
		runtime.ReadMemStats(&after)
		if taken := after.TotalAlloc - before.TotalAlloc; !errors.Is(err, columnstore.ErrQueryMemory) || taken > 20<<20 {
			t.Errorf("%s: %v, after %d bytes", name, err, taken)
		}
	}
}

// wantedOf returns stacks, as a node's answer about them, and their ids.
func wantedOf(t testing.TB, functions ...string) ([]profile.StackID, *profile.StackLocations) {
	t.Helper()
	s := nodeStacks(t, cpuType, functions...)
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
	for _, typ := range []profile.Type{cpuType, heapType} {
		data, err := EncodeSums(context.Background(), nodeStacks(f, typ, "f", "g"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add((&StackQuestion{Message: []byte("message"), Wanted: ids}).Encode())
	f.Fuzz(func(t *testing.T, data []byte) {
		if sums, err := decoded(data); err == nil {
			for _, s := range sums.sources {
				if len(s.stacks) != len(s.values) || len(s.stacks) > 0 && int(slices.Max(s.stacks)) >= len(sums.ids) {
					t.Errorf("%d stacks with %d values of %d ids", len(s.stacks), len(s.values), len(sums.ids))
				}
			}
		}
		if got, err := decodeLocated(data, ids); err == nil && len(got.Stacks) != len(ids) {
			t.Errorf("%d stacks of %d", len(got.Stacks), len(ids))
		}
		if q, err := DecodeStackQuestion(data); err == nil && !bytes.Equal(q.Encode(), data) {
			t.Errorf("%x encoded again is %x", data, q.Encode())
		}
	})
}
