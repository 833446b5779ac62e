package query

import (
	"math"
	"testing"

	"go.uber.org/goleak"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/granule"
	"github.com/granarydb/granary/internal/catalog"
	"github.com/granarydb/granary/internal/query/filter"
	"github.com/granarydb/granary/schema"
	"github.com/granarydb/granary/txn"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// testTable is a table of one bucket width a generation, without a store around it.
type testTable struct {
	t      testing.TB
	source filter.Env
	roots  *txn.Publisher[*catalog.Database]
	gens   map[int64]*granule.Generation
}

func newTestTable(t testing.TB, def schema.Definition) *testTable {
	t.Helper()
	s, err := schema.New(def)
	if err != nil {
		t.Fatal(err)
	}
	table := &testTable{t: t, gens: map[int64]*granule.Generation{}}
	table.source = filter.Env{
		Schema: s,
		Seed:   7,
		SeriesColumns: func(gen *granule.Generation) *granule.SeriesColumns {
			columns, _ := gen.SeriesColumns(s, func(int) bool { return true })
			return columns
		},
		Yield: func(string) {},
	}
	table.roots = txn.New((&catalog.Database{}).WithTable(catalog.NewTableState(s)))
	return table
}

// edit publishes a change of the table.
func (table *testTable) edit(change func(e *catalog.TableEdit)) {
	table.roots.Rewrite(func(current *txn.Root[*catalog.Database]) (next txn.Next[*catalog.Database], ok bool) {
		e := current.State.Table(0).Edit(0)
		defer e.Release()
		change(e)
		next.State = current.State
		e.Done(current.Version+1, &next)
		return next, true
	})
}

// insert adds a batch of rows of one bucket, which is at the given time.
func (table *testTable) insert(at int64, b schema.Batch) {
	table.t.Helper()
	s := table.source.Schema
	columns, err := s.Check(&b)
	if err != nil {
		table.t.Fatal(err)
	}
	start := s.BucketStart(at)
	if table.gens[start] == nil {
		table.gens[start] = granule.NewGeneration(table.source.Seed)
	}
	rows, err := granule.Code(s, table.gens[start], start, &b, columns, nil)
	if err != nil {
		table.t.Fatal(err)
	}
	part := rows.Part(0, rows.Len())
	rows.Done()
	lo, hi := s.BucketBounds(start)
	a := catalog.Placement{Part: part, Bucket: start, BucketKey: lo, BucketEnd: hi, Bound: lo, Hi: hi, Series: part.SeriesSet()}
	a.Columns = (&catalog.BucketState{}).NewColumns(s, part.Generation(), &b, columns, nil)
	table.edit(func(e *catalog.TableEdit) { e.Add(&a) })
}

// compact rewrites all granules into granules of at most so many rows.
func (table *testTable) compact(rows int) {
	for _, g := range table.roots.Root().State.Table(0).Granules.All() {
		table.edit(func(e *catalog.TableEdit) {
			e.Replace(g, granule.Rewrite(table.source.Schema, g, granule.Limit{Rows: rows, Bytes: math.MaxInt}))
		})
	}
}

// read returns a read of the newest state, which ends with the test.
func (table *testTable) read() *filter.Read {
	table.t.Helper()
	var h txn.Handle[*catalog.Database]
	h.Take(table.roots)
	use, err := h.Use()
	if err != nil {
		table.t.Fatal(err)
	}
	table.t.Cleanup(func() {
		use.Done()
		h.Close()
	})
	return &filter.Read{Env: &table.source, State: use.State.Table(0), Use: use}
}

// samples is a table of samples with stacks, as far as sums go.
func samples() schema.Definition {
	return schema.Definition{
		Columns: []schema.Column{
			{Name: "kind", Type: encoding.String, Encoding: encoding.DictionaryRLE},
			{Name: "labels", Type: encoding.String, Encoding: encoding.DictionaryRLE, Dynamic: true},
			{Name: "stack", Type: encoding.UUIDList, Encoding: encoding.DictionaryRLE, Nullable: true},
			{Name: "time", Type: encoding.Int64, Encoding: encoding.Delta},
			{Name: "value", Type: encoding.Int64, Encoding: encoding.Plain},
		},
		SortingKey: []string{"kind", "labels", "stack", "time"},
		Header:     []string{"time"},
		Bucket:     schema.Bucket{Column: "time", Width: 100},
	}
}
