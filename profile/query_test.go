package profile

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	pprof "github.com/google/pprof/profile"
	"github.com/google/uuid"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/schema"
)

var (
	ctx      = context.Background()
	cpuCount = Type{"n", "count", "cpu", "nanoseconds"} // of makeProfile("n:count")
)

func TestTypes(t *testing.T) {
	db := testDB(t, Options{})
	if types, err := db.Types(ctx, view(t, db)); err != nil || len(types) != 0 {
		t.Errorf("of an empty store: %v, %v", types, err)
	}
	insert(t, db, makeProfile(start, "z:count a:bytes", stack{frames: "f", values: []int64{0, 1}}))
	heap := makeProfile(start, "objects:count space:bytes", stack{frames: "f", values: []int64{0, 0}})
	heap.PeriodType = &pprof.ValueType{Type: "space", Unit: "bytes"}
	heap.DefaultSampleType = "objects"
	insert(t, db, heap) // only zeros: no rows, but types
	insert(t, db, makeProfile(start, "z:count a:bytes", stack{frames: "f", values: []int64{3, 1}}), "job", "other")
	noPeriod := makeProfile(start, "m:count", stack{frames: "f", values: []int64{3}})
	noPeriod.PeriodType = nil
	insert(t, db, noPeriod)
	want := []Type{
		{"z", "count", "cpu", "nanoseconds"},
		{"a", "bytes", "cpu", "nanoseconds"},
		{"m", "count", "", ""},
		{"objects", "count", "space", "bytes"},
		{"space", "bytes", "space", "bytes"},
	}
	got, err := db.Types(ctx, view(t, db))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("types with rows first, in the order of their profiles: -want +got\n%s", diff)
	}
	wantLists := []typeList{{want[:2], 1, false}, {want[3:], 0, true}, {want[2:3], 0, false}}
	lists, err := db.typeLists(view(t, db))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wantLists, lists.all); diff != "" {
		t.Errorf("lists: %s", diff)
	}
	if got := want[1].String(); got != "a:bytes:cpu:nanoseconds" {
		t.Errorf("String: %s", got)
	}
}

func TestFindType(t *testing.T) {
	db := testDB(t, Options{})
	if _, err := db.FindType(ctx, view(t, db), ""); !errors.Is(err, ErrUnknownType) || !strings.Contains(err.Error(), "there are no profiles") {
		t.Errorf("in an empty store: %v", err)
	}
	unnamed := makeProfile(start, ":", stack{frames: "f", values: []int64{1}})
	insert(t, db, unnamed)
	if typ, err := db.FindType(ctx, view(t, db), ""); err != nil || typ != (Type{"", "", "cpu", "nanoseconds"}) {
		t.Errorf("where no type has a name: %v, %v", typ, err)
	}
	withDefault := makeProfile(start, "samples:count cpu:nanoseconds", stack{frames: "f", values: []int64{1, 2}})
	withDefault.DefaultSampleType = "samples"
	insert(t, db, withDefault)
	insert(t, db, makeProfile(start, "cpu:count x:count", stack{frames: "f", values: []int64{1, 2}}))
	for _, tc := range []struct {
		name, want string
		err        error
	}{
		{"", "samples:count:cpu:nanoseconds", nil}, // the first with a name
		{"samples", "samples:count:cpu:nanoseconds", nil},
		{"x", "x:count:cpu:nanoseconds", nil},
		{"cpu", "", ErrAmbiguousType},
		{"cpu:count", "cpu:count:cpu:nanoseconds", nil},
		{"cpu:nanoseconds", "cpu:nanoseconds:cpu:nanoseconds", nil},
		{"cpu:count:cpu:nanoseconds", "cpu:count:cpu:nanoseconds", nil},
		{"cpu:count:cpu", "", ErrUnknownType},
		{"CPU", "", ErrUnknownType},
		{"nothing", "", ErrUnknownType},
	} {
		got, err := db.FindType(ctx, view(t, db), tc.name)
		if !errors.Is(err, tc.err) || err == nil && got.String() != tc.want {
			t.Errorf("%q: %v, %v; want %s, %v", tc.name, got, err, tc.want, tc.err)
		}
		if err != nil && !strings.Contains(err.Error(), "cpu") { // the choices
			t.Errorf("%q: %v", tc.name, err)
		}
	}
}

