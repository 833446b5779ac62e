package columnstore

import (
	"errors"
	"fmt"
	"hash/maphash"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/internal/oracle"
)

// cases is a finder of cases known only to the caller: the case is a hash of the values and
// the time. It checks the arguments of its calls.
type cases struct {
	t      *testing.T
	of     []string // types of the columns
	types  []encoding.Type
	most   uint32 // group of a row
	spread uint32 // from one subject to the next

	mu       sync.Mutex
	subjects map[string]uint32
	texts    []string
	asked    int
}

// group returns the group of rows with some values at a time.
func (c *cases) group(values string, at int64) uint32 {
	hash := maphash.String(caseSeed, fmt.Sprint(values, at>>3))
	return uint32(hash % uint64(c.most))
}

var caseSeed = maphash.MakeSeed()

func (c *cases) asOf(time string) *AsOf {
	c.subjects, c.texts = map[string]uint32{"": 0}, []string{""}
	return &AsOf{Time: time, Of: c.of, New: func(take func(int64) error) CaseFinder {
		if err := take(1); err != nil {
			c.t.Error(err)
		}
		return c
	}}
}

func (c *cases) Subject(subject uint32, column int, v Cell) (uint32, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	values := c.texts[subject/c.spread] + caseText(c.value(column, v))
	if strings.Count(c.texts[subject/c.spread], ";") != column {
		return 0, fmt.Errorf("column %d of subject %q", column, c.texts[subject/c.spread])
	}
	next, known := c.subjects[values]
	if !known {
		next = uint32(len(c.texts)) * c.spread
		c.subjects[values] = next
		c.texts = append(c.texts, values)
	}
	return next, nil
}

func caseText(v any) string { return oracle.Text(v) + ";" }

// value returns a cell's value, as rows have it.
func (c *cases) value(column int, v Cell) any {
	if v.Null {
		if v.Bytes != nil {
			c.t.Errorf("a null of %q has the bytes %q", c.of[column], v.Bytes)
		}
		return nil
	}
	switch c.types[column] {
	case encoding.Int64:
		return encoding.ToInt64(v.Word)
	case encoding.Uint64:
		return v.Word
	case encoding.Float64:
		return encoding.ToFloat64(v.Word)
	case encoding.Bool:
		return v.Word != 0
	case encoding.UUID:
		return uuid.UUID(v.Bytes)
	}
	return string(v.Bytes)
}

func (c *cases) Groups(subject uint32, times []int64, groups []uint32) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked += len(times)
	if len(times) == 0 || len(groups) != len(times) || !slices.IsSorted(times) || len(slices.Compact(slices.Clone(times))) != len(times) {
		return fmt.Errorf("asked for %d groups at the times %v", len(groups), times)
	}
	values := c.texts[subject/c.spread]
	if strings.Count(values, ";") != len(c.of) {
		return fmt.Errorf("asked for the group of %q of %q", values, c.of)
	}
	for i, at := range times {
		groups[i] = c.group(values, at)
	}
	return nil
}

// Groups by case equal those computed row by row, for columns of any type and at any place,
// before and after compaction (C2, C3).
func TestAggregate_AsOf(t *testing.T) {
	effort.Long(t)
	asked, rows := 0, 0
	for seed := range uint64(effort.Part(40, 4+6*boolInt(effort.Race))) {
		a := newQueryAsker(t, 1000+seed)
		for _, when := range []string{"empty", "fresh", "compacted", "fresh upon base", "compacted"} {
			if when == "compacted" {
				a.compact()
			} else if when != "empty" {
				a.insertSome(a.total / 2)
			}
			v := a.view(when)
			for range 6 {
				n, of := a.askAsOf(v)
				asked, rows = asked+n, rows+of
			}
		}
		if t.Failed() {
			return
		}
	}
	if t.Logf("%d rows, asked for %d", rows, asked); asked == 0 || asked > rows*9/10 {
		t.Errorf("of %d rows it was asked for %d", rows, asked)
	}
}

