package columnstore

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/internal/oracle"
	"github.com/granarydb/granary/schema"
)

var (
	metaSeed  = flag.Uint64("meta.seed", 1, "the first seed of the metamorphic test")
	metaLists = flag.Uint64("meta.lists", uint64(effort.Part(50, 2)), "how many lists of operations the metamorphic test runs")
)

// setting is options that must not affect any answer.
type setting struct {
	opts  Options
	width int64 // of the time bucket; 0: none
}

// settings range from a granule for each row to a single granule, from a rewrite every second part to
// none, from a bucket for nearly each row to no buckets, with dictionaries for each bucket or for many.
// Some cut buckets by their rows. The last has the store's own maintainer, whose rewrites come at any
// time.
var settings = []setting{
	{Options{GranuleRows: 1 << 20, FreshParts: 1 << 10, MaxParts: 1 << 10}, 0}, // nothing is ever due
	{Options{GranuleRows: 1 << 20, FreshParts: 2, MaxParts: 2}, 0},
	{Options{GranuleRows: 1, FreshParts: 2, MaxParts: 2}, 0},
	{Options{GranuleRows: 7, FreshParts: 3, MaxParts: 5}, 0},
	{Options{GranuleBytes: 4 << 10, FreshParts: 2, MaxParts: 9}, 0},
	{Options{GranuleRows: 1, FreshParts: 2, MaxParts: 3, GenerationBuckets: 1}, 7},
	{Options{GranuleRows: 20, FreshParts: 2, MaxParts: 4, GenerationBuckets: 2}, 100},
	{Options{GranuleRows: 2, FreshParts: 4, MaxParts: 4, GenerationBuckets: 5}, 100},
	{Options{GranuleRows: 1 << 20, FreshParts: 1 << 10, MaxParts: 1 << 10}, 100},
	{Options{GranuleRows: 50, FreshParts: 2, MaxParts: 8, GenerationBuckets: 1}, 1000},
	{Options{GranuleRows: 3, FreshParts: 2, MaxParts: 2, GenerationBuckets: 64}, 10_000},
	{Options{GranuleRows: 4, FreshParts: 2, MaxParts: 5, GenerationBuckets: 2, BucketRows: 3}, 1000},
	{Options{GranuleRows: 30, FreshParts: 3, MaxParts: 5, GenerationBuckets: 1, BucketRows: 20}, 10_000},
	{Options{GranuleRows: 5, FreshParts: 2, MaxParts: 3, GenerationBuckets: 3, BucketRows: 10}, 500},
	{Options{GranuleRows: 20, FreshParts: 2, MaxParts: 4, GenerationBuckets: 2, stringBytes: 1}, 100},
}

func (s setting) String() string {
	return fmt.Sprintf("GranuleRows %d, GranuleBytes %d, FreshParts %d, MaxParts %d, GenerationBuckets %d, BucketRows %d, bucket %d",
		s.opts.GranuleRows, s.opts.GranuleBytes, s.opts.FreshParts, s.opts.MaxParts, s.opts.GenerationBuckets, s.opts.BucketRows, s.width)
}

// TestMetamorphic runs lists of random operations, each under all settings: every read must
// have the same answer (C2, C3). It has no oracle.
func TestMetamorphic(t *testing.T) {
	effort.Slow(t)
	collectRarely(t)
	operations, rows := 0, 0
	var stats Stats
	lists := *metaLists
	if effort.Race {
		lists = min(lists, 8) // only one setting has a second goroutine
	}
	for seed := *metaSeed; seed < *metaSeed+lists; seed++ {
		list := newOpList(seed)
		var want []string
		for i, s := range settings {
			run := runOps(t, list, s, i == len(settings)-1)
			stats.Splits += run.stats.Splits
			stats.Compactions += run.stats.Compactions
			if i == 0 {
				want = run.answers
				operations, rows = operations+len(want), rows+int(run.stats.Rows)
			}
			if k, wrong := run.differs(want); wrong != "" {
				t.Fatalf("operation %d under %v: %s\nseed %d, commit %s\n%v\nrun it again: go test ./columnstore -run 'TestMetamorphic$' -meta.seed %d -meta.lists 1",
					k, s, wrong, seed, head(), list[:k+1], seed)
			}
		}
	}
	t.Logf("%d operations, %d rows in the end, %d splits, %d compactions", operations, rows, stats.Splits, stats.Compactions)
	if rows == 0 || stats.Splits == 0 || stats.Compactions == 0 {
		t.Error("nothing was tested")
	}
}

// op is an operation. Its answer must not differ between settings; that of a write is empty.
type op struct {
	text string
	do   func(r *opRun) (answer string, err error)
}

type opList []op

