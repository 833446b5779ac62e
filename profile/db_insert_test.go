package profile

import (
	"bytes"
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	pprof "github.com/google/pprof/profile"

	"github.com/granarydb/granary/columnstore"
)

// P2: an insert that is refused in the middle leaves nothing, and the inserts of one
// transaction become visible together.
func TestInsertIsAtomic(t *testing.T) {
	db := testDB(t, Options{})
	ctx := context.Background()
	good := makeProfile(start, "n:count", stack{frames: "a b", values: []int64{1}})
	bad := makeProfile(start+1, "n:count", stack{frames: "a b", values: []int64{2}}, stack{frames: "a", values: []int64{3}, labels: map[string][]string{"": {"v"}}})
	before := view(t, db)
	if _, err := db.Insert(ctx, bad, InsertOptions{Labels: map[string]string{"job": "bad"}}); !errors.Is(err, columnstore.ErrBatch) {
		t.Fatalf("error %v", err)
	}
	if _, err := db.Insert(ctx, good, InsertOptions{Labels: map[string]string{"job\x00": "bad"}}); !errors.Is(err, columnstore.ErrBatch) {
		t.Fatalf("bad label name: error %v", err)
	}
	after := view(t, db)
	if before.Commit() != after.Commit() {
		t.Error("a refused profile was committed")
	}
	if columns, err := db.Table().Columns(after); err != nil || slices.ContainsFunc(columns, func(c string) bool { return strings.Contains(c, ".") }) {
		t.Errorf("a refused profile left columns: %v, %v", columns, err)
	}

	tx := db.Store().Begin()
	for i := range 3 {
		p := makeProfile(start+int64(i)*int64(24*time.Hour), "n:count", stack{frames: "a b", values: []int64{1}})
		if rows, err := db.InsertTx(ctx, tx, p, InsertOptions{}); err != nil || rows != 1 {
			t.Fatalf("%d rows, %v", rows, err)
		}
	}
	if got := db.store.Stats().Rows; got != 0 {
		t.Errorf("%d rows before the commit", got)
	}
	if _, err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if got := db.store.Stats().Rows; got != 3 {
		t.Errorf("%d rows after the commit, want 3", got)
	}
	aborted := db.store.Begin()
	if _, err := db.InsertTx(ctx, aborted, good, InsertOptions{}); err != nil {
		t.Fatal(err)
	}
	aborted.Abort()
	if got := db.store.Stats().Rows; got != 3 {
		t.Errorf("%d rows after an abort, want 3", got)
	}
}

func TestInsertErrors(t *testing.T) {
	db := testDB(t, Options{})
	p := makeProfile(start, "n:count", stack{frames: "a", values: []int64{1}})
	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := db.Insert(canceled, p, InsertOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: error %v", err)
	}
	if _, err := Open(db.store, Options{Bucket: time.Hour}); !errors.Is(err, columnstore.ErrTable) {
		t.Errorf("the same table with other buckets: error %v", err)
	}
	again, err := Open(db.store, Options{})
	if err != nil || again.Table() != db.Table() {
		t.Errorf("a second handle: %v, %v", again, err)
	}
	other, err := Open(db.store, Options{Table: "other"})
	if err != nil {
		t.Fatal(err)
	}
	if other.Table().Name() != "other" || db.Table().Name() != "profiles" {
		t.Errorf("tables %q and %q", other.Table().Name(), db.Table().Name())
	}
	db.store.Close()
	if rows, err := db.Insert(context.Background(), p, InsertOptions{}); !errors.Is(err, columnstore.ErrClosed) || rows != 0 {
		t.Errorf("closed: %d rows, error %v", rows, err)
	}
	if rows, err := db.Insert(context.Background(), &pprof.Profile{}, InsertOptions{}); !errors.Is(err, ErrProfile) || rows != 0 {
		t.Errorf("no types: %d rows, error %v", rows, err)
	}
}

