package querytest

import (
	"errors"
	"math"
	"testing"

	"github.com/granarydb/granary/granule"
	"github.com/granarydb/granary/internal/catalog"
	"github.com/granarydb/granary/internal/oracle"
	"github.com/granarydb/granary/internal/query/filter"
	"github.com/granarydb/granary/schema"
	"github.com/granarydb/granary/txn"
)

// Table is a table without a store around it: its commits change the state as a store's commits do, and no
// goroutine works in the background. It belongs to one test.
type Table struct {
	Options
	Env filter.Env
	// Due has the lower bounds of the granules that the last change asks to compact, because their buckets
	// were closed, cut or sealed.
	Due []string
	// Decided has the decisions of the last commit besides adding rows.
	Decided catalog.Decisions
	t       testing.TB
	roots   *txn.Publisher[*catalog.Database]
	gens    map[int64]*granule.Generation
	files   [][]*granule.Granule // the cold rows (Cool)
}

// Options are the store options that decide how a table's rows are divided.
type Options struct {
	GranuleRows       int          // most rows of a granule that Compact leaves whole; 0: any number
	GenerationBuckets int64        // time ranges that share dictionaries; 0: 16
	BucketRows        int          // rows at which a bucket is cut; 0: the default of package catalog
	Retention         int64        // 0: all rows are kept
	Yield             func(string) // nil: none
}

// Open returns a table without rows.
func Open(t testing.TB, opts Options, def schema.Definition) *Table {
	t.Helper()
	s, err := schema.New(def)
	if err != nil {
		t.Fatal(err)
	}
	if opts.GranuleRows == 0 {
		opts.GranuleRows = math.MaxInt
	}
	if opts.GenerationBuckets == 0 {
		opts.GenerationBuckets = 16
	}
	if opts.Yield == nil {
		opts.Yield = func(string) {}
	}
	table := &Table{Options: opts, t: t, gens: map[int64]*granule.Generation{}}
	table.Env = filter.Env{
		Schema: s, Seed: 7, Yield: opts.Yield,
		SeriesColumns: func(gen *granule.Generation) *granule.SeriesColumns {
			columns, _ := gen.SeriesColumns(s, func(int) bool { return true })
			return columns
		},
		Dictionaries: func(_ *catalog.TableState, b *catalog.BucketState) (*granule.Generation, error) {
			return table.Generation(b.Start), nil
		},
		Cold: table.cold, FindID: table.findID,
	}
	table.roots = txn.New((&catalog.Database{Newest: math.MinInt64}).WithTable(catalog.NewTableState(s)))
	return table
}

// Generation returns the dictionaries of a bucket.
func (t *Table) Generation(bucket int64) *granule.Generation {
	number := int64(0)
	if width := t.Env.Schema.BucketWidth(); width > 0 {
		number = oracle.Floor(bucket, width*t.GenerationBuckets)
	}
	if t.gens[number] == nil {
		t.gens[number] = granule.NewGeneration(t.Env.Seed)
	}
	return t.gens[number]
}

// State returns the newest state of the table.
func (t *Table) State() *catalog.TableState { return t.roots.Root().State.Table(0) }

// Database returns the newest database.
func (t *Table) Database() *catalog.Database { return t.roots.Root().State }

// Version returns the newest root's version.
func (t *Table) Version() txn.Version { return t.roots.Root().Version }

// Place returns the placements of a batch that is not committed.
func (t *Table) Place(b schema.Batch) []catalog.Placement {
	t.t.Helper()
	tx := t.Begin()
	if err := tx.Insert(b); err != nil {
		t.t.Fatal(err)
	}
	return tx.placed
}

// Read returns a read of the newest state, which ends with the test.
func (t *Table) Read() *filter.Read {
	t.t.Helper()
	var h txn.Handle[*catalog.Database]
	h.Take(t.roots)
	use, err := h.Use()
	if err != nil {
		t.t.Fatal(err)
	}
	t.t.Cleanup(func() {
		use.Done()
		h.Close()
	})
	return &filter.Read{Env: &t.Env, State: use.State.Table(0), Use: use}
}

// Tx is a transaction. Insert divides each batch for the state at that time. Commit makes all batches visible
// together.
type Tx struct {
	table  *Table
	ticket *txn.Ticket[*catalog.Database]
	placed []catalog.Placement
}

// Begin starts a transaction.
func (t *Table) Begin() *Tx { return &Tx{table: t, ticket: t.roots.Begin()} }

