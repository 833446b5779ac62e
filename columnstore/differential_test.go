package columnstore

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/internal/oracle"
)

var (
	seedFlag  = flag.Uint64("seed", 0, "run the differential test with this seed only")
	seedsFlag = flag.Uint64("seeds", uint64(effort.Part(16, 4)), "number of seeds of the differential test")
)

// TestDifferential asks random tables random questions and compares every answer with the
// oracle's (C3), in all states of maintenance, and again later from held snapshots (C2).
// Replay one with go test -run TestDifferential -seed N.
func TestDifferential(t *testing.T) {
	effort.Long(t)
	collectRarely(t)
	first, last := uint64(1), *seedsFlag
	if effort.Race {
		last = min(last, 6) // this test has one goroutine, and a slow oracle
	}
	if *seedFlag != 0 {
		first, last = *seedFlag, *seedFlag
	}
	asked, matched := 0, 0
	var stats Stats
	for seed := first; seed <= last; seed++ {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			d := newDifferential(t, seed)
			d.run()
			asked, matched = asked+d.asked, matched+d.matched
			s := d.store.Stats()
			stats.Splits += s.Splits
			stats.Compactions += s.Compactions
			if t.Failed() {
				t.Logf("replay with -run TestDifferential -seed %d", seed)
			}
		})
	}
	t.Logf("%d questions, %d of them chose some rows but not all; %d splits, %d compactions", asked, matched, stats.Splits, stats.Compactions)
	if *seedFlag == 0 && last >= 16 && (asked < 2000 || matched < asked/3 || stats.Splits == 0 || stats.Compactions == 0) {
		t.Error("too little was tested")
	}
}

// differential is one table and its oracle.
type differential struct {
	*testing.T
	rng   *rand.Rand
	seed  uint64
	width int64
	key   []string
	store *Store
	table *Table
	rows  []oracle.Row
	held  []heldSnapshot
	codes *codeInserter // inserts half of the batches, if there is one

	asked, matched int
}

// heldSnapshot is a snapshot and its expected rows.
type heldSnapshot struct {
	snap *Snapshot
	rows []oracle.Row
	when string
}

func newDifferential(t *testing.T, seed uint64) *differential {
	rng := rand.New(rand.NewPCG(seed, 99))
	d := &differential{T: t, rng: rng, seed: seed, key: keys[int(seed)%len(keys)]}
	if seed%4 != 0 {
		d.width = 100
	}
	d.store, d.table = open(t, Options{Manual: true, GranuleRows: 1 + rng.IntN(30), FreshParts: 2}, wide(d.width, d.key))
	return d
}

func (d *differential) run() {
	d.look("empty")
	d.insertSome(150)
	d.look("fresh")
	d.rewriteSome()
	d.look("half compacted")
	compact(d.T, d.store)
	d.look("compacted")
	d.insertSome(80)
	d.look("fresh upon base")
	if err := d.store.Maintain(context.Background()); err != nil {
		d.Fatal(err)
	}
	d.look("maintained")
	compact(d.T, d.store)
	d.look("compacted again")
	for _, h := range d.held {
		d.askSome(h.when+", held", h.snap, h.rows, 4)
	}
}

// look asks questions of a new snapshot and holds it.
func (d *differential) look(when string) {
	snap := snapshot(d.T, d.store)
	d.held = append(d.held, heldSnapshot{snap, d.rows, when})
	d.askSome(when, snap, d.rows, 8)
}

func (d *differential) insertSome(n int) {
	rows := randomRows(d.rng, n)
	d.rows = slices.Concat(d.rows, rows)
	for len(rows) > 0 {
		k := min(len(rows), d.rng.IntN(40))
		if d.codes != nil && d.rng.IntN(2) == 0 {
			d.codes.insert(d.T, rows[:k])
		} else {
			insert(d.T, d.table, batchOf(d.rng, rows[:k]))
		}
		rows = rows[k:]
	}
}

// rewriteSome rewrites about half of the granules.
func (d *differential) rewriteSome() {
	for _, g := range d.store.roots.Root().State.Table(d.table.ordinal).Granules.All() {
		if d.rng.IntN(2) == 0 {
			continue
		}
		if ok, err := d.store.maintainer.rewrite(d.table, g); !ok || err != nil {
			d.Errorf("a rewrite without a rival was not published: %v", err)
		}
	}
}

func (d *differential) askSome(when string, snap *Snapshot, rows []oracle.Row, n int) {
	names, err := d.table.Columns(snap)
	if want := concreteNames(rows); err != nil || !slices.Equal(names, want) {
		d.Errorf("%s: columns %v, %v; want %v", when, names, err, want)
	}
	d.askSeries(when, snap, rows)
	d.askColumnsOf(when, snap, rows, names)
	for range n {
		where := randomCondition(d.rng, d.rng.IntN(4))
		if d.rng.IntN(8) == 0 {
			where = newCondition(&oracle.Cond[string]{Op: "all"})
		}
		var chosen []oracle.Row
		for _, row := range rows {
			if where.holds(row) {
				chosen = append(chosen, row)
			}
		}
		d.asked += 2
		if len(chosen) > 0 && len(chosen) < len(rows) {
			d.matched += 2
		}
		d.askAggregate(when, snap, rows, chosen, where)
		d.askScan(when, snap, rows, chosen, where)
	}
}