// Insert does not change the caller's profile, and the caller can change it afterwards.
func TestInsertOnlyReads(t *testing.T) {
	db := testDB(t, Options{})
	p := makeProfile(start, "n:count m:count", stack{frames: "a +b c", values: []int64{1, 0}, labels: map[string][]string{"k": {"v"}}})
	before := answerOf(p.Copy())
	insert(t, db, p)
	if diff := cmp.Diff(before, answerOf(p)); diff != "" {
		t.Errorf("Insert changed the profile: %s", diff)
	}
	p.Sample[0].Value[0] = 99
	p.Function[0].Name = "changed"
	p.Sample[0].Label["k"][0] = "changed"
	got, err := db.Profile(context.Background(), view(t, db), Query{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, answerOf(got)); diff != "" {
		t.Errorf("the store shares what it was given: %s", diff)
	}
}

func TestInsertTime(t *testing.T) {
	at := time.Unix(1_700_000_000, 5)
	for _, tc := range []struct {
		name    string
		profile int64
		option  time.Time
		want    int64
		fails   string // with this in the error
	}{
		{"the profile's", start, at, start, ""},
		{"the profile's alone", start, time.Time{}, start, ""},
		{"the option's", 0, at, at.UnixNano(), ""},
		{"1970 by option", 0, time.Unix(0, 0), 0, ""},
		{"none", 0, time.Time{}, 0, "no time, and InsertOptions.Time"},
		{"1980", leastTime, at, leastTime, ""},
		{"before 1980", leastTime - 1, at, 0, "1979-12-31: before 1980"},
		{"before 1970", -5, at, 0, "before 1980"},
		{"far back", math.MinInt64, at, 0, "before 1980"},
		{"seconds", start / int64(time.Second), at, 0, "its time is 1700000123, in nanoseconds 1970-01-01: it looks like seconds"},
		{"milliseconds", start / int64(time.Millisecond), at, 0, "in nanoseconds 1970-01-01: it looks like milliseconds"},
		{"microseconds", start / int64(time.Microsecond), at, 0, "in nanoseconds 1970-01-20: it looks like microseconds"},
		{"ticks", 42, at, 0, "in nanoseconds 1970-01-01: before 1980"},
	} {
		db := testDB(t, Options{})
		p := makeProfile(tc.profile, "n:count", stack{frames: "a", values: []int64{1}})
		var encoded bytes.Buffer
		if err := p.Write(&encoded); err != nil {
			t.Fatal(err)
		}
		if tc.fails != "" && !tc.option.IsZero() { // Retime replaces what is refused otherwise
			retimed := testDB(t, Options{})
			_, err := retimed.Insert(context.Background(), p, InsertOptions{Time: tc.option, Retime: true})
			_, again := retimed.InsertEncoded(context.Background(), encoded.Bytes(), InsertOptions{Time: tc.option, Retime: true})
			got, readErr := retimed.Profile(context.Background(), view(t, retimed), Query{})
			if err != nil || again != nil || readErr != nil || got.TimeNanos != tc.option.UnixNano() {
				t.Errorf("%s: %v, %v, %v, time %v", tc.name, err, again, readErr, got)
			}
		}
		_, err := db.Insert(context.Background(), p, InsertOptions{Time: tc.option})
		_, again := db.InsertEncoded(context.Background(), encoded.Bytes(), InsertOptions{Time: tc.option})
		if tc.fails != "" {
			for _, err := range []error{err, again} {
				if !errors.Is(err, ErrProfile) || !strings.Contains(err.Error(), tc.fails) {
					t.Errorf("%s: %v, want %q", tc.name, err, tc.fails)
				}
			}
			if rows := db.Store().Stats().Rows; rows != 0 {
				t.Errorf("%s: %d rows after the error", tc.name, rows)
			}
			continue
		}
		if err != nil || again != nil {
			t.Errorf("%s: %v, %v", tc.name, err, again)
			continue
		}
		got, err := db.Profile(context.Background(), view(t, db), Query{})
		if err != nil || got.TimeNanos != tc.want {
			t.Errorf("%s: time %d, %v; want %d", tc.name, got.TimeNanos, err, tc.want)
		}
	}
}

// Zero values become rows only if requested, and never change a sum.
func TestKeepZeros(t *testing.T) {
	for _, keep := range []bool{false, true} {
		db := testDB(t, Options{KeepZeros: keep})
		p := makeProfile(start, "n:count m:count", stack{frames: "a", values: []int64{1, 0}}, stack{frames: "b", values: []int64{0, 0}})
		want := 1
		if keep {
			want = 4
		}
		if rows := insert(t, db, p); rows != want {
			t.Errorf("KeepZeros %t: %d rows, want %d", keep, rows, want)
		}
		got, err := db.Profile(context.Background(), view(t, db), Query{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(answerOf(p), answerOf(got)); diff != "" || len(got.Sample) != 1 {
			t.Errorf("KeepZeros %t: %s", keep, diff)
		}
	}
}

// Trace and span ids in the form of ids have their own columns; any other text stays a label.
// Both come back unchanged (P1).
func TestTraceIDs(t *testing.T) {
	const trace, span = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	for _, tc := range []struct {
		name, label string
		values      []string
		column      string // with the id
	}{
		{"trace id", "trace_id", []string{trace}, "trace_id"},
		{"span id", "span_id", []string{span}, "span_id"},
		{"all zero", "trace_id", []string{strings.Repeat("0", 32)}, "trace_id"},
		{"upper case", "trace_id", []string{strings.ToUpper(trace)}, "pprof_labels.trace_id"},
		{"short", "trace_id", []string{trace[2:]}, "pprof_labels.trace_id"},
		{"odd", "trace_id", []string{trace[1:]}, "pprof_labels.trace_id"},
		{"not hexadecimal", "span_id", []string{"b7ad6b716920333g"}, "pprof_labels.span_id"},
		{"span id as trace id", "trace_id", []string{span}, "pprof_labels.trace_id"},
		{"trace id as span id", "span_id", []string{trace}, "pprof_labels.span_id"},
		{"two", "trace_id", []string{trace, trace}, "pprof_labels.trace_id"},
		{"another label", "id", []string{trace}, "pprof_labels.id"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			db := testDB(t, Options{})
			p := makeProfile(start, "n:count", stack{frames: "a", values: []int64{1}, labels: map[string][]string{tc.label: tc.values}}, stack{frames: "a", values: []int64{2}})
			insert(t, db, p)
			snap := view(t, db)
			got, err := db.Profile(context.Background(), snap, Query{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(answerOf(p), answerOf(got)); diff != "" {
				t.Error(diff)
			}
			groups, err := db.table.Aggregate(context.Background(), snap, columnstore.AggregateOptions{
				Sum: ColumnValue, Where: columnstore.Not(columnstore.IsNull(tc.column)),
			})
			if err != nil || len(groups.Sums) != 1 || groups.Sums[0] != 1 {
				t.Errorf("column %s: %+v, %v", tc.column, groups, err)
			}
		})
	}
}

// Without buckets everything works except the split by time.
func TestWithoutBuckets(t *testing.T) {
	db := testDB(t, Options{Bucket: -1})
	for i := range 5 {
		insert(t, db, makeProfile(start+int64(i)*int64(time.Hour), "n:count", stack{frames: "a b", values: []int64{1}}))
	}
	stacks, err := db.Merge(context.Background(), view(t, db), Type{"n", "count", "cpu", "nanoseconds"}, Query{From: start + 1, To: start + int64(3*time.Hour)})
	if err != nil || stacks.Total != 2 || stacks.Len() != 1 {
		t.Errorf("%+v, %v", stacks, err)
	}
	lines, err := db.Range(context.Background(), view(t, db), Type{"n", "count", "cpu", "nanoseconds"}, Query{}, RangeOptions{Step: time.Hour})
	if err != nil || len(lines) != 1 || len(lines[0].Points) != 5 {
		t.Errorf("Range: %v, %v", lines, err)
	}
}
