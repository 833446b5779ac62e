package columnstore_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/granarydb/granary/arrowconv"
	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/internal/crashfs"
	"github.com/granarydb/granary/internal/script"
	"github.com/granarydb/granary/schema"
	"github.com/granarydb/granary/txn"
)

// TestScripts runs testdata/script/*.txt. The scripts are readable without this file.
func TestScripts(t *testing.T) { script.Run(t, newScripted) }

// scriptDay is the day of all times in scripts.
var scriptDay = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// scripted is the state of a script: one store with one table, transactions and
// snapshots by name. The verbs about notes, units and restarts are in script_verbs_test.go.
type scripted struct {
	now   time.Time
	opts  columnstore.Options
	store *columnstore.Store
	table *columnstore.Table
	txs   map[string]*columnstore.Tx
	snaps map[string]*columnstore.Snapshot
}

func newScripted(t *testing.T) map[string]script.Verb {
	s := &scripted{
		now: scriptDay.Add(12 * time.Hour),
		txs: map[string]*columnstore.Tx{}, snaps: map[string]*columnstore.Snapshot{},
	}
	t.Cleanup(s.end)
	return map[string]script.Verb{
		"open": s.open, "create": s.create, "clock": s.clock,
		"insert": s.insert, "fill": s.fill,
		"begin": s.begin, "commit": s.commit, "abort": s.abort,
		"maintain": func(*script.Command) error { return s.store.Maintain(context.Background()) },
		"compact":  func(*script.Command) error { return s.store.Compact(context.Background()) },
		"snapshot": s.snapshot, "close": s.closeSnapshot,
		"scan": s.scan, "count": s.count, "series": s.series, "columns": s.columns, "granules": s.granules, "stats": s.stats,
		"note": s.note, "notes": s.notes, "drop": s.drop, "seal": s.seal, "units": s.units, "drop-units": s.dropUnits,
		"restart": s.restart, "crash": s.crash,
	}
}

func (s *scripted) end() {
	for _, snap := range s.snaps {
		snap.Close()
	}
	for _, tx := range s.txs {
		tx.Abort()
	}
	if s.store != nil {
		s.store.Close()
	}
	clear(s.snaps)
	clear(s.txs)
}

// open opens a store without background maintenance.
func (s *scripted) open(c *script.Command) (err error) {
	s.end()
	s.opts = columnstore.Options{
		GranuleRows: c.Int("granule-rows", 0),
		FreshParts:  c.Int("fresh-parts", 0), MaxParts: c.Int("max-parts", 0),
		BucketRows: c.Int("bucket-rows", 0), GenerationBuckets: c.Int("generation-buckets", 0),
		Retention: duration(c, "retention", 0), FutureLimit: duration(c, "future-limit", 0),
		MemoryBudget: int64(c.Int("memory-budget", 0)),
		Manual:       true,
		Now:          func() time.Time { return s.now },
		Rand:         strings.NewReader("a seed that is always the same"),
	}
	if c.Has("dir") {
		s.opts.FS = crashfs.New(crashfs.Options{})
	}
	bucket, later := int64(duration(c, "bucket", time.Hour)), c.Has("no-table")
	if s.store, err = columnstore.Open(s.opts); err != nil || later {
		return err
	}
	return s.createTable(bucket)
}

// create creates the table, for a store that was opened without it.
func (s *scripted) create(c *script.Command) error {
	return s.createTable(int64(duration(c, "bucket", time.Hour)))
}

func (s *scripted) createTable(bucket int64) (err error) {
	s.table, err = s.store.CreateTable("requests", schema.Definition{
		Columns: []schema.Column{
			{Name: "tag", Type: encoding.String, Encoding: encoding.DictionaryRLE, Dynamic: true},
			{Name: "time", Type: encoding.Int64, Encoding: encoding.Delta},
			{Name: "value", Type: encoding.Int64, Encoding: encoding.Plain},
		},
		SortingKey: []string{"tag", "time"},
		Bucket:     schema.Bucket{Column: "time", Width: bucket},
	})
	return err
}

func (s *scripted) clock(c *script.Command) error {
	s.now = clockTime(c, c.Text("at", ""))
	return nil
}

// insert inserts the input's rows.
func (s *scripted) insert(c *script.Command) error {
	tx := c.Text("tx", "")
	var rows []scriptRow
	for _, line := range c.Input {
		rows = append(rows, parseRow(c, line))
	}
	id, err := s.add(c, tx, rows)
	if err == nil && tx == "" {
		c.Printf("commit %d\n", id)
	}
	return err
}

// fill inserts rows at equal distances in time, in one insert or in several of the same size.
// In tags and values, * is the number of the row. With maintain, what is due is maintained after each insert.
func (s *scripted) fill(c *script.Command) error {
	tx, inserts, maintain := c.Text("tx", ""), c.Int("inserts", 1), c.Has("maintain")
	from, every := clockTime(c, c.Text("from", "")), duration(c, "every", time.Second)
	rows := make([]scriptRow, c.Int("rows", 1))
	if inserts < 1 || len(rows)%inserts != 0 {
		c.Fatalf("%d rows do not make %d inserts of the same size", len(rows), inserts)
	}
	pairs := c.Rest()
	for i := range rows {
		rows[i] = scriptRow{at: from.Add(time.Duration(i) * every), tags: map[string]string{}}
		for _, pair := range pairs {
			number := strconv.Itoa(i)
			rows[i].set(c, strings.ReplaceAll(pair[0], "*", number), strings.ReplaceAll(pair[1], "*", number))
		}
	}
	var ids []txn.ID
	for some := range slices.Chunk(rows, len(rows)/inserts) {
		id, err := s.add(c, tx, some)
		if err != nil {
			return err
		}
		ids = append(ids, id)
		if maintain {
			if err := s.store.Maintain(context.Background()); err != nil {
				return err
			}
		}
	}
	if tx == "" {
		c.Printf("commit %d", ids[0])
		if inserts > 1 {
			c.Printf(" to %d", ids[inserts-1])
		}
		c.Printf("\n")
	}
	return nil
}