func (l opList) String() string {
	var out strings.Builder
	for i, o := range l {
		fmt.Fprintf(&out, "%3d %s\n", i, o.text)
	}
	return out.String()
}

// opRun is a list in progress under one setting.
type opRun struct {
	*testing.T
	setting
	store *Store
	table *Table
	txs   map[int]*Tx
	snaps map[int]*Snapshot

	answers []string
	stats   Stats
	err     error
}

// runOps opens a store and runs all operations up to the first that fails.
func runOps(t *testing.T, list opList, s setting, maintainer bool) *opRun {
	t.Helper()
	r := &opRun{T: t, setting: s, txs: map[int]*Tx{}, snaps: map[int]*Snapshot{}}
	s.opts.Manual, s.opts.FutureLimit, s.opts.PastLimit = !maintainer, -1, -1
	if r.store, r.err = Open(s.opts); r.err != nil {
		t.Fatal(r.err)
	}
	defer r.store.Close()
	if r.table, r.err = r.store.CreateTable("t", wide(s.width, wideKey)); r.err != nil {
		t.Fatal(r.err)
	}
	for _, o := range list {
		answer, err := o.do(r)
		r.answers = append(r.answers, answer)
		if err != nil {
			r.err = err
			break
		}
	}
	for _, tx := range r.txs {
		tx.Abort()
	}
	for _, snap := range r.snaps {
		snap.Close()
	}
	r.store.Close()
	r.stats = r.store.Stats()
	if held := r.stats.PendingBytes + r.stats.PinnedBytes; held != 0 && r.err == nil {
		r.err = fmt.Errorf("%d bytes are pending or pinned in the end", held)
	}
	return r
}

// differs compares the answers with the first setting's, and returns the first operation that failed or
// differs.
func (r *opRun) differs(want []string) (k int, how string) {
	for k, answer := range r.answers {
		if r.err != nil && k == len(r.answers)-1 {
			return k, r.err.Error()
		}
		if k < len(want) && want[k] != answer {
			return k, fmt.Sprintf("the answer differs (-%v +%v):\n%s", settings[0], r.setting,
				gocmp.Diff(strings.Split(want[k], "\n"), strings.Split(answer, "\n")))
		}
	}
	return 0, ""
}

// newOpList makes a list. Transactions and snapshots are in slots, so that other operations go
// on while they are open.
func newOpList(seed uint64) opList {
	rng := rand.New(rand.NewPCG(seed, 0x6d657461))
	l := opList{insertOp(rng, 0), commitOp(0), snapshotOp(0)}
	for range 40 {
		slot := rng.IntN(3)
		switch n := rng.IntN(20); {
		case n < 5:
			l = append(l, insertOp(rng, slot))
		case n < 9:
			l = append(l, commitOp(slot))
		case n < 10:
			l = append(l, op{fmt.Sprintf("abort transaction %d", slot), func(r *opRun) (string, error) {
				r.tx(slot).Abort()
				delete(r.txs, slot)
				return "", nil
			}})
		case n < 12:
			l = append(l, snapshotOp(slot))
		case n < 14:
			l = append(l, op{"maintain", func(r *opRun) (string, error) { return "", r.store.Maintain(context.Background()) }})
		case n < 15:
			l = append(l, op{"compact", func(r *opRun) (string, error) { return "", r.store.Compact(context.Background()) }})
		default:
			l = append(l, readOp(rng, rng.IntN(3)))
		}
	}
	compact := op{"compact", func(r *opRun) (string, error) { return "", r.store.Compact(context.Background()) }}
	l = append(l, commitOp(0), commitOp(1), snapshotOp(1), readOp(rng, 0), readOp(rng, 1), compact)
	return append(l, readOp(rng, 0), readOp(rng, 1), statsOp)
}

// tx returns the transaction in a slot, or a new transaction.
func (r *opRun) tx(slot int) *Tx {
	if r.txs[slot] == nil {
		r.txs[slot] = r.store.Begin()
	}
	return r.txs[slot]
}

// insertOp inserts one batch for all settings: a store must not write to it.
func insertOp(rng *rand.Rand, slot int) op {
	rows := randomRows(rng, 1+rng.IntN(25))
	b := batchOf(rng, rows)
	return op{fmt.Sprintf("insert %d rows into transaction %d", len(rows), slot), func(r *opRun) (string, error) {
		given := schema.Batch{Rows: b.Rows, Columns: b.Columns}
		return "", r.tx(slot).Insert(context.Background(), r.table, given)
	}}
}

func commitOp(slot int) op {
	return op{fmt.Sprintf("commit transaction %d", slot), func(r *opRun) (string, error) {
		r.tx(slot).Note(r.table, fmt.Sprint("slot ", slot))
		_, err := r.tx(slot).Commit()
		delete(r.txs, slot)
		return "", err
	}}
}

