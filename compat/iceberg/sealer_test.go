package iceberg

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/iceberg-go/table"
	"github.com/google/go-cmp/cmp"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"

	array14 "github.com/apache/arrow/go/v14/arrow/array"
	pprof "github.com/google/pprof/profile"
)

// openNode opens a node in a directory, whose buckets are of a minute.
func openNode(dir string) (*columnstore.Store, *profile.DB, error) {
	store, err := columnstore.Open(columnstore.Options{Dir: dir, FutureLimit: -1, PastLimit: -1})
	if err != nil {
		return nil, nil, err
	}
	db, err := profile.Open(store, profile.Options{Bucket: time.Minute})
	return store, db, err
}

// insertValue inserts a row with a value, whose time is start plus `minute` minutes.
func insertValue(db *profile.DB, minute, value int64) error {
	p := &pprof.Profile{
		TimeNanos: start + minute*int64(time.Minute), SampleType: []*pprof.ValueType{{Type: "cpu", Unit: "nanoseconds"}},
		Sample: []*pprof.Sample{{Value: []int64{value}}},
	}
	_, err := db.Insert(context.Background(), p, profile.InsertOptions{Labels: map[string]string{"job": "a"}})
	return err
}

// lakeValues returns the values of a node's rows in the table, and its seal, of one load.
func lakeValues(l *Lake, node string) (values []int64, seal uint64, err error) {
	ctx := context.Background()
	t, err := l.load(ctx)
	if err != nil {
		return nil, 0, err
	}
	n, _, err := nodeOf(t.Properties(), node)
	if err != nil || t.CurrentSnapshot() == nil {
		return nil, uint64(n.Seal), err
	}
	_, records, err := t.Scan(table.WithSelectedFields(columnNode, "value")).ToArrowRecords(ctx)
	if err != nil {
		return nil, 0, err
	}
	for rec, err := range records {
		if err != nil {
			return nil, 0, err
		}
		nodes := rec.Column(0).(*array.String)
		for i, v := range rec.Column(1).(*array.Int64).Int64Values() {
			if nodes.Value(i) == node {
				values = append(values, v)
			}
		}
		rec.Release()
	}
	return values, uint64(n.Seal), nil
}

// hotValues returns the values of the rows of a store that are in no unit up to a seal, as GET /arrow?after= does.
func hotValues(db *profile.DB, seal uint64) (values []int64, err error) {
	snap, err := db.Store().Snapshot()
	if err != nil {
		return nil, err
	}
	defer snap.Close()
	units, _, err := db.Table().Units(snap)
	if err != nil {
		return nil, err
	}
	opts := columnstore.ScanOptions{Columns: []string{profile.ColumnValue}, Form: columnstore.Plain, Buckets: []uint64{0}}
	for _, u := range units {
		if u.ID > seal {
			opts.Buckets = append(opts.Buckets, u.ID)
		}
	}
	for rec, err := range db.Table().Scan(context.Background(), snap, opts) {
		if err != nil {
			return nil, err
		}
		values = append(values, rec.Column(0).(*array14.Int64).Int64Values()...)
		rec.Release()
	}
	return values, nil
}

// bothTiers returns the values of a node's rows in the table, and of those of its store behind the seal there.
func bothTiers(l *Lake, node string, db *profile.DB) (lake, hot []int64, seal uint64, err error) {
	if lake, seal, err = lakeValues(l, node); err == nil {
		hot, err = hotValues(db, seal)
	}
	return lake, hot, seal, err
}

// checkUnion compares the rows of both tiers with the values 1 to n, each once.
func checkUnion(l *Lake, node string, db *profile.DB, n int64) error {
	lake, hot, seal, err := bothTiers(l, node, db)
	if err != nil {
		return err
	}
	all := slices.Sorted(slices.Values(append(lake, hot...)))
	for i := range max(n, int64(len(all))) {
		if i >= int64(len(all)) || all[i] != i+1 {
			return fmt.Errorf("%d rows of the table up to seal %d and %d of the store are not 1 to %d: %v", len(lake), seal, len(hot), n, all)
		}
	}
	return nil
}