// Insert adds a batch. The errors are those of schema.Check, catalog.TableState.GroupRows and granule.Code.
func (tx *Tx) Insert(b schema.Batch) error {
	t := tx.table
	s, state := t.Env.Schema, t.State()
	columns, err := s.Check(&b)
	if err != nil || b.Rows == 0 {
		return err
	}
	var times []int64
	for _, c := range columns {
		if c.Column == s.BucketColumn() {
			times = c.Values.Int64s
		}
	}
	var failed error
	err = state.GroupRows(times, catalog.TimeLimits{Earliest: math.MinInt64, Latest: math.MaxInt64}, func(start int64, of []int32) {
		rows, err := granule.Code(s, t.Generation(start), start, &b, columns, of)
		if err != nil {
			failed = err
			return
		}
		defer rows.Done()
		r := catalog.Router{State: state, Bucket: start, Batch: &b, Columns: columns, Of: of, Rows: rows}
		r.Lo, r.Hi = s.BucketBounds(start)
		for r.Begin(); r.More(); {
			tx.placed = append(tx.placed, r.Next())
		}
	})
	return errors.Join(err, failed)
}

// errSealed makes Commit repeat the commit, because a bucket was sealed after rows for it were inserted.
var errSealed = errors.New("sealed meanwhile")

// Commit makes the rows visible. If a bucket was dropped after rows for it were inserted, Commit returns
// catalog.ErrTooOld and makes no row visible.
func (tx *Tx) Commit() error {
	for {
		_, err := tx.ticket.Commit(tx.publish)
		if !errors.Is(err, errSealed) {
			return err
		}
		tx.ticket = tx.table.roots.Begin()
		for i := range tx.placed {
			tx.table.State().Reroute(&tx.placed[i])
		}
	}
}

func (tx *Tx) publish(commit txn.ID, current *txn.Root[*catalog.Database]) (next txn.Next[*catalog.Database], err error) {
	t := tx.table
	e := current.State.Table(0).Edit(0)
	defer e.Release()
	for i := range tx.placed {
		p := &tx.placed[i]
		switch {
		case !e.Takes(p):
			return next, errSealed
		case p.Bucket < e.Floor():
			return next, catalog.ErrTooOld
		}
		p.Part.Stamp(uint64(tx.ticket.Begin()), uint64(commit))
		e.Add(p)
	}
	e.Retain(t.Retention, math.MaxInt64)
	e.CloseBuckets()
	t.Decided = catalog.Decisions{Floor: e.Floor(), Cut: catalog.NoCut}
	if cut, ok := e.CutBucket(t.BucketRows, t.GranuleRows); ok {
		t.Decided.Cut = cut.Start
		e.Divide(&cut)
	}
	next.State = current.State
	t.finish(e, current.Version+1, &next)
	return next, nil
}

// finish sets the next root from an edit.
func (t *Table) finish(e *catalog.TableEdit, version txn.Version, next *txn.Next[*catalog.Database]) {
	t.Due = nil
	for _, g := range e.Closing {
		lo, _ := g.Bounds()
		t.Due = append(t.Due, lo)
	}
	e.Done(version, next)
}

// Insert commits a batch. It ends the test after an error.
func (t *Table) Insert(b schema.Batch) {
	t.t.Helper()
	tx := t.Begin()
	if err := tx.Insert(b); err != nil {
		t.t.Fatal(err)
	}
	if err := tx.Commit(); err != nil {
		t.t.Fatal(err)
	}
}

// Edit publishes a change of the state outside a commit.
func (t *Table) Edit(change func(e *catalog.TableEdit)) {
	t.roots.Rewrite(func(current *txn.Root[*catalog.Database]) (next txn.Next[*catalog.Database], ok bool) {
		e := current.State.Table(0).Edit(0)
		defer e.Release()
		change(e)
		next.State = current.State
		t.finish(e, current.Version+1, &next)
		return next, true
	})
}

// Seal makes units of the buckets that end at or before a time, and returns them.
func (t *Table) Seal(before int64) []catalog.Unit {
	change := t.State().PlanSeal(before)
	if change.IsEmpty() {
		return nil
	}
	t.Edit(func(e *catalog.TableEdit) { e.ChangeUnits(change) })
	return t.State().Sealed(change)
}

// Drop drops units.
func (t *Table) Drop(ids ...uint64) {
	t.Edit(func(e *catalog.TableEdit) { e.ChangeUnits(t.State().PlanDrop(ids)) })
}

// Compact rewrites the granules that have fresh parts or more than GranuleRows rows.
func (t *Table) Compact() {
	for _, g := range t.State().Granules.All() {
		if g.FreshParts() == 0 && g.Rows() <= t.GranuleRows {
			continue
		}
		t.Edit(func(e *catalog.TableEdit) {
			e.Replace(g, granule.Rewrite(t.Env.Schema, g, granule.Limit{Rows: t.GranuleRows, Bytes: math.MaxInt}))
		})
	}
}