// From is inclusive and To exclusive. Zero means no bound. Times before 1970 are valid.
func TestQueryTimes(t *testing.T) {
	db := testDB(t, Options{})
	times := []int64{-int64(48 * time.Hour), -1, 1, start, start + 1, start + int64(24*time.Hour)}
	for i, at := range times {
		insert(t, db, makeProfile(at, "n:count", stack{frames: "f", values: []int64{1 << i}}))
	}
	bounds := append([]int64{math.MinInt64, 0, start + 2, math.MaxInt64}, times...)
	for _, when := range []string{"fresh", "compacted"} {
		for _, from := range bounds {
			for _, to := range bounds {
				var want int64
				for i, at := range times {
					if (from == 0 || at >= from) && (to == 0 || at < to) {
						want |= 1 << i
					}
				}
				got, err := db.Merge(ctx, view(t, db), cpuCount, Query{From: from, To: to})
				if err != nil || got.Total != want {
					t.Fatalf("%s: from %d to %d: %b, %v; want %b", when, from, to, got.Total, err, want)
				}
			}
		}
		if err := db.store.Compact(ctx); err != nil {
			t.Fatal(err)
		}
	}
}

// A snapshot gives the same answers after inserts and compactions.
func TestMergeOfOldSnapshot(t *testing.T) {
	db := testDB(t, Options{})
	empty := view(t, db)
	insert(t, db, makeProfile(start, "n:count", stack{frames: "f", values: []int64{1}}))
	one := view(t, db)
	for i := range 40 {
		insert(t, db, makeProfile(start+int64(i), "n:count", stack{frames: "f g", values: []int64{1}}))
	}
	if err := db.store.Compact(ctx); err != nil {
		t.Fatal(err)
	}
	for snap, want := range map[*columnstore.Snapshot]int64{empty: 0, one: 1, view(t, db): 41} {
		if got, err := db.Merge(ctx, snap, cpuCount, Query{}); err != nil || got.Total != want {
			t.Errorf("total %d, %v; want %d", got.Total, err, want)
		}
	}
}

// Every question on a closed snapshot, with a cancelled context, or on another store returns
// an error.
func TestQueryErrors(t *testing.T) {
	db, other := testDB(t, Options{}), testDB(t, Options{})
	insert(t, db, makeProfile(start, "n:count", stack{frames: "f", values: []int64{1}}))
	closed := view(t, db)
	closed.Close()
	canceled, cancel := context.WithCancel(ctx)
	cancel()
	for _, tc := range []struct {
		name string
		ctx  context.Context
		snap *columnstore.Snapshot
		want error
	}{
		{"closed", ctx, closed, columnstore.ErrSnapshotClosed},
		{"canceled", canceled, view(t, db), context.Canceled},
		{"of another store", ctx, view(t, other), columnstore.ErrTable},
	} {
		_, mergeErr := db.Merge(tc.ctx, tc.snap, cpuCount, Query{})
		_, profileErr := db.Profile(tc.ctx, tc.snap, Query{})
		_, rangeErr := db.Range(tc.ctx, tc.snap, cpuCount, Query{}, RangeOptions{Step: time.Second})
		_, typesErr := db.Types(tc.ctx, tc.snap)
		_, findErr := db.FindType(tc.ctx, tc.snap, "n")
		headerErr := db.plan(tc.ctx, tc.snap, Query{}).addHeader(tc.ctx, &pprof.Profile{})
		_, groupErr := db.MergeBy(tc.ctx, tc.snap, cpuCount, Query{})
		_, profilesErr := db.Profiles(tc.ctx, tc.snap, cpuCount, Query{})
		_, namesErr := db.LabelNames(tc.ctx, tc.snap, Query{})
		_, valuesErr := db.LabelValues(tc.ctx, tc.snap, "job", Query{})
		_, idsErr := db.LabelValues(tc.ctx, tc.snap, "trace_id", Query{})
		_, seriesErr := db.Series(tc.ctx, tc.snap, Query{})
		_, hasErr := db.plan(tc.ctx, tc.snap, Query{}).hasValue(tc.ctx, ColumnTraceID)
		_, defaultErr := db.DefaultType(tc.ctx, tc.snap, Query{})
		exact := Query{Exact: true, From: start + 1, To: start + int64(time.Hour)}
		_, exactNamesErr := db.LabelNames(tc.ctx, tc.snap, exact)
		_, exactValuesErr := db.LabelValues(tc.ctx, tc.snap, "job", exact)
		_, exactSeriesErr := db.Series(tc.ctx, tc.snap, exact)
		for i, err := range []error{
			mergeErr, profileErr, rangeErr, typesErr, findErr, headerErr, groupErr, profilesErr, namesErr, valuesErr, idsErr, seriesErr, hasErr, defaultErr,
			exactNamesErr, exactValuesErr, exactSeriesErr,
		} {
			if !errors.Is(err, tc.want) {
				t.Errorf("%s: error %d is %v, want %v", tc.name, i, err, tc.want)
			}
		}
	}
}