// Each row is in the table, or in the store behind the node's seal, at each step: with late rows, restarts, and calls that
// are cancelled in the middle.
func TestSealer(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { sealAtRandom(t, rand.New(rand.NewPCG(seed, 5))) })
	}
}

func sealAtRandom(t *testing.T, rng *rand.Rand) {
	ctx, l, dir := t.Context(), openLake(t, "job"), filepath.Join(t.TempDir(), "db")
	if err := l.Register(ctx, "n", ""); err != nil {
		t.Fatal(err)
	}
	store, db, err := openNode(dir)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(0, start)
	newSealer := func() *Sealer {
		return &Sealer{Lake: l, Node: "n", Store: store, Table: db.Table(), Grace: 3 * time.Minute, Now: func() time.Time { return now }}
	}
	s, n, all := newSealer(), int64(0), Sealed{}
	for step := range int64(40) {
		now = now.Add(time.Minute)
		for range rng.IntN(5) {
			n++
			if err := insertValue(db, step-rng.Int64N(min(step, 4)+1), n); err != nil { // some come late
				t.Fatal(err)
			}
		}
		call, cancel := context.WithCancel(ctx)
		if rng.IntN(4) == 0 {
			time.AfterFunc(time.Duration(rng.IntN(20))*time.Millisecond, cancel)
		}
		got, err := s.Seal(call, now)
		if err != nil && call.Err() == nil { // a catalog has words of its own for it
			t.Fatal(err)
		}
		cancel()
		all.Units, all.Rows, all.Dropped = all.Units+got.Units, all.Rows+got.Rows, all.Dropped+got.Dropped
		if err := checkUnion(l, "n", db, n); err != nil {
			t.Fatalf("step %d: %v", step, err)
		}
		if rng.IntN(8) == 0 {
			if err := store.Close(); err != nil {
				t.Fatal(err)
			}
			if store, db, err = openNode(dir); err != nil {
				t.Fatal(err)
			}
			s = newSealer()
		}
	}
	if all.Rows < n/2 || all.Units < 10 || all.Dropped < 5 {
		t.Errorf("%+v of %d rows", all, n)
	}
	if got := store.Stats(); got.Rows > n/2 || got.LostUnitRows > 0 {
		t.Errorf("%d of %d rows are in the store, %d were lost", got.Rows, n, got.LostUnitRows)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
}

// A unit stays in the store for the grace, and its rows are in the table as they are there.
func TestSealer_Grace(t *testing.T) {
	l, db := openLake(t, "job"), openDB(t)
	insert(t, db, 4, 5, 40)
	want := wantRows(t, unit(t, db, "n", 1), "job")
	now := time.Unix(0, start).Add(time.Hour)
	oldest := func(s *Sealer, want int64) {
		t.Helper()
		if got, err := s.Oldest(); err != nil || want == 0 != got.IsZero() || want > 0 && got.UnixNano() != want {
			t.Errorf("the oldest row that the table lacks: %v, %v, want %d", got, err, want)
		}
	}
	s := &Sealer{Lake: l, Node: "n", Store: db.Store(), Table: db.Table(), Grace: time.Minute, Now: func() time.Time { return now }}
	if _, err := s.Seal(t.Context(), now); !errors.Is(err, ErrNode) || !strings.Contains(err.Error(), "not registered") {
		t.Errorf("a node that is not registered: %v", err)
	}
	if err := l.Register(t.Context(), "n", ""); err != nil {
		t.Fatal(err)
	}
	oldest(s, start)
	first, err := s.Seal(t.Context(), now)
	if err != nil || first.Units != 2 || first.Rows != int64(len(want)) || first.Dropped != 0 || first.Bytes == 0 {
		t.Errorf("%+v, %v, want 2 units with %d rows", first, err, len(want))
	}
	oldest(s, 0) // its rows are still in the store
	again := &Sealer{Lake: l, Node: "n", Store: db.Store(), Table: db.Table()}
	if err := again.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	oldest(again, 0)
	got := gotRows(t, l)
	seal := regexp.MustCompile(`"granary_seal":\d+`) // of the unit, or of the test
	for _, rows := range [][]string{want, got} {
		for i, row := range rows {
			rows[i] = seal.ReplaceAllString(row, "")
		}
		slices.Sort(rows)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	now = now.Add(time.Minute - 1)
	if got, err := s.Seal(t.Context(), now); got != (Sealed{}) || err != nil {
		t.Errorf("within the grace: %+v, %v", got, err)
	}
	now = now.Add(1)
	if got, err := s.Seal(t.Context(), now); got != (Sealed{Dropped: 2}) || err != nil || db.Store().Stats().Rows != 0 {
		t.Errorf("after the grace: %+v, %v", got, err)
	}
	other := openDB(t)
	insert(t, other, 1, 1, 1)
	s = &Sealer{Lake: l, Node: "n", Store: other.Store(), Table: other.Table()}
	if err := s.Check(t.Context()); !errors.Is(err, ErrNode) {
		t.Errorf("another store: %v", err)
	}
	for range 3 { // nothing is sealed: its ids would rise up to the table's
		if _, err := s.Seal(t.Context(), now); !errors.Is(err, ErrNode) || !strings.Contains(err.Error(), "another node's, new, or an older copy") {
			t.Errorf("another store: %v", err)
		}
		if units := other.Store().Stats().Units; len(units) > 0 {
			t.Fatalf("another store has units %v", units)
		}
	}
}

// Units that were dropped before they were in the table are passed over, so that a reader behind the node's seal finds all
// that is left.
func TestSealer_Lost(t *testing.T) {
	l, db := openLake(t, "job"), openDB(t)
	if err := l.Register(t.Context(), "n", ""); err != nil {
		t.Fatal(err)
	}
	s := &Sealer{Lake: l, Node: "n", Store: db.Store(), Table: db.Table(), Grace: time.Hour}
	for minute := range int64(4) {
		if err := insertValue(db, minute, minute+1); err != nil {
			t.Fatal(err)
		}
	}
	end := func(minutes int64) time.Time { return time.Unix(0, start+minutes*int64(time.Minute)) }
	if _, err := db.Table().Seal(t.Context(), end(3).UnixNano()); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Table().DropBefore(t.Context(), end(3).UnixNano()); err != nil { // 1 to 3, as a budget does
		t.Fatal(err)
	}
	if got, err := s.Seal(t.Context(), end(3)); got != (Sealed{}) || err != nil {
		t.Errorf("%+v, %v", got, err)
	}
	if n, err := l.node(t.Context(), "n"); n.Seal != 3 || err != nil {
		t.Errorf("the seal is %d, %v", n.Seal, err)
	}
	if got, err := s.Seal(t.Context(), end(4)); got.Units != 1 || got.Rows != 1 || err != nil {
		t.Errorf("%+v, %v", got, err)
	}
	if lake, seal, err := lakeValues(l, "n"); !slices.Equal(lake, []int64{4}) || seal != 4 || err != nil {
		t.Errorf("%v up to seal %d, %v", lake, seal, err)
	}
	s.Grace = 0
	if err := insertValue(db, 5, 5); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Table().Seal(t.Context(), end(6).UnixNano()); err != nil { // and the call that did it ended then
		t.Fatal(err)
	}
	if got, err := s.Seal(t.Context(), end(6)); got.Units != 1 || got.Rows != 1 || err != nil {
		t.Errorf("of a unit that was sealed before: %+v, %v", got, err)
	}
}
