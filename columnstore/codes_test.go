package columnstore

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/internal/oracle"
	"github.com/granarydb/granary/schema"
)

// TestCodes_Differential inserts half of the differential test's batches by codes. Every answer about the
// mixed table equals the oracle's: fresh, compacted and split, and later from held snapshots.
func TestCodes_Differential(t *testing.T) {
	effort.Long(t)
	collectRarely(t)
	seeds := *seedsFlag
	if effort.Race {
		seeds = min(seeds, 4)
	}
	asked, byCodes, splits := 0, 0, int64(0)
	for seed := uint64(1); seed <= seeds; seed++ {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			d := newDifferential(t, seed)
			d.codes = &codeInserter{rng: d.rng, table: d.table}
			d.run()
			asked, byCodes, splits = asked+d.asked, byCodes+d.codes.batches, splits+d.store.Stats().Splits
			if t.Failed() {
				t.Logf("replay with -run 'TestCodes_Differential/seed=%d$'; seed %d", seed, seed)
			}
		})
	}
	t.Logf("%d questions, %d batches by codes, %d splits", asked, byCodes, splits)
	if asked == 0 || byCodes == 0 || splits == 0 {
		t.Error("too little was tested")
	}
}

// codeInserter inserts rows by codes, with the same meaning as by values.
type codeInserter struct {
	rng     *rand.Rand
	table   *Table
	batches int
}

// insert commits rows in one transaction, as a batch for each series and generation.
func (c *codeInserter) insert(t testing.TB, rows []oracle.Row) {
	t.Helper()
	type group struct {
		series     string
		generation int64
	}
	groups := map[group][]oracle.Row{}
	var order []group
	for _, row := range rows {
		g := group{oracle.Text(seriesOf(c.table, row)), c.table.generationOf(c.table.schema.BucketStart(row["time"].(int64)))}
		if groups[g] == nil {
			order = append(order, g)
		}
		groups[g] = append(groups[g], row)
	}
	tx := c.table.store.Begin()
	for _, g := range order {
		codes, err := c.table.Codes(groups[g][0]["time"].(int64))
		if err != nil {
			t.Fatal(err)
		}
		if err := tx.InsertCodes(t.Context(), codes, c.batch(t, codes, groups[g])); err != nil {
			t.Fatal(err)
		}
		c.batches++
	}
	if _, err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
}

// batch makes a batch of rows of one series and generation. Mostly it has codes for
// the series, the lists, or both.
func (c *codeInserter) batch(t testing.TB, codes *Codes, rows []oracle.Row) schema.Batch {
	t.Helper()
	b := batchOf(c.rng, rows)
	if c.rng.IntN(4) > 0 {
		labels := map[string]string{}
		for name, value := range seriesOf(c.table, rows[0]) {
			labels[name] = value.(string)
			delete(b.Columns, name)
		}
		var err error
		if b.Series, err = codes.Series(labels); err != nil {
			t.Fatal(err)
		}
	}
	if _, ok := b.Columns["stack"]; ok && c.rng.IntN(4) > 0 {
		b.Columns["stack"] = c.stacks(t, codes, rows)
	}
	return b
}

// stacks interns the rows' lists, in one of two ways. A row without a list has the code 0, or an invalid
// code.
func (c *codeInserter) stacks(t testing.TB, codes *Codes, rows []oracle.Row) encoding.Vector {
	t.Helper()
	var lists [][]uuid.UUID
	valid := make([]bool, len(rows))
	for i, row := range rows {
		if stack, ok := row["stack"].([]uuid.UUID); ok {
			lists, valid[i] = append(lists, stack), true
		}
	}
	known, err := internLists(codes, lists, c.rng.IntN(2) == 0)
	if err != nil || len(known) != len(lists) {
		t.Fatalf("%d codes for %d lists: %v", len(known), len(lists), err)
	}
	v := encoding.ListCodes(make([]uint32, len(rows))...)
	if c.rng.IntN(2) == 0 {
		v.Valid = valid
	}
	for i := range v.Codes {
		switch {
		case valid[i]:
			v.Codes[i], known = known[0], known[1:]
		case v.Valid != nil:
			v.Codes[i] = math.MaxUint32 // null row: ignored
		}
	}
	return v
}

// internLists interns lists whole, or their elements first.
func internLists(codes *Codes, lists [][]uuid.UUID, whole bool) ([]uint32, error) {
	if whole {
		return codes.UUIDLists(nil, lists)
	}
	byElement := make([][]uint32, len(lists))
	for i, list := range lists {
		var err error
		if byElement[i], err = codes.Elements(nil, list, nil); err != nil {
			return nil, err
		}
	}
	return codes.Lists(nil, byElement)
}

// seriesOf returns the series columns of a row.
func seriesOf(table *Table, row oracle.Row) oracle.Row {
	series := oracle.Row{}
	for name, value := range row {
		if column, ok := table.schema.Resolve(name); ok && table.schema.IsSeries(column) {
			series[name] = value
		}
	}
	return series
}

