package profile

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	pprof "github.com/google/pprof/profile"
	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/schema"
)

// P5: small profiles that would expand to gigabytes are refused before anything
// is made of them.
func TestAmplification(t *testing.T) {
	long := strings.Repeat("x", 60_000)
	many := func(n int, sample func(i int) *pprof.Sample) *pprof.Profile {
		p := makeProfile(start, "n:count", stack{frames: "f", values: []int64{1}})
		p.Sample = nil
		for i := range n {
			s := sample(i)
			s.Value = []int64{1}
			if s.Location == nil {
				s.Location = p.Location[:1]
			}
			p.Sample = append(p.Sample, s)
		}
		return p
	}
	deep := make([]*pprof.Location, 16_000)
	for _, tc := range []struct {
		name string
		make func() *pprof.Profile
	}{
		{"one long name on many lines", func() *pprof.Profile {
			p := many(1, func(int) *pprof.Sample { return &pprof.Sample{} })
			p.Function[0].Name = long
			for range 200_000 {
				p.Location[0].Line = append(p.Location[0].Line, pprof.Line{Function: p.Function[0]})
			}
			return p
		}},
		{"a label of its own for each sample", func() *pprof.Profile {
			return many(40_000, func(i int) *pprof.Sample {
				return &pprof.Sample{Label: map[string][]string{fmt.Sprint("k", i): {"v"}}}
			})
		}},
		{"a long label on each sample", func() *pprof.Profile {
			return many(200_000, func(int) *pprof.Sample { return &pprof.Sample{Label: map[string][]string{"k": {long}}} })
		}},
		{"many values of one label", func() *pprof.Profile {
			return many(1, func(int) *pprof.Sample {
				return &pprof.Sample{NumLabel: map[string][]int64{"k": make([]int64, maxValues+1)}}
			})
		}},
		{"deep stacks", func() *pprof.Profile {
			p := many(3_900, func(int) *pprof.Sample { return &pprof.Sample{Location: deep} })
			for i := range deep {
				deep[i] = p.Location[0]
			}
			return p
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			db := testDB(t, Options{})
			p := tc.make()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := db.Insert(ctx, p, InsertOptions{})
			runtime.ReadMemStats(&after)
			if !errors.Is(err, ErrTooLarge) {
				t.Errorf("error %v, want %v", err, ErrTooLarge)
			}
			if used := after.TotalAlloc - before.TotalAlloc; used > 64<<20 {
				t.Errorf("to refuse it took %d MiB", used>>20)
			}
		})
	}
	for _, p := range []*pprof.Profile{nil, {SampleType: []*pprof.ValueType{nil}}} {
		if _, err := testDB(t, Options{}).Insert(ctx, p, InsertOptions{}); !errors.Is(err, ErrProfile) {
			t.Errorf("nil: %v", err)
		}
	}
}

// Rows that this package did not make can have any names of columns.
func TestProfileOfOddColumns(t *testing.T) {
	db := testDB(t, Options{})
	columns := map[string]encoding.Vector{
		ColumnSampleType: encoding.Strings("n"), ColumnSampleUnit: encoding.Strings("count"),
		ColumnPeriodType: encoding.Strings("cpu"), ColumnPeriodUnit: encoding.Strings("nanoseconds"),
		ColumnStacktrace: encoding.UUIDLists([]uuid.UUID{{1}}), ColumnTimestamp: encoding.Int64s(start),
		ColumnDuration: encoding.Int64s(1), ColumnPeriod: encoding.Int64s(1), ColumnValue: encoding.Int64s(7),
	}
	want := map[string][]int64{}
	for i, name := range []string{"x]", "]", "x#9223372036854775807", "x#30000000000", "x#0", "#", "[", "x#257"} {
		columns[ColumnPprofNumLabels+"."+name] = encoding.Int64s(int64(i))
		want[name] = []int64{int64(i)}
	}
	if _, err := db.Table().Insert(ctx, schema.Batch{Rows: 1, Columns: columns}); err != nil {
		t.Fatal(err)
	}
	p, err := db.Profile(ctx, view(t, db), Query{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, p.Sample[0].NumLabel); diff != "" {
		t.Error(diff)
	}
}

// P1: labels whose printed forms look alike stay apart.
func TestLabelsThatLookAlike(t *testing.T) {
	db := testDB(t, Options{})
	p := makeProfile(start, "n:count", stack{frames: "f", values: []int64{5}}, stack{frames: "f", values: []int64{7}})
	p.Sample[0].NumLabel = map[string][]int64{"a": {1}, "b": {2}}
	p.Sample[1].NumLabel = map[string][]int64{"a:[1] b": {2}}
	insert(t, db, p)
	got, err := db.Profile(ctx, view(t, db), Query{})
	if err != nil || len(got.Sample) != 2 {
		t.Errorf("%d samples, %v; want 2", len(got.Sample), err)
	}
}

// A snapshot answers the same about types after other kinds were inserted.
func TestTypesOfSnapshotStay(t *testing.T) {
	db := testDB(t, Options{})
	insert(t, db, makeProfile(start, "a:count", stack{frames: "f", values: []int64{1}}))
	snap := view(t, db)
	want, err := db.Types(ctx, snap)
	if err != nil {
		t.Fatal(err)
	}
	insert(t, db, makeProfile(start, "b:count", stack{frames: "f", values: []int64{1}}))
	got, err := db.Types(ctx, snap)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	if _, err := db.FindType(ctx, snap, "b"); !errors.Is(err, ErrUnknownType) {
		t.Errorf("a type of later: %v", err)
	}
}