// randomCases makes a finder of cases of random columns, at a column's times.
func (a *queryAsker) randomCases() (c *cases, of []int, time string) {
	time = "time"
	if a.has("duration") && a.rng.IntN(4) == 0 {
		time = "duration"
	}
	c = &cases{t: a.T, most: pick(a.rng, []uint32{1, 2, 5, 200, math.MaxUint32}), spread: pick(a.rng, []uint32{1, 1, 1000})}
	for range a.rng.IntN(4) {
		i := a.rng.IntN(len(a.columns))
		if a.columns[i].of.Type != encoding.UUIDList {
			of = append(of, i)
			c.of, c.types = append(c.of, a.columns[i].name), append(c.types, a.columns[i].of.Type)
		}
	}
	return c, of, time
}

// rows returns rows with their group as an extra value.
func (c *cases) rows(chosen []oracle.Cells, of []int, time int) (out []oracle.Cells) {
	for _, row := range chosen {
		values := ""
		for _, i := range of {
			values += caseText(row[i])
		}
		out = append(out, append(slices.Clip(row), uint64(c.group(values, row[time].(int64)))))
	}
	return out
}

func (a *queryAsker) askAsOf(v *queryView) (asked, rows int) {
	where, chosen := a.randomWhere(v)
	opts := AggregateOptions{Where: a.expr(where), By: a.randomNames(), Sum: pick(a.rng, []string{"", "value"})}
	if a.rng.IntN(2) == 0 {
		opts.By = []string{"stack"}
	}
	stepped := -1
	if a.rng.IntN(3) == 0 {
		opts.Time, opts.Step, opts.By = "time", 1000, append(opts.By, "time")
		stepped = a.index("time")
	}
	c, of, time := a.randomCases()
	opts.AsOf = c.asOf(time)
	by := v.expand(opts.By)
	a.question = fmt.Sprintf("sum %q by %q as of %q, %q, step %d where %s", opts.Sum, opts.By, time, c.of, opts.Step, where.Text(a.columnName))
	groups, err := a.table.Aggregate(a.Context(), v.snap, opts)
	if err != nil {
		a.errorf(v, "aggregate: %v", err)
		return 0, 0
	}
	// The oracle's rows have the group as an extra value.
	with := *v
	with.querySet = &querySet{columns: append(slices.Clip(a.columns), queryColumn{name: "case"}), def: a.def}
	want := with.groups(c.rows(chosen, of, a.index(time)), append(slices.Clip(by), len(a.columns)), a.index(opts.Sum), stepped, opts.Step)
	last := groups.Columns[len(groups.Columns)-1]
	groups.Columns = groups.Columns[:len(groups.Columns)-1]
	got := a.groupRows(v, groups, by)
	if last.Name != "" || len(last.Values.Uint64s) != len(got) {
		a.errorf(v, "%d groups, the column %q has %d", len(got), last.Name, len(last.Values.Uint64s))
		return 0, 0
	}
	for i := range got {
		got[i] = slices.Insert(got[i], len(by), any(last.Values.Uint64s[i]))
	}
	if wrong := oracle.Diff(want, got, false); wrong != "" {
		a.errorf(v, "groups, sums and counts: %s", wrong)
	}
	return c.asked, len(chosen)
}