// TestCodes_SameAsValues inserts the same rows by values into one table and by codes
// into another, from one seed, and asks both the same questions.
func TestCodes_SameAsValues(t *testing.T) {
	effort.Long(t)
	for seed := range uint64(effort.Part(30, 3+2*boolInt(effort.Race))) {
		rng := rand.New(rand.NewPCG(seed, 11))
		width := []int64{0, 100, 1000}[seed%3]
		opts := Options{Manual: true, GranuleRows: 1 + rng.IntN(40), FreshParts: 2, GenerationBuckets: 1 + rng.IntN(3)}
		store, byValues := open(t, opts, wide(width, keys[seed%2]))
		byCodes, err := store.CreateTable("by codes", wide(width, keys[seed%2]))
		if err != nil {
			t.Fatal(err)
		}
		inserter := codeInserter{rng: rng, table: byCodes}
		for range 12 {
			rows := randomRows(rng, 1+rng.IntN(20))
			insert(t, byValues, batchOf(rng, rows))
			inserter.insert(t, rows)
			if rng.IntN(4) == 0 {
				if err := store.Maintain(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
		}
		for _, when := range []string{"as it is", "compacted"} {
			snap := snapshot(t, store)
			for name, diff := range differences(t, snap, byValues, byCodes) {
				if diff != "" {
					t.Errorf("seed %d, %s: %s by values and by codes differ (-values +codes):\n%s", seed, when, name, diff)
				}
			}
			if t.Failed() {
				return
			}
			compact(t, store)
			checkBounds(t, store, byCodes)
		}
	}
}

// differences compares all visible properties of two tables.
func differences(t *testing.T, snap *Snapshot, a, b *Table) map[string]string {
	t.Helper()
	answers := func(table *Table) map[string]any {
		columns, err := table.Columns(snap)
		if err != nil {
			t.Fatal(err)
		}
		series, err := table.Series(t.Context(), snap, between(-500, 500))
		if err != nil {
			t.Fatal(err)
		}
		groups, err := table.Aggregate(t.Context(), snap, AggregateOptions{Sum: "value", By: []string{"labels", "kind", "stack"}})
		if err != nil {
			t.Fatal(err)
		}
		sums, names, err := groupsOf(groups)
		if err != nil {
			t.Fatal(err)
		}
		byBucket := map[int64][]string{} // rows of each bucket
		for _, b := range table.store.roots.Root().State.Table(table.ordinal).Buckets.All() {
			byBucket[b.Start] = slices.Sorted(maps.Keys(b.Columns))
		}
		return map[string]any{
			"columns": columns, "columns of each bucket": byBucket, "series": series, "sums": oracle.CellTexts(sums), "names": names,
			"rows": allRows(t, table, snap, ScanOptions{}), "ordered": len(allRows(t, table, snap, ScanOptions{Ordered: true})),
		}
	}
	want, got := answers(a), answers(b)
	out := map[string]string{}
	for name := range want {
		out[name] = cmp.Diff(want[name], got[name])
	}
	return out
}

// From the commit on, and not before, a table has the label names of a series that was inserted only by
// its code, and the names of the other columns.
func TestCodes_Names(t *testing.T) {
	store, table := open(t, Options{Manual: true}, samples(100))
	codes, err := table.Codes(0)
	if err != nil {
		t.Fatal(err)
	}
	series, err := codes.Series(map[string]string{"kind": "cpu", "labels.a": "1", "labels.b": "2", "labels.c": "", "labels." + strings.Repeat("long", 30): "3"})
	if err != nil {
		t.Fatal(err)
	}
	if names := columnNames(t, store, table); slices.ContainsFunc(names, func(n string) bool { return strings.Contains(n, ".") }) {
		t.Errorf("columns %v before a row is there", names)
	}
	b := codedRow(t, codes, 10)
	b.Series, b.Columns["tags.t"] = series, encoding.Strings("x")
	tx := store.Begin()
	if err := tx.InsertCodes(t.Context(), codes, b); err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	want := []string{"kind", "labels.a", "labels.b", "labels." + strings.Repeat("long", 30), "stack", "time", "tags.t", "trace", "value"}
	if diff := cmp.Diff(want, columnNames(t, store, table)); diff != "" {
		t.Errorf("columns (-want +got):\n%s", diff)
	}
	// The series is new to another bucket of the same generation.
	b = codedRow(t, codes, 110)
	b.Series = series
	if _, err := codes.Insert(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	got, err := table.Series(t.Context(), snapshot(t, store), between(100, 200))
	if err != nil || len(got) != 1 || got[0].Value("labels.b") != "2" {
		t.Errorf("series of the second bucket: %v, %v", got, err)
	}
	for _, b := range store.roots.Root().State.Table(table.ordinal).Buckets.All() {
		if want := map[bool]int{true: 4, false: 3}[b.Start == 0]; len(b.Columns) != want {
			t.Errorf("bucket %d has the columns %v, want %d", b.Start, slices.Sorted(maps.Keys(b.Columns)), want)
		}
	}
}

func columnNames(t *testing.T, store *Store, table *Table) []string {
	t.Helper()
	names, err := table.Columns(snapshot(t, store))
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// codedRow is oneRow by codes.
func codedRow(t testing.TB, codes *Codes, at int64) schema.Batch {
	t.Helper()
	series, err := codes.Series(map[string]string{"kind": "cpu"})
	if err != nil {
		t.Fatal(err)
	}
	lists, err := codes.UUIDLists(nil, [][]uuid.UUID{{{1}}})
	if err != nil {
		t.Fatal(err)
	}
	return schema.Batch{Rows: 1, Series: series, Columns: map[string]encoding.Vector{
		"stack": encoding.ListCodes(lists...), "time": encoding.Int64s(at), "value": encoding.Int64s(1),
	}}
}

// An interned value is stored once, in whatever form it comes: whole lists, elements and lists
// of their codes, a list twice in a batch, and elements shared by several new lists.
func TestCodes_Once(t *testing.T) {
	_, table := open(t, Options{Manual: true}, samples(0))
	codes, err := table.Codes(0)
	if err != nil {
		t.Fatal(err)
	}
	a, b, c := uuid.UUID{1}, uuid.UUID{2}, uuid.UUID{3}
	lists := [][]uuid.UUID{{a, b}, {b, c}, {a, b}, {}, {c, a, c}, {a, b}}
	first, err := codes.UUIDLists([]uint32{77}, lists)
	if err != nil {
		t.Fatal(err)
	}
	if first[0] != 77 || first[1] != first[3] || first[1] != first[6] || len(slices.Compact(slices.Sorted(slices.Values(first[1:])))) != 4 {
		t.Errorf("codes %v of %v", first, lists)
	}
	second, err := internLists(codes, lists, false)
	if err != nil || !slices.Equal(first[1:], second) {
		t.Errorf("by elements %v, %v; whole %v", second, err, first[1:])
	}
	if d := codes.gen.Load().Lists; d.Elements() != 3 || d.Len() != 4 {
		t.Errorf("%d elements and %d lists, want 3 and 4", d.Elements(), d.Len())
	}
	for i, list := range lists {
		if got := codes.gen.Load().Lists.UUIDs(nil, first[1+i]); !slices.Equal(got, list) {
			t.Errorf("list %d is %v, want %v", i, got, list)
		}
	}
	records := [][]byte{[]byte("one"), nil, []byte("three")}
	elements, err := codes.Elements(nil, []uuid.UUID{a, b, c}, records)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range records {
		if got := codes.gen.Load().Lists.Record(elements[i]); string(got) != string(want) {
			t.Errorf("record %d is %q, want %q", i, got, want)
		}
	}
	x, errX := codes.Series(map[string]string{"kind": "cpu", "labels.a": "1"})
	y, errY := codes.Series(map[string]string{"labels.a": "1", "kind": "cpu", "labels.b": ""})
	z, errZ := codes.Series(map[string]string{"kind": "cpu", "labels.b": "1"})
	if x != y || x == z || x == 0 || errX != nil || errY != nil || errZ != nil {
		t.Errorf("series %d, %d and %d, want the first two the same: %v, %v, %v", x, y, z, errX, errY, errZ)
	}
}

// Codes are valid exactly for the times of their generation, including both ends of time.
func TestCodes_Range(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	widths := []int64{1, 7, 10, 1000, 900e9, 1 << 40, 1 << 61, 1<<60 + 1, math.MaxInt64 / 16, math.MaxInt64}
	for _, width := range widths {
		for _, buckets := range []int{1, 3, 16} {
			_, table := open(t, Options{Manual: true, FutureLimit: -1, GenerationBuckets: buckets}, samples(width))
			times := []int64{math.MinInt64, math.MinInt64 + 1, -1, 0, 1, math.MaxInt64 - 1, math.MaxInt64}
			for range 20 {
				times = append(times, int64(rng.Uint64()))
			}
			for _, at := range times {
				codes, err := table.Codes(at)
				if err != nil {
					t.Fatal(err)
				}
				from, to := codes.Range()
				of := func(at int64) int64 { return table.generationOf(table.schema.BucketStart(at)) }
				if from > at || to < at || of(from) != of(at) || of(to) != of(at) ||
					from > math.MinInt64 && of(from-1) == of(at) || to < math.MaxInt64 && of(to+1) == of(at) {
					t.Errorf("width %d, %d buckets, at %d: generation %d has the range %d to %d", width, buckets, at, of(at), from, to)
				}
			}
		}
	}
	_, table := open(t, Options{Manual: true}, samples(0))
	codes, err := table.Codes(5)
	if err != nil {
		t.Fatal(err)
	}
	if from, to := codes.Range(); from != math.MinInt64 || to != math.MaxInt64 {
		t.Errorf("without buckets, codes are for %d to %d", from, to)
	}
}