// askColumnsOf queries the columns of each dynamic column, of all times and of a range. Those of a range are at least those of its
// rows.
func (d *differential) askColumnsOf(when string, snap *Snapshot, rows []oracle.Row, names []string) {
	from := int64(d.rng.IntN(6000) - 3000)
	to := from + 1 + int64(d.rng.IntN(1000))
	var inRange []oracle.Row
	for _, row := range rows {
		if at := row["time"].(int64); at >= from && at < to {
			inRange = append(inRange, row)
		}
	}
	for _, c := range d.table.Schema().Columns() {
		if !c.Dynamic {
			continue
		}
		of := func(all []string) []string {
			return slices.DeleteFunc(slices.Clone(all), func(name string) bool { return !strings.HasPrefix(name, c.Name+".") })
		}
		whole, err := d.table.ColumnsOf(snap, c.Name, math.MinInt64, math.MaxInt64)
		if want := of(names); err != nil || !slices.Equal(whole, want) {
			d.Errorf("%s: columns of %s: %v, %v; want %v", when, c.Name, whole, err, want)
		}
		some, err := d.table.ColumnsOf(snap, c.Name, from, to)
		isNotIn := func(set []string) func(string) bool {
			return func(name string) bool { return !slices.Contains(set, name) }
		}
		if want := of(concreteNames(inRange)); err != nil || slices.ContainsFunc(want, isNotIn(some)) || slices.ContainsFunc(some, isNotIn(whole)) {
			d.Errorf("%s: columns of %s from %d to %d: %v, %v; want at least %v and at most %v", when, c.Name, from, to, some, err, want, whole)
		}
	}
	if _, err := d.table.ColumnsOf(snap, "time", from, to); !errors.Is(err, ErrQuery) {
		d.Errorf("%s: columns of a column that is not dynamic: %v", when, err)
	}
}

// askSeries queries the series of all rows, and of rows whose buckets overlap a range.
func (d *differential) askSeries(when string, snap *Snapshot, rows []oracle.Row) {
	from := int64(d.rng.IntN(6000) - 3000)
	for _, r := range [][2]int64{{math.MinInt64, math.MaxInt64}, {from, from + 1 + int64(d.rng.IntN(1000))}} {
		want := map[string]bool{}
		for _, row := range rows {
			start := row["time"].(int64)
			if d.width > 0 {
				start = oracle.Floor(start, d.width)
			}
			if d.width == 0 || start < r[1] && start+d.width > r[0] {
				want[oracle.Text(seriesOf(d.table, row))] = true
			}
		}
		series, err := d.table.Series(context.Background(), snap, between(r[0], r[1]))
		got := map[string]bool{}
		for _, s := range series {
			labels := oracle.Row{}
			for _, l := range s {
				labels[l.Name] = l.Value
			}
			got[oracle.Text(labels)] = true
		}
		if err != nil || len(got) != len(series) || !maps.Equal(got, want) {
			d.Errorf("%s: series of %v: %v (-want +got):\n%s", when, r, err, gocmp.Diff(want, got))
		}
	}
}

// randomColumns picks names of columns and families.
func (d *differential) randomColumns() []string {
	all := append(slices.Sorted(maps.Keys(domains)), "labels", "tags", "nums", "ids", "memo", "time", "labels.none", "nums.none")
	d.rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all[:d.rng.IntN(5)]
}

func (d *differential) askAggregate(when string, snap *Snapshot, rows, chosen []oracle.Row, where condition) {
	opts := AggregateOptions{
		Sum: pick(d.rng, []string{"", "value", "value", "bonus", "nums.n", "nums.none", "time"}),
		By:  d.randomColumns(), Where: where.expr,
	}
	if d.rng.IntN(5) == 0 {
		opts.By = nil
	}
	if d.width > 0 && slices.Contains(opts.By, "time") && d.rng.IntN(2) == 0 {
		opts.Step = pick(d.rng, []int64{1, 7, 100, 1000, 1 << 40})
	}
	question := fmt.Sprintf("%s: sum %q by %q step %d where %s", when, opts.Sum, opts.By, opts.Step, where)
	got, err := d.table.Aggregate(context.Background(), snap, opts)
	if err != nil {
		d.Errorf("%s: %v", question, err)
		return
	}
	var by []string
	for _, name := range opts.By {
		by = append(by, expand(rows, name)...)
	}
	of := make([]func(oracle.Row) any, len(by))
	for i, name := range by {
		of[i] = func(row oracle.Row) any {
			if name == "time" && opts.Step > 0 {
				return oracle.Floor(row[name].(int64), opts.Step)
			}
			return row[name]
		}
	}
	want := oracle.Groups(chosen, of, func(row oracle.Row) int64 {
		sum, _ := row[opts.Sum].(int64)
		return sum
	})
	groups, names, err := groupsOf(got)
	if err != nil {
		d.Errorf("%s: %v", question, err)
	}
	if !slices.Equal(names, by) {
		d.Errorf("%s: columns %q, want %q", question, names, by)
	}
	if wrong := oracle.Diff(want, groups, false); wrong != "" {
		d.Errorf("%s: groups, sums and counts: %s", question, wrong)
	}
}