// Several goroutines, each with a finder of its own, get the same answer, and reserve memory
// together.
func TestAggregate_AsOfOfSeveral(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	m := newLargeTable(t, Options{})
	compact(t, m.store)
	m.snap = snapshot(t, m.store)
	c := &cases{t: t, of: []string{"labels.pod"}, types: []encoding.Type{encoding.String}, most: 3, spread: 1}
	asOf := c.asOf("time")
	finders := 0
	inner := asOf.New
	asOf.New = func(take func(int64) error) CaseFinder { finders++; return inner(take) }
	opts := AggregateOptions{Sum: "value", AsOf: asOf}
	got, err := m.table.Aggregate(t.Context(), m.snap, opts)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := m.table.Aggregate(t.Context(), m.snap, AggregateOptions{Sum: "value", By: []string{"labels.pod", "time"}})
	if err != nil {
		t.Fatal(err)
	}
	want := map[uint32][2]int64{}
	for i, sum := range rows.Sums {
		group := c.group(caseText(rows.Columns[0].Values.Strings[i]), rows.Columns[1].Values.Int64s[i])
		want[group] = [2]int64{want[group][0] + sum, want[group][1] + rows.Counts[i]}
	}
	for i, group := range got.Columns[0].Values.Uint64s {
		if of := [2]int64{got.Sums[i], got.Counts[i]}; of != want[uint32(group)] {
			t.Errorf("group %d has sum and count %v, want %v", group, of, want[uint32(group)])
		}
	}
	if len(got.Sums) != len(want) || finders < 2 {
		t.Errorf("%d groups, want %d; %d finders", len(got.Sums), len(want), finders)
	}
	opts.MaxBytes = 1 << 20
	asOf.New = func(take func(int64) error) CaseFinder { return failing{take: take} }
	if _, err := m.table.Aggregate(t.Context(), m.snap, opts); !errors.Is(err, ErrQueryMemory) {
		t.Errorf("finders that take more than there may be: %v", err)
	}
}

// failing is a finder that fails.
type failing struct {
	take           func(bytes int64) error
	subject        uint32
	atSubject, err error
}

func (f failing) Subject(uint32, int, Cell) (uint32, error) { return f.subject, f.atSubject }
func (f failing) Groups(uint32, []int64, []uint32) error {
	if f.err != nil {
		return f.err
	}
	return f.take(1 << 18)
}

func TestAggregate_AsOfErrors(t *testing.T) {
	store, table := open(t, Options{Manual: true, FutureLimit: -1}, samples(10))
	insert(t, table, at(1))
	insert(t, table, at(2))
	snap := snapshot(t, store)
	own := errors.New("of the finder")
	finder := func(f failing) func(func(int64) error) CaseFinder {
		return func(take func(int64) error) CaseFinder {
			f.take = take
			return f
		}
	}
	for _, test := range []struct {
		name string
		asOf AsOf
		want error
		text string
	}{
		{"unknown column", AsOf{Time: "time", Of: []string{"nope"}}, ErrQuery, `no column "nope"`},
		{"family", AsOf{Time: "time", Of: []string{"labels"}}, ErrQuery, `no column "labels"`},
		{"lists", AsOf{Time: "time", Of: []string{"stack"}}, ErrQuery, `"stack" is a list column`},
		{"no time", AsOf{}, ErrQuery, `no column ""`},
		{"time of strings", AsOf{Time: "kind"}, ErrQuery, `time "kind"`},
		{"time of a family", AsOf{Time: "tags.x"}, ErrQuery, `time "tags.x"`},
		{"subject too great", AsOf{Time: "time", Of: []string{"kind"}, New: finder(failing{subject: MaxSubject + 1})}, ErrQuery, "at most 1073741823"},
		{"error of a subject", AsOf{Time: "time", Of: []string{"kind"}, New: finder(failing{atSubject: own})}, own, ""},
		{"error of a row's subject", AsOf{Time: "time", Of: []string{"trace"}, New: finder(failing{atSubject: own})}, own, ""},
		{"error of groups", AsOf{Time: "time", New: finder(failing{err: own})}, own, ""},
		{"memory", AsOf{Time: "time", New: finder(failing{})}, ErrQueryMemory, ""},
	} {
		groups, err := table.Aggregate(t.Context(), snap, AggregateOptions{AsOf: &test.asOf, MaxBytes: 1 << 17})
		if groups != nil || !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.text) {
			t.Errorf("%s: %v, %v; want %v: %s", test.name, groups, err, test.want, test.text)
		}
	}
	groups, err := table.Aggregate(t.Context(), snap, AggregateOptions{AsOf: &AsOf{
		Time: "time", Of: []string{"kind"}, New: finder(failing{subject: MaxSubject}),
	}})
	if err != nil || len(groups.Sums) != 1 || groups.Counts[0] != 2 {
		t.Errorf("of the greatest subject: %+v, %v", groups, err)
	}
}