func snapshotOp(slot int) op {
	return op{fmt.Sprintf("snapshot %d", slot), func(r *opRun) (string, error) {
		snap, err := r.store.Snapshot()
		if err != nil {
			return "", err
		}
		if old := r.snaps[slot]; old != nil {
			old.Close()
		}
		r.snaps[slot] = snap
		return fmt.Sprint("commit ", snap.Commit()), nil
	}}
}

// statsOp returns the statistics of rows, independent of their parts.
var statsOp = op{"stats", func(r *opRun) (string, error) {
	s := r.store.Stats()
	return fmt.Sprint(s.Rows, " rows, ", s.DroppedRows+s.EvictedRows, " dropped"), nil
}}

// readOp reads a held snapshot, or a new snapshot if the slot is empty.
func readOp(rng *rand.Rand, slot int) op {
	read := []func(*rand.Rand) op{aggregateOp, aggregateOp, scanOp, scanOp, namesOp}[rng.IntN(5)](rng)
	return op{fmt.Sprintf("snapshot %d: %s", slot, read.text), func(r *opRun) (string, error) {
		if r.snaps[slot] == nil {
			if _, err := snapshotOp(slot).do(r); err != nil {
				return "", err
			}
		}
		r.snaps[3] = r.snaps[slot] // where the reads find it
		defer delete(r.snaps, 3)
		return read.do(r)
	}}
}

// randomNames picks columns and families, present or not.
func randomNames(rng *rand.Rand) []string {
	d := differential{rng: rng}
	return d.randomColumns()
}

func aggregateOp(rng *rand.Rand) op {
	where := randomCondition(rng, rng.IntN(3))
	if rng.IntN(3) == 0 {
		where = newCondition(&oracle.Cond[string]{Op: "all"})
	}
	opts := AggregateOptions{
		Sum: pick(rng, []string{"", "value", "bonus", "nums.n", "time"}), By: randomNames(rng), Where: where.expr,
		Time: "time", Step: pick(rng, []int64{0, 0, 7, 100, 1 << 40}),
	}
	if !slices.Contains(opts.By, "time") {
		opts.Step = 0
	}
	return op{fmt.Sprintf("sum %q by %q step %d where %s", opts.Sum, opts.By, opts.Step, where), func(r *opRun) (string, error) {
		g, err := r.table.Aggregate(context.Background(), r.snaps[3], opts)
		if err != nil {
			return "", err
		}
		groups, names, err := groupsOf(g)
		return fmt.Sprint(names, "\n", strings.Join(oracle.CellTexts(groups), "\n")), err
	}}
}

// scanOp scans. The order of rows depends on the bucket and on the order of arrival. It is
// checked to be a valid order, and the rows left by a limit are not compared.
func scanOp(rng *rand.Rand) op {
	where := randomCondition(rng, rng.IntN(3))
	if rng.IntN(3) == 0 {
		where = newCondition(&oracle.Cond[string]{Op: "all"})
	}
	opts := ScanOptions{Where: where.expr, Ordered: rng.IntN(2) == 0}
	if rng.IntN(2) == 0 {
		opts.Columns = append(randomNames(rng), "time")
	}
	if rng.IntN(4) == 0 {
		opts.Limit = 1 + rng.IntN(40)
	}
	return op{fmt.Sprintf("scan %q ordered=%v limit=%d where %s", opts.Columns, opts.Ordered, opts.Limit, where), func(r *opRun) (string, error) {
		rows := slices.Collect(scanRows(r.T, r.table, r.snaps[3], opts))
		if opts.Ordered && opts.Columns == nil {
			if wrong := oracle.Disorder(r.width, bucketStarts(r.T, r.table, r.snaps[3]), wideKey, rows); wrong != "" {
				return "", fmt.Errorf("order: %s", wrong)
			}
		}
		if opts.Limit > 0 {
			return fmt.Sprint(len(rows), " rows"), nil
		}
		return strings.Join(oracle.Texts(rows), "\n"), nil
	}}
}

// namesOp queries the names that are known without reading rows.
func namesOp(*rand.Rand) op {
	return op{"columns, series and notes", func(r *opRun) (string, error) {
		snap := r.snaps[3]
		columns, err := r.table.Columns(snap)
		if err != nil {
			return "", err
		}
		series, err := r.table.Series(context.Background(), snap, Expr{})
		if err != nil {
			return "", err
		}
		notes, err := r.table.Notes(snap)
		lines := []string{fmt.Sprint(columns), fmt.Sprint(notes)}
		for _, s := range series {
			lines = append(lines, fmt.Sprint(s))
		}
		return strings.Join(lines, "\n"), err
	}}
}
