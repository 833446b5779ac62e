package query

import (
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/internal/oracle"
	"github.com/granarydb/granary/internal/query/filter"
	"github.com/granarydb/granary/internal/querytest"
	"github.com/granarydb/granary/schema"
)

// cases is a finder of cases: the group of a row is a hash of its values and its time. It is one finder for all goroutines.
type cases struct {
	of    []string // columns
	types []encoding.Type
	most  uint32 // groups, at most

	mu       sync.Mutex
	subjects map[string]uint32
	texts    []string // by subject
	asked    int      // times
}

func newCases(of []string, s *schema.Schema, most uint32) *cases {
	c := &cases{of: of, most: most, subjects: map[string]uint32{"": 0}, texts: []string{""}}
	for _, name := range of {
		column, _ := s.Resolve(name)
		c.types = append(c.types, s.Columns()[column].Type)
	}
	return c
}

func (c *cases) asOf() *AsOf {
	return &AsOf{Time: "time", Of: c.of, New: func(func(int64) error) CaseFinder { return c }}
}

// group returns the group of rows with some values at a time.
func (c *cases) group(values string, at int64) uint32 {
	h := fnv.New32a()
	fmt.Fprint(h, values, at>>3)
	return h.Sum32() % c.most
}

func (c *cases) Subject(subject uint32, column int, v Cell) (uint32, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.texts[subject]
	if strings.Count(before, ";") != column {
		return 0, fmt.Errorf("column %d of subject %q", column, before)
	}
	values := before + oracle.Text(c.value(column, v)) + ";"
	next, known := c.subjects[values]
	if !known {
		next = uint32(len(c.texts))
		c.subjects[values], c.texts = next, append(c.texts, values)
	}
	return next, nil
}