// Rows that were not inserted by Insert can have no records, or invalid ones.
func TestRowsFromElsewhere(t *testing.T) {
	rows := func(record []byte) schema.Batch {
		id := uuid.UUID{1}
		return schema.Batch{Rows: 1, Records: map[uuid.UUID][]byte{id: record}, Columns: map[string]encoding.Vector{
			ColumnSampleType: encoding.Strings("n"), ColumnSampleUnit: encoding.Strings("count"),
			ColumnPeriodType: encoding.Strings("cpu"), ColumnPeriodUnit: encoding.Strings("nanoseconds"),
			ColumnStacktrace: encoding.UUIDLists([]uuid.UUID{id}), ColumnTimestamp: encoding.Int64s(start),
			ColumnDuration: encoding.Int64s(1), ColumnPeriod: encoding.Int64s(1), ColumnValue: encoding.Int64s(7),
		}}
	}
	noFunction, _ := locationRecord(nil, &pprof.Location{Line: []pprof.Line{{Line: 3}}}, nil)
	for _, tc := range []struct {
		name   string
		record []byte
		want   []Function
	}{
		{"no record", nil, []Function{{"<unknown>", 7, 7}}},
		{"line without a function", noFunction, []Function{{"<unknown>", 7, 7}}},
		{"no record at all", []byte("no record at all"), []Function{{"<unknown>", 7, 7}}},
	} {
		db := testDB(t, Options{})
		if _, err := db.Table().Insert(ctx, rows(tc.record)); err != nil {
			t.Fatal(err)
		}
		snap := view(t, db)
		stacks, err := db.Merge(ctx, snap, cpuCount, Query{})
		if err != nil {
			t.Fatalf("%s: %v", tc.name, err)
		}
		p, err := db.Profile(ctx, snap, Query{})
		if err != nil {
			t.Fatalf("%s: Profile: %v", tc.name, err)
		}
		if diff := cmp.Diff(tc.want, stacks.Top()); diff != "" {
			t.Errorf("%s: %s", tc.name, diff)
		}
		if len(p.Sample) != 1 || p.Sample[0].Value[0] != 7 || len(p.SampleType) != 1 {
			t.Errorf("%s: %v", tc.name, p)
		}
		// Types that exist only in rows come last, and are found.
		if typ, err := db.FindType(ctx, snap, "n"); err != nil || typ != cpuCount {
			t.Errorf("%s: %v, %v", tc.name, typ, err)
		}
		insert(t, db, makeProfile(start, "b:count", stack{frames: "f", values: []int64{1}}))
		if types, err := db.Types(ctx, view(t, db)); err != nil || len(types) != 2 || types[1] != cpuCount {
			t.Errorf("%s: %v, %v", tc.name, types, err)
		}
	}
}

