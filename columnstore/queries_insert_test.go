package columnstore

import (
	"math"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/internal/oracle"
	"github.com/granarydb/granary/internal/querytest"
	"github.com/granarydb/granary/schema"
	"github.com/granarydb/granary/txn"
)

// queryInserter inserts rows of a data set into its table, by values and by codes. It is not
// safe for concurrent use.
type queryInserter struct {
	*querySet
	rng   *rand.Rand
	table *Table
}

// insert commits rows in one transaction.
func (w *queryInserter) insert(t testing.TB, rows []oracle.Cells) txn.ID {
	t.Helper()
	w.noteStarts(t, rows)
	tx := w.table.store.Begin()
	if w.rng.IntN(2) == 0 {
		for _, group := range w.groups(t, rows) {
			if err := tx.InsertCodes(t.Context(), group.codes, w.codedBatch(t, group.codes, group.rows)); err != nil {
				t.Fatalf("%v\n%v", err, w.querySet)
			}
		}
	} else if err := tx.Insert(t.Context(), w.table, w.batch(rows)); err != nil {
		t.Fatalf("%v\n%v", err, w.querySet)
	}
	id, err := tx.Commit()
	if err != nil {
		t.Fatalf("%v\n%v", err, w.querySet)
	}
	return id
}

// rowStarts holds the start of each row's bucket, by its first cell. Inserting and asking can
// be two goroutines.
type rowStarts struct {
	mu sync.Mutex
	of map[*any]int64
}

// noteStarts records the buckets of rows before their insert. They exist already, because no other
// goroutine inserts. A row's bucket is the last that begins in the range of its time and not after it.
func (w *queryInserter) noteStarts(t testing.TB, rows []oracle.Cells) {
	t.Helper()
	snap := snapshot(t, w.table.store)
	starts := bucketStarts(t, w.table, snap)
	snap.Close()
	time := w.index("time")
	w.starts.mu.Lock()
	defer w.starts.mu.Unlock()
	for _, row := range rows {
		at := row[time].(int64)
		first, _ := oracle.Range(at, w.width)
		for _, start := range starts {
			if w.width > 0 && start <= at {
				first = max(first, start)
			}
		}
		w.starts.of[&row[0]] = first
	}
}

// queryGroup has rows of one series and one generation.
type queryGroup struct {
	codes *Codes
	rows  []oracle.Cells
}

func (w *queryInserter) groups(t testing.TB, rows []oracle.Cells) []queryGroup {
	t.Helper()
	time := w.index("time")
	var out []queryGroup
	for len(rows) > 0 {
		codes, err := w.table.Codes(rows[0][time].(int64))
		if err != nil {
			t.Fatalf("%v\n%v", err, w.querySet)
		}
		from, to := codes.Range()
		group, series := queryGroup{codes: codes}, w.seriesKey(rows[0])
		var rest []oracle.Cells
		for _, row := range rows {
			if at := row[time].(int64); at >= from && at <= to && w.seriesKey(row) == series {
				group.rows = append(group.rows, row)
			} else {
				rest = append(rest, row)
			}
		}
		out, rows = append(out, group), rest
	}
	return out
}

// index returns a column's index.
func (d *querySet) index(name string) int {
	for i := range d.columns {
		if d.columns[i].name == name {
			return i
		}
	}
	return -1
}

// seriesKey returns the series columns of a row as text.
func (d *querySet) seriesKey(row oracle.Cells) string {
	var out []byte
	for i := range d.columns {
		if d.columns[i].series {
			out = oracle.AppendCell(out, row[i])
		}
	}
	return string(out)
}

// batch makes a batch of values. Columns without a value are left out; nulls of dynamic
// strings are written as empty strings now and then.
func (w *queryInserter) batch(rows []oracle.Cells) schema.Batch {
	b := schema.Batch{Rows: len(rows), Columns: map[string]encoding.Vector{}, Records: map[uuid.UUID][]byte{}}
	for i := range w.columns {
		c := &w.columns[i]
		v := encoding.Vector{Type: c.of.Type}
		valid, some := make([]bool, len(rows)), false
		constant := w.rng.IntN(2) == 0
		for k, row := range rows {
			valid[k] = row[i] != nil
			some = some || valid[k]
			constant = constant && oracle.Same(row[i], rows[0][i])
			if list, ok := row[i].([]uuid.UUID); ok {
				for _, id := range list {
					if record := recordOf(id); record != nil {
						b.Records[id] = record
					}
				}
			}
		}
		if !some && (c.of.Dynamic || c.of.Nullable) && w.rng.IntN(4) > 0 {
			continue
		}
		if constant {
			rows, valid := rows[:1], valid[:1]
			w.fill(&v, c, i, rows, valid)
		} else {
			w.fill(&v, c, i, rows, valid)
		}
		b.Columns[c.name] = v
	}
	return b
}

func (w *queryInserter) fill(v *encoding.Vector, c *queryColumn, i int, rows []oracle.Cells, valid []bool) {
	nulls := false
	for k, row := range rows {
		if row[i] == nil && c.isDynamicString() && w.rng.IntN(2) == 0 {
			valid[k] = true
		}
		nulls = nulls || !valid[k]
		querytest.Append(v, row[i])
	}
	if nulls || w.rng.IntN(4) == 0 {
		v.Valid = valid
	}
}

// codedBatch makes a batch of rows of one series and generation, with codes for the
// series or the lists or both.
func (w *queryInserter) codedBatch(t testing.TB, codes *Codes, rows []oracle.Cells) schema.Batch {
	t.Helper()
	b := w.batch(rows)
	labels := map[string]string{}
	asCode := w.rng.IntN(4) > 0
	for i := range w.columns {
		c := &w.columns[i]
		if c.series && asCode {
			if value, ok := rows[0][i].(string); ok {
				labels[c.name] = value
			}
			delete(b.Columns, c.name)
		}
		if _, given := b.Columns[c.name]; given && c.of.Type == encoding.UUIDList && w.rng.IntN(4) > 0 {
			b.Columns[c.name] = w.listCodes(t, codes, i, rows)
		}
	}
	if asCode && len(w.table.schema.Series()) > 0 {
		var err error
		if b.Series, err = codes.Series(labels); err != nil {
			t.Fatalf("%v\n%v", err, w.querySet)
		}
	}
	return b
}

// listCodes interns the lists of rows by their elements, with their records.
func (w *queryInserter) listCodes(t testing.TB, codes *Codes, column int, rows []oracle.Cells) encoding.Vector {
	t.Helper()
	v := encoding.ListCodes(make([]uint32, len(rows))...)
	v.Valid = make([]bool, len(rows))
	for i, row := range rows {
		list, ok := row[column].([]uuid.UUID)
		if !ok {
			v.Codes[i] = math.MaxUint32 // null row: ignored
			continue
		}
		records := make([][]byte, len(list))
		for k, id := range list {
			records[k] = recordOf(id)
		}
		elements, err := codes.Elements(nil, list, records)
		if err != nil {
			t.Fatal(err)
		}
		code, err := codes.Lists(nil, [][]uint32{elements})
		if err != nil {
			t.Fatal(err)
		}
		v.Codes[i], v.Valid[i] = code[0], true
	}
	return v
}