// groupsOf returns groups in the oracle's form: their values, sum and count.
func groupsOf(g *Groups) (groups []oracle.Cells, names []string, err error) {
	for _, c := range g.Columns {
		names = append(names, c.Name)
	}
	seen := map[string]bool{}
	for i := range g.Counts {
		var group oracle.Cells
		for k := range g.Columns {
			group = append(group, valueOf(&g.Columns[k], i))
		}
		text := group.Text()
		if seen[text] {
			err = fmt.Errorf("group %s comes twice", text)
		}
		seen[text] = true
		groups = append(groups, append(group, g.Sums[i], g.Counts[i]))
	}
	return groups, names, err
}

func valueOf(c *GroupColumn, i int) any {
	if c.Values.Null(i) {
		return nil
	}
	switch c.Values.Type {
	case encoding.Int64:
		return c.Values.Int64s[i]
	case encoding.Uint64:
		return c.Values.Uint64s[i]
	case encoding.Float64:
		return c.Values.Float64s[i]
	case encoding.Bool:
		return c.Values.Bools[i]
	case encoding.String:
		return c.Values.Strings[i]
	case encoding.UUID:
		return c.Values.UUIDs[i]
	}
	return c.Lists.UUIDs(nil, c.Codes[i])
}

func (d *differential) askScan(when string, snap *Snapshot, rows, chosen []oracle.Row, where condition) {
	opts := ScanOptions{Where: where.expr, Ordered: d.rng.IntN(2) == 0}
	var names []string
	switch d.rng.IntN(3) {
	case 0:
		names = concreteNames(rows)
	default:
		for len(opts.Columns) == 0 {
			opts.Columns = d.randomColumns()
		}
		for _, name := range opts.Columns {
			names = append(names, expand(rows, name)...)
		}
		if len(names) == 0 { // families without columns: no schema to test
			return
		}
	}
	if d.rng.IntN(3) == 0 {
		opts.Limit = 1 + d.rng.IntN(2*len(chosen)+2)
	}
	question := fmt.Sprintf("%s: scan %q ordered=%v limit=%d where %s", when, opts.Columns, opts.Ordered, opts.Limit, where)
	got := slices.Collect(scanRows(d.T, d.table, snap, opts))
	n := len(chosen)
	if opts.Limit > 0 {
		n = min(n, opts.Limit)
	}
	if len(got) != n {
		d.Errorf("%s: %d rows, want %d", question, len(got), n)
	}
	for _, row := range got {
		for _, name := range names {
			if _, ok := row[name]; !ok {
				d.Errorf("%s: no column %q", question, name)
			}
		}
		for name := range row {
			if !slices.Contains(names, name) {
				d.Errorf("%s: column %q, want %q", question, name, names)
			}
		}
	}
	if wrong := oracle.Diff(cellsOf(chosen, names), cellsOf(got, names), opts.Limit > 0); wrong != "" {
		d.Errorf("%s: rows: %s", question, wrong)
	}
	if opts.Ordered {
		d.checkOrder(question, snap, opts, names, got)
	}
}

// checkOrder compares an ordered scan with a scan of all columns, whose order it checks.
func (d *differential) checkOrder(question string, snap *Snapshot, opts ScanOptions, names []string, got []map[string]any) {
	opts.Columns, opts.Limit = nil, 0
	full := slices.Collect(scanRows(d.T, d.table, snap, opts))
	if wrong := oracle.Disorder(d.width, nil, d.key, full); wrong != "" {
		d.Errorf("%s: %s", question, wrong)
	}
	for i, row := range got {
		if i >= len(full) {
			break
		}
		if want := oracle.Text(oracle.Project(full[i], names)); oracle.Text(row) != want {
			d.Errorf("%s: row %d is %s, with all columns %s", question, i, oracle.Text(row), want)
			return
		}
	}
}

// cellsOf returns the values of some columns of rows.
func cellsOf(rows []oracle.Row, names []string) []oracle.Cells {
	out := make([]oracle.Cells, len(rows))
	for i, row := range rows {
		for _, name := range names {
			out[i] = append(out[i], row[name])
		}
	}
	return out
}