// Trace and span ids are found in their columns, and in either case. Text in another form is
// found as text.
func TestSelectorOfIDs(t *testing.T) {
	const trace, span = "0af7651916cd43dd8448eb211c80319c", "00f067aa0ba902b7"
	const mixed = "0AF7651916cd43dd8448eb211c80319c"
	db := testDB(t, Options{})
	sample := func(bit int, labels map[string][]string) stack {
		return stack{frames: "f", values: []int64{1 << bit}, labels: labels}
	}
	insert(t, db, makeProfile(start, "n:count",
		sample(0, map[string][]string{"trace_id": {trace}, "span_id": {span}}),
		sample(1, map[string][]string{"trace_id": {strings.ToUpper(trace)}, "span_id": {"7"}}),
		sample(2, map[string][]string{"trace_id": {strings.Repeat("0", 32)}, "span_id": {strings.Repeat("0", 16)}}),
		sample(3, map[string][]string{"trace_id": {trace, "second"}}),
		sample(4, nil),
		sample(6, map[string][]string{"trace_id": {mixed}})))
	insert(t, db, makeProfile(start, "n:count", sample(7, nil)), "trace_id", strings.ToUpper(trace))
	insert(t, db, makeProfile(start, "n:count", sample(5, map[string][]string{"trace_id": {span}})), "trace_id", trace)
	for text, want := range map[string]int64{
		`{trace_id="` + trace + `"}`:                         0b10101011,
		`{trace_id!="` + trace + `"}`:                        0b01010100,
		`{trace_id="` + strings.ToUpper(trace) + `"}`:        0b10101011,
		`{trace_id!="` + strings.ToUpper(trace) + `"}`:       0b01010100,
		`{trace_id="` + mixed + `"}`:                         0b11101011,
		`{trace_id="` + strings.Repeat("0", 32) + `"}`:       0b000100,
		`{trace_id="` + trace[1:] + `"}`:                     0,
		`{trace_id!="` + trace[1:] + `"}`:                    0b11111111,
		`{trace_id=""}`:                                      0b010000,
		`{trace_id!=""}`:                                     0b11101111,
		`{trace_id=~"` + trace + `|x"}`:                      0b101001,
		`{trace_id!~".+"}`:                                   0b010000,
		`{span_id="` + span + `"}`:                           0b000001,
		`{span_id!="` + span + `"}`:                          0b11111110,
		`{span_id="` + strings.ToUpper(span) + `"}`:          0b000001,
		`{span_id="7"}`:                                      0b000010,
		`{span_id="` + strings.Repeat("0", 16) + `"}`:        0b000100,
		`{span_id="0"}`:                                      0,
		`{span_id=""}`:                                       0b11111000,
		`{span_id=~"0.*"}`:                                   0b000101,
		`{trace_id="` + trace + `", span_id="` + span + `"}`: 0b000001,
	} {
		s, err := ParseSelector(text)
		if err != nil {
			t.Fatal(err)
		}
		for _, when := range []string{"fresh", "compacted"} {
			if got, err := db.Merge(ctx, view(t, db), cpuCount, Query{Selector: s}); err != nil || got.Total != want {
				t.Errorf("%s, %s: %b, %v; want %b", when, text, got.Total, err, want)
			}
			if err := db.store.Compact(ctx); err != nil {
				t.Fatal(err)
			}
		}
	}
	if names, err := db.LabelNames(ctx, view(t, db), Query{}); err != nil || !slices.Equal(names, []string{"span_id", "trace_id"}) {
		t.Errorf("names: %q, %v", names, err)
	}
	values, err := db.LabelValues(ctx, view(t, db), "span_id", Query{})
	if err != nil || !slices.Equal(values, []string{strings.Repeat("0", 16), span, "7"}) {
		t.Errorf("values: %q, %v", values, err)
	}
	if _, err := db.LabelValues(ctx, view(t, db), "", Query{}); !errors.Is(err, columnstore.ErrQuery) {
		t.Errorf("a label without a name: %v", err)
	}
}

// A profile whose type has no name has label names too.
func TestLabelNamesOfNamelessType(t *testing.T) {
	db := testDB(t, Options{})
	if names, err := db.LabelNames(ctx, view(t, db), Query{}); err != nil || len(names) != 0 {
		t.Errorf("of an empty store: %q, %v", names, err)
	}
	p := makeProfile(start, ":", stack{frames: "f", values: []int64{1}, labels: map[string][]string{"k#2": {"v", "w"}}})
	p.PeriodType = nil
	insert(t, db, p)
	if names, err := db.LabelNames(ctx, view(t, db), Query{}); err != nil || !slices.Equal(names, []string{"k#2"}) {
		t.Errorf("%q, %v", names, err)
	}
	if values, err := db.LabelValues(ctx, view(t, db), "k#2", Query{}); err != nil || !slices.Equal(values, []string{"v"}) {
		t.Errorf("%q, %v", values, err)
	}
	if s, err := db.Series(ctx, view(t, db), Query{}); err != nil || len(s) != 1 || s[0].Labels != nil {
		t.Errorf("%v, %v", s, err)
	}
}
