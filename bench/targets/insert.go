package targets

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/granarydb/granary/bench/fleet"
	"github.com/granarydb/granary/bench/measure"
	"github.com/granarydb/granary/bench/peers"
	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/schema"
)

// loader inserts a fleet into a store with default options, and accounts for it.
type loader struct {
	store *peers.Granary
	rows  int64
	cpu   time.Duration
}

// chunk is the number of profiles that are made before the clock starts again.
const chunk = 200

// settleTime is the time for work that the maintainer has begun. The CPU clock includes the work, but not
// the sleep.
const settleTime = 5 * time.Millisecond

// openLoader opens a store. Its limit on the future is off, because a large fleet passes it.
func openLoader() (*loader, error) {
	g, err := peers.OpenGranary(columnstore.Options{FutureLimit: -1})
	if err != nil {
		return nil, err
	}
	return &loader{store: g}, nil
}

// load inserts profiles until `rows` rows are in. prepare turns a profile into its insert, outside the
// clock.
func (l *loader) load(f *fleet.Fleet, rows int64, prepare func(schema.Batch) (insert func() error)) error {
	ctx := context.Background()
	for n := 0; l.rows < rows; {
		var inserts []func() error
		for ; len(inserts) < chunk && l.rows < rows; n++ {
			b := f.Profile(n, fleet.Start)
			l.rows += int64(b.Rows)
			inserts = append(inserts, prepare(b))
		}
		start := measure.CPU()
		for _, insert := range inserts {
			if err := insert(); err != nil {
				return err
			}
		}
		if err := l.store.Store.Maintain(ctx); err != nil {
			return err
		}
		time.Sleep(settleTime)
		l.cpu += measure.CPU() - start
	}
	if got := l.store.Store.Stats().Rows; got != l.rows {
		return fmt.Errorf("the store has %d rows, inserted were %d", got, l.rows)
	}
	return nil
}

// nsPerRow returns the CPU time per row.
func (l *loader) nsPerRow() float64 { return float64(l.cpu) / float64(l.rows) }

// byIDs prepares the insert of a profile as lists of location ids, in its own memory as after decoding.
func (l *loader) byIDs(b schema.Batch) func() error {
	fleet.CopyStacks(&b)
	return func() error { return l.store.Insert(b) }
}

// byRecord prepares the insert of a profile as an Arrow record.
func (l *loader) byRecord(b schema.Batch) func() error {
	rec := peers.Record(b)
	return func() error {
		defer rec.Release()
		_, err := l.store.Table.InsertRecord(context.Background(), rec)
		return err
	}
}

// insertIDs measures inserts and heaps at all sizes, and the largest size's merge.
func insertIDs(o Options, c *collector) error {
	for _, size := range []struct {
		name   string
		times  int64
		repeat int
		keys   []string
	}{
		{"1m", 1, o.Repeat, []string{"insert-ids-1m", "heap-1m"}},
		{"10m", 10, min(o.Repeat, 3), []string{"insert-ids-10m", "heap-10m"}},
		{"100m", 100, 1, []string{"", "heap-100m"}},
	} {
		if !o.has(size.name) {
			c.skip("size "+size.name+" is not among -sizes", size.keys...)
			if size.name == "100m" {
				c.skip("size 100m is not among -sizes", "merge-all-100m")
			}
			continue
		}
		for i := range size.repeat {
			progress("insert %s, %d of %d", size.name, i+1, size.repeat)
			if err := insertSize(o, c, size.times*o.Rows, size.keys[0], size.keys[1], size.name == "100m"); err != nil {
				return err
			}
		}
	}
	return nil
}

// insertSize inserts a fleet once. With merge, it also measures merge-all-100m.
func insertSize(o Options, c *collector, rows int64, insertKey, heapKey string, merge bool) error {
	f := fleet.NewVariant(fleet.Seed, o.variant)
	before := measure.Heap()
	l, err := openLoader()
	if err != nil {
		return err
	}
	defer l.store.Store.Close()
	if err := l.load(f, rows, l.byIDs); err != nil {
		return err
	}
	grown := measure.Heap() - before
	runtime.KeepAlive(f) // both heaps include it
	if insertKey != "" {
		c.add(insertKey, l.rows, l.nsPerRow())
	}
	c.add(heapKey, l.rows, float64(grown)/float64(l.rows))
	if !merge {
		return nil
	}
	progress("compact and merge %d rows", l.rows)
	return mergeLarge(o, c, l)
}

// mergeLarge measures the wall time of merges to Arrow with two processors.
func mergeLarge(o Options, c *collector, l *loader) error {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	if err := l.store.Settle(); err != nil {
		return err
	}
	for i := range o.Repeat + 1 {
		runtime.GC()
		start := time.Now()
		if err := mergeToArrow(l.store, columnstore.Expr{}); err != nil {
			return err
		}
		if i > 0 { // the first warms up
			c.add("merge-all-100m", l.rows, float64(time.Since(start))/1e6)
		}
	}
	return nil
}

// insertRecords measures inserts of Arrow records.
func insertRecords(o Options, c *collector) error {
	if !o.has("1m") {
		c.skip("size 1m is not among -sizes", "insert-record")
		return nil
	}
	for i := range o.Repeat {
		progress("insert records, %d of %d", i+1, o.Repeat)
		f := fleet.NewVariant(fleet.Seed, o.variant)
		l, err := openLoader()
		if err != nil {
			return err
		}
		err = l.load(f, o.Rows, l.byRecord)
		l.store.Store.Close()
		if err != nil {
			return err
		}
		c.add("insert-record", l.rows, l.nsPerRow())
	}
	return nil
}