// add inserts rows in a named transaction of the script, or in their own transaction.
func (s *scripted) add(c *script.Command, tx string, rows []scriptRow) (id txn.ID, err error) {
	if tx != "" {
		return 0, s.txs[s.known(c, tx)].Insert(context.Background(), s.table, batchOf(rows))
	}
	id, err = s.table.Insert(context.Background(), batchOf(rows))
	if errors.Is(err, columnstore.ErrMemory) {
		return 0, columnstore.ErrMemory // without the byte counts, which depend on sizes of types
	}
	return id, err
}

func (s *scripted) begin(c *script.Command) error {
	s.txs[c.Text("tx", "")] = s.store.Begin()
	return nil
}

func (s *scripted) commit(c *script.Command) error {
	id, err := s.txs[s.known(c, c.Text("tx", ""))].Commit()
	if err == nil {
		c.Printf("commit %d\n", id)
	}
	return err
}

func (s *scripted) abort(c *script.Command) error {
	s.txs[s.known(c, c.Text("tx", ""))].Abort()
	return nil
}

// known returns the name of a transaction of the script.
func (s *scripted) known(c *script.Command, tx string) string {
	if s.txs[tx] == nil {
		c.Fatalf("no transaction is called %q", tx)
	}
	return tx
}

func (s *scripted) snapshot(c *script.Command) error {
	snap, err := s.store.Snapshot()
	if err != nil {
		return err
	}
	s.snaps[c.Text("name", "")] = snap
	c.Printf("as of commit %d\n", snap.Commit())
	return nil
}

func (s *scripted) closeSnapshot(c *script.Command) error {
	name := c.Text("snapshot", "")
	if s.snaps[name] == nil {
		c.Fatalf("no snapshot is called %q", name)
	}
	s.snaps[name].Close()
	return nil
}

// view runs f on the named snapshot, or on a new snapshot.
func (s *scripted) view(c *script.Command, f func(*columnstore.Snapshot) error) error {
	name := c.Text("snapshot", "")
	if name == "" {
		return s.store.View(context.Background(), f)
	}
	if s.snaps[name] == nil {
		c.Fatalf("no snapshot is called %q", name)
	}
	return f(s.snaps[name])
}

// scan prints rows in the syntax of insert.
func (s *scripted) scan(c *script.Command) error {
	opts := columnstore.ScanOptions{Where: parseWhere(c), Ordered: true, Limit: c.Int("limit", 0), Form: arrowconv.FormPlain}
	if unit := c.Int("unit", -1); unit >= 0 {
		opts.Buckets = []uint64{uint64(unit)}
	}
	return s.view(c, func(snap *columnstore.Snapshot) error {
		for rec, err := range s.table.Scan(context.Background(), snap, opts) {
			if err != nil {
				return err
			}
			printScanned(c, rec)
			rec.Release()
		}
		return nil
	})
}

// count prints the number of rows that satisfy a condition, and the sum of their values.
func (s *scripted) count(c *script.Command) error {
	opts := columnstore.AggregateOptions{Sum: "value", Where: parseWhere(c)}
	return s.view(c, func(snap *columnstore.Snapshot) error {
		groups, err := s.table.Aggregate(context.Background(), snap, opts)
		if err != nil {
			return err
		}
		var rows, sum int64
		for i := range groups.Counts {
			rows, sum = rows+groups.Counts[i], sum+groups.Sums[i]
		}
		c.Printf("%s, sum %d\n", countOf(int(rows)), sum)
		return nil
	})
}

// granules prints the index: buckets, their granules, and the parts of these.
func (s *scripted) granules(c *script.Command) error {
	return s.view(c, func(snap *columnstore.Snapshot) error {
		bucket := ""
		for g, err := range s.table.Inspect(context.Background(), snap) {
			if err != nil {
				return err
			}
			if start := g.Lower.Values[0]; start != bucket {
				bucket = start
				c.Printf("bucket %s\n", shortTime(start))
			}
			printGranule(c, &g)
		}
		return nil
	})
}

// stats prints the named counters of the store, in the script's order.
func (s *scripted) stats(c *script.Command) error {
	stats := s.store.Stats()
	known := map[string]any{
		"rows": stats.Rows, "series": stats.Series, "granules": stats.Granules, "parts": stats.Parts,
		"splits": stats.Splits, "compactions": stats.Compactions, "rewritten": stats.RewrittenRows,
		"dropped": stats.DroppedRows, "evicted": stats.EvictedRows, "expired": stats.Expired,
		"oldest-snapshot": stats.OldestSnapshot, "oldest": "none", "pinned": stats.PinnedBytes > 0, "pending": stats.PendingBytes > 0,
	}
	if !stats.Oldest.IsZero() {
		known["oldest"] = shortTime(stats.Oldest.UTC().Format(time.RFC3339Nano))
	}
	for _, pair := range c.Rest() {
		value, ok := known[pair[0]]
		if !ok {
			c.Fatalf("no counter is called %q; there are %q", pair[0], slices.Sorted(maps.Keys(known)))
		}
		c.Printf("%s %v\n", pair[0], value)
	}
	return nil
}
