package columnstore

import (
	"fmt"
	"hash/maphash"
	"math"
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
