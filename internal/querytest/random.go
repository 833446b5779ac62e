package querytest

import (
	"cmp"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/internal/catalog"
	"github.com/granarydb/granary/internal/oracle"
	"github.com/granarydb/granary/schema"
)

// Width is the width of a time bucket.
const Width = 100

// Random is a table of random rows, with a generation for each bucket.
type Random struct {
	*Table
	Rows []oracle.Row // the inserted rows
	rng  *rand.Rand
}

// Columns are the concrete columns of a table with all labels of these rows.
var Columns = []string{"kind", "labels.pod", "labels.zone", "stack", "time", "value", "trace", "span", "ratio", "ok", "note"}

// New returns a table without rows.
func New(t testing.TB, seed uint64) *Random {
	t.Helper()
	return &Random{Table: Open(t, Options{GenerationBuckets: 1}, schema.Definition{
		Columns: []schema.Column{
			{Name: "kind", Type: encoding.String, Encoding: encoding.DictionaryRLE},
			{Name: "labels", Type: encoding.String, Encoding: encoding.DictionaryRLE, Dynamic: true},
			{Name: "stack", Type: encoding.UUIDList, Encoding: encoding.DictionaryRLE, Nullable: true},
			{Name: "time", Type: encoding.Int64, Encoding: encoding.Delta},
			{Name: "value", Type: encoding.Int64, Encoding: encoding.Plain},
			{Name: "trace", Type: encoding.UUID, Encoding: encoding.DictionaryRLE, Nullable: true},
			{Name: "span", Type: encoding.Uint64, Encoding: encoding.Plain, Nullable: true},
			{Name: "ratio", Type: encoding.Float64, Encoding: encoding.Plain, Nullable: true},
			{Name: "ok", Type: encoding.Bool, Encoding: encoding.Plain, Nullable: true},
			{Name: "note", Type: encoding.String, Encoding: encoding.DictionaryRLE, Nullable: true},
		},
		SortingKey: []string{"kind", "labels", "stack", "time"},
		Header:     []string{"time"},
		Bucket:     schema.Bucket{Column: "time", Width: Width},
	}), rng: rand.New(rand.NewPCG(seed, 7))}
}

// Fill inserts batches of random rows, compacts some of them, and cools some buckets.
func (t *Random) Fill(batches int) {
	for range batches {
		if t.insert(); t.rng.IntN(4) == 0 {
			t.GranuleRows = 20 + t.rng.IntN(300)
			t.Compact()
		}
		if t.rng.IntN(12) > 0 {
			continue
		}
		buckets := slices.Collect(maps.Values(maps.Collect(t.State().Buckets.All())))
		slices.SortFunc(buckets, func(a, b *catalog.BucketState) int { return cmp.Compare(a.Start, b.Start) })
		t.Cool(pick(t.rng, buckets...))
	}
}

// insert adds a batch of rows with one series, in one bucket.
func (t *Random) insert() {
	t.t.Helper()
	start := Width * t.rng.Int64N(4)
	rows := 1 + t.rng.IntN(120)
	series := oracle.Row{"kind": pick(t.rng, "cpu", "mem", "")}
	columns := map[string]encoding.Vector{"kind": encoding.Strings(series["kind"].(string))}
	for _, label := range []string{"labels.pod", "labels.zone"} {
		if t.rng.IntN(3) > 0 {
			series[label] = pick(t.rng, "a", "b", "p1", "p2")
			columns[label] = encoding.Strings(series[label].(string))
		}
	}
	var of columnsOf
	for range rows {
		row := oracle.Row{}
		maps.Copy(row, series)
		of.add(t.rng, start, row)
		t.Rows = append(t.Rows, row)
	}
	maps.Copy(columns, of.vectors())
	t.Insert(schema.Batch{Rows: rows, Columns: columns})
}

// Chosen returns the rows that a condition accepts.
func (t *Random) Chosen(c *oracle.Cond[string]) (rows []oracle.Row) {
	for _, row := range t.Rows {
		if c.Holds(func(name string) any { return row[name] }) {
			rows = append(rows, row)
		}
	}
	return rows
}

// columnsOf has the values of a batch that differ from row to row.
type columnsOf struct {
	stacks              [][]uuid.UUID
	times, values       []int64
	traces              []uuid.UUID
	spans               []uint64
	ratios              []float64
	oks                 []bool
	notes               []string
	stack, trace, span  []bool // validity
	ratio, isOk, isNote []bool
}

// add adds the values of a random row that has its series' labels.
func (c *columnsOf) add(rng *rand.Rand, start int64, row oracle.Row) {
	some := func(valid *[]bool) bool {
		*valid = append(*valid, rng.IntN(5) > 0)
		return (*valid)[len(*valid)-1]
	}
	stack := make([]uuid.UUID, rng.IntN(4))
	for i := range stack {
		stack[i] = uuid.UUID{1, byte(rng.IntN(6))}
	}
	if c.stacks = append(c.stacks, stack); some(&c.stack) {
		row["stack"] = stack
	}
	c.times, c.values = append(c.times, start+10*rng.Int64N(Width/10)), append(c.values, rng.Int64N(2000)-500)
	row["time"], row["value"] = c.times[len(c.times)-1], c.values[len(c.values)-1]
	trace := uuid.UUID{2, byte(rng.IntN(9))}
	if c.traces = append(c.traces, trace); some(&c.trace) {
		row["trace"] = trace
	}
	span := rng.Uint64N(9)
	if c.spans = append(c.spans, span); some(&c.span) {
		row["span"] = span
	}
	ratio := float64(rng.IntN(40)-10) / 4
	if c.ratios = append(c.ratios, ratio); some(&c.ratio) {
		row["ratio"] = ratio
	}
	ok := rng.IntN(2) == 0
	if c.oks = append(c.oks, ok); some(&c.isOk) {
		row["ok"] = ok
	}
	note := pick(rng, "", "x", "y1", "y2")
	if c.notes = append(c.notes, note); some(&c.isNote) {
		row["note"] = note
	}
}

func (c *columnsOf) vectors() map[string]encoding.Vector {
	nullable := func(v encoding.Vector, valid []bool) encoding.Vector {
		v.Valid = valid
		return v
	}
	return map[string]encoding.Vector{
		"stack": nullable(encoding.UUIDLists(c.stacks...), c.stack), "time": encoding.Int64s(c.times...), "value": encoding.Int64s(c.values...),
		"trace": nullable(encoding.UUIDs(c.traces...), c.trace), "span": nullable(encoding.Uint64s(c.spans...), c.span),
		"ratio": nullable(encoding.Float64s(c.ratios...), c.ratio), "ok": nullable(encoding.Bools(c.oks...), c.isOk), "note": nullable(encoding.Strings(c.notes...), c.isNote),
	}
}

func pick[T any](rng *rand.Rand, values ...T) T { return values[rng.IntN(len(values))] }