// value returns the value of a cell, as rows have it.
func (c *cases) value(column int, v Cell) any {
	switch {
	case v.Null:
		return nil
	case c.types[column] == encoding.Int64:
		return encoding.ToInt64(v.Word)
	case c.types[column] == encoding.Uint64:
		return v.Word
	case c.types[column] == encoding.Float64:
		return encoding.ToFloat64(v.Word)
	case c.types[column] == encoding.Bool:
		return v.Word != 0
	case c.types[column] == encoding.UUID:
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
	for i, at := range times {
		groups[i] = c.group(c.texts[subject], at)
	}
	return nil
}

// TestGroupRows_AsOf compares groups by cases with the oracle, which finds the case of each row: cases of columns of any type,
// beside other columns, steps and aggregates.
func TestGroupRows_AsOf(t *testing.T) {
	effort.Slow(t)
	asked, rows := 0, 0
	askAll(t, 40, func(rng *rand.Rand, table *querytest.Random, r *filter.Read, cond *oracle.Cond[string]) string {
		of := slices.DeleteFunc(some(rng, table), func(name string) bool { return name == "stack" })
		by := some(rng, table)
		c := newCases(of, r.Schema, []uint32{1, 3, 200}[rng.IntN(3)])
		opts := AggregateOptions{By: by, Step: stepFor(rng, by), Where: querytest.Expr(cond), AsOf: c.asOf()}
		isTimed := rng.IntN(3) > 0
		if !isTimed {
			opts.AsOf.Time = ""
		}
		byAggregates := rng.IntN(3) == 0
		if byAggregates {
			opts.Aggregates = []Aggregate{{Op: Sum, Column: "value"}}
		} else {
			opts.Sum = "value"
		}
		got, err := GroupRows(t.Context(), r, opts)
		if err != nil {
			return err.Error()
		}
		last := got.Columns[len(got.Columns)-1]
		if last.Name != "" {
			return "the last column is " + last.Name
		}
		chosen := table.Chosen(cond)
		if isTimed {
			asked, rows = asked+c.asked, rows+len(chosen)
		}
		values := append(valuesBy(by, opts.Step), func(row oracle.Row) any {
			text := ""
			for _, name := range of {
				text += oracle.Text(row[name]) + ";"
			}
			if !isTimed {
				return uint64(c.group(text, 0))
			}
			return uint64(c.group(text, row["time"].(int64)))
		})
		want := oracle.GroupBy(chosen, values, func(group []oracle.Row) oracle.Cells {
			total := int64(0)
			for _, row := range group {
				total += row["value"].(int64)
			}
			return oracle.Cells{total, int64(len(group))}
		})
		return oracle.Diff(want, cellsOf(got), false)
	})
	if asked == 0 || asked > rows*9/10 {
		t.Errorf("of %d rows the finders were asked for %d", rows, asked)
	}
}

// Several goroutines, each with a finder of its own, get the same answer, and reserve memory
// together.
func TestAggregate_AsOfOfSeveral(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	m := newLargeTable(t, querytest.Options{})
	m.table.Compact()
	r := m.table.Read()
	c := newCases([]string{"labels.pod"}, r.Schema, 3)
	asOf := c.asOf()
	finders := 0
	asOf.New = func(func(int64) error) CaseFinder { finders++; return c }
	opts := AggregateOptions{Sum: "value", AsOf: asOf}
	got, err := GroupRows(t.Context(), r, opts)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := GroupRows(t.Context(), r, AggregateOptions{Sum: "value", By: []string{"labels.pod", "time"}})
	if err != nil {
		t.Fatal(err)
	}
	want := map[uint32][2]int64{}
	for i, sum := range rows.Sums {
		group := c.group(oracle.Text(rows.Columns[0].Values.Strings[i])+";", rows.Columns[1].Values.Int64s[i])
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
	if _, err := GroupRows(t.Context(), r, opts); !errors.Is(err, ErrQueryMemory) {
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
	table := querytest.Open(t, querytest.Options{}, querytest.Samples(10))
	table.Insert(querytest.At(1))
	table.Insert(querytest.At(2))
	r := table.Read()
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
		{"unknown column", AsOf{Time: "time", Of: []string{"nope"}}, filter.ErrQuery, `no column "nope"`},
		{"family", AsOf{Time: "time", Of: []string{"labels"}}, filter.ErrQuery, `no column "labels"`},
		{"lists", AsOf{Time: "time", Of: []string{"stack"}}, filter.ErrQuery, `"stack" is a list column`},
		{"error of groups without a time", AsOf{Of: []string{"kind"}, New: finder(failing{err: own})}, own, ""},
		{"time of strings", AsOf{Time: "kind"}, filter.ErrQuery, `time "kind"`},
		{"time of a family", AsOf{Time: "tags.x"}, filter.ErrQuery, `time "tags.x"`},
		{"subject too great", AsOf{Time: "time", Of: []string{"kind"}, New: finder(failing{subject: MaxSubject + 1})}, filter.ErrQuery, "at most 1073741823"},
		{"error of a subject", AsOf{Time: "time", Of: []string{"kind"}, New: finder(failing{atSubject: own})}, own, ""},
		{"error of a row's subject", AsOf{Time: "time", Of: []string{"trace"}, New: finder(failing{atSubject: own})}, own, ""},
		{"error of groups", AsOf{Time: "time", New: finder(failing{err: own})}, own, ""},
		{"memory", AsOf{Time: "time", New: finder(failing{})}, ErrQueryMemory, ""},
	} {
		groups, err := GroupRows(t.Context(), r, AggregateOptions{AsOf: &test.asOf, MaxBytes: 1 << 17})
		if groups != nil || !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.text) {
			t.Errorf("%s: %v, %v; want %v: %s", test.name, groups, err, test.want, test.text)
		}
	}
	groups, err := GroupRows(t.Context(), r, AggregateOptions{AsOf: &AsOf{
		Time: "time", Of: []string{"kind"}, New: finder(failing{subject: MaxSubject}),
	}})
	if err != nil || len(groups.Sums) != 1 || groups.Counts[0] != 2 {
		t.Errorf("of the greatest subject: %+v, %v", groups, err)
	}
}
