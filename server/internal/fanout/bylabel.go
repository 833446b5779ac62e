package fanout

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/internal/means"
	"github.com/granarydb/granary/profile"
)

// Sums by a label are exact: nodes answer with whole numbers by source, and a mean is made of them all (F6). One question has the sums
// of a range by step, and of the ranges that it is compared with.

// ByLabelPath is the path of a node's answer with sums by a label: to a GET with the parameters of GET /pprof, label, step, means=1 and
// sides, the ranges to compare with, "FROM--TO,..." in Unix nanoseconds. Without a label it has only the oldest time.
const ByLabelPath = "/by-label"

// ByLabelAnswer is a node's answer at ByLabelPath. Its lists are columns, because a list of columns in JSON takes little more memory
// decoded than encoded.
type ByLabelAnswer struct {
	Oldest  int64          `json:"oldest"` // time of the oldest profile of all, Unix nanoseconds; 0 without any
	Values  []string       `json:"values"` // of the label, "" for none
	Newest  []int64        `json:"newest"` // by value: time of the newest profile in the range, 0 without any
	Sources []string       `json:"sources"`
	Ranges  []ByLabelRange `json:"ranges"` // the one asked for, then each to compare with, which is one step
}

// ByLabelRange has lines, each of a value and a source, and for means the numbers of times of each source.
type ByLabelRange struct {
	Sums  ByLabelLines `json:"sums"`
	Times ByLabelLines `json:"times"` // Value is not used
}

// ByLabelLines are lines and their points, one line after the other.
type ByLabelLines struct {
	Value  []int   `json:"value"`  // by line: index in Values
	Source []int   `json:"source"` // by line: index in Sources
	Length []int   `json:"length"` // by line: number of points
	At     []int64 `json:"at"`     // by point: start of the step
	Number []int64 `json:"number"` // by point
}

// Add adds a line.
func (l *ByLabelLines) Add(value, source int, points []profile.Point) {
	l.Value, l.Source, l.Length = append(l.Value, value), append(l.Source, source), append(l.Length, len(points))
	for _, p := range points {
		l.At, l.Number = append(l.At, p.Time), append(l.Number, p.Value)
	}
}

// check returns an error for lines with a wrong index or number.
func (l *ByLabelLines) check(values, sources int) error {
	if len(l.Value) != len(l.Source) || len(l.Value) != len(l.Length) || len(l.At) != len(l.Number) {
		return errors.New("columns of different lengths")
	}
	left := len(l.At)
	for i := range l.Value {
		if v, s, n := l.Value[i], l.Source[i], l.Length[i]; v < 0 || v >= values || s < 0 || s >= sources || n < 0 || n > left {
			return fmt.Errorf("line %d of value %d and source %d has %d points", i, v, s, n)
		}
		left -= l.Length[i]
	}
	if left != 0 {
		return fmt.Errorf("%d points of no line", left)
	}
	return nil
}

// each calls f with each point and its line's value and source.
func (l *ByLabelLines) each(f func(value, source int, at, number int64)) {
	from := 0
	for i, n := range l.Length {
		for k := from; k < from+n; k++ {
			f(l.Value[i], l.Source[i], l.At[k], l.Number[k])
		}
		from += n
	}
}

// ByLabel is a question for sums by a label.
type ByLabel struct {
	Typed
	Name     string // of the type, as nodes know it
	Selector string
	Query    profile.Query // both bounds of the range, SumKinds and SumGauges
	Label    string
	Step     int64
	Sides    [][2]int64 // ranges to compare with: from, to
}

// LabelRow has the sums of one value of a label.
type LabelRow struct {
	Value   string          // "" for profiles without the label
	Points  []profile.Point // of the range, sorted by time
	Total   int64           // of the range
	Before  []int64         // by side
	Sources int             // sources with a value in the range
	Newest  int64           // time of the newest profile in the range, 0 without any
}

// LabelRows has a row for each value of a label, in the order in which they came.
type LabelRows struct {
	List  []LabelRow
	sides int
	index map[string]int
}

// NewLabelRows returns no rows, of a question with a number of sides.
func NewLabelRows(sides int) *LabelRows { return &LabelRows{sides: sides, index: map[string]int{}} }

// Row returns the row of a value, which it adds if there is none. It is valid until the next call.
func (r *LabelRows) Row(value string) *LabelRow {
	i, known := r.index[value]
	if !known {
		i, r.index[value] = len(r.List), len(r.List)
		r.List = append(r.List, LabelRow{Value: value, Before: make([]int64, r.sides)})
	}
	return &r.List[i]
}

// HasMeans reports whether values are means of gauges.
func (q *ByLabel) HasMeans() bool { return q.Type.IsGauge() && !q.Query.SumGauges }

// parameters returns the question as a node takes it.
func (q *ByLabel) parameters() string {
	ask := url.Values{"type": {q.Name}, "selector": {q.Selector}, "label": {q.Label}, "step": {strconv.FormatInt(q.Step, 10)}}
	for name, nanos := range map[string]int64{"from": q.Query.From, "to": q.Query.To} {
		ask.Set(name, time.Unix(0, nanos).UTC().Format(time.RFC3339Nano))
	}
	if q.HasMeans() {
		ask.Set("means", "1")
	}
	sides := make([]string, len(q.Sides))
	for i, side := range q.Sides {
		sides[i] = fmt.Sprintf("%d--%d", side[0], side[1])
	}
	ask.Set("sides", strings.Join(sides, ","))
	return ask.Encode()
}

// Oldest returns the oldest profile's time on all nodes in Unix nanoseconds, or 0 if there is none.
func (s *Set) Oldest(ctx context.Context) (oldest int64, err error) {
	ask := []Question{{Path: ByLabelPath, Media: "application/json"}}
	err = s.gather(ctx, s.nodes, 0.5, ask, func(i int, replies []reply) error {
		var of ByLabelAnswer
		if err := json.Unmarshal(replies[0].body, &of); err != nil {
			return s.nodes[i].away("a wrong answer: %v", err)
		}
		if oldest == 0 || of.Oldest != 0 && of.Oldest < oldest {
			oldest = of.Oldest
		}
		return nil
	})
	return oldest, err
}

// ByLabel returns a row for each value of a label in the range or in a side, in no order, and whether each side has any values.
func (s *Set) ByLabel(ctx context.Context, q *ByLabel) (rows []LabelRow, has []bool, err error) {
	nodes := s.nodesOf(q.Typed)
	sums, kinds := newLabelSums(q), kindsOf{}
	ask := []Question{{Path: ByLabelPath + "?" + q.parameters(), Media: "application/json", Kinds: !q.Query.SumKinds}}
	err = s.gather(ctx, nodes, 0.25, ask, func(i int, replies []reply) error {
		const decoded = 16 // bytes in memory for a byte of the answer
		if size := int64(len(replies[0].body)); size > s.opts.Memory/decoded {
			return fmt.Errorf("%w: an answer of %d bytes by a label, at most %d", columnstore.ErrQueryMemory, size, s.opts.Memory/decoded)
		}
		var of ByLabelAnswer
		if err := json.Unmarshal(replies[0].body, &of); err != nil {
			return nodes[i].away("a wrong answer: %v", err)
		}
		if err := sums.check(&of); err != nil {
			return nodes[i].away("a wrong answer: %v", err)
		}
		if ask[0].Kinds && len(of.Values) > 0 {
			if err := kinds.add(nodes[i], replies[0].kinds); err != nil {
				return err
			}
		}
		sums.add(&of)
		const cell = 100 // bytes of a number and its place in a map
		if size := cell * int64(sums.numbers()); size > s.opts.Memory {
			return fmt.Errorf("%w: %d bytes for sums by a label, at most %d", columnstore.ErrQueryMemory, size, s.opts.Memory)
		}
		return nil
	})
	if err == nil {
		err = kinds.check(q.Type)
	}
	if err != nil {
		return nil, nil, err
	}
	rows, has = sums.rows()
	return rows, has, nil
}

// labelSums has the sums of all nodes.
type labelSums struct {
	hasMeans bool
	ranges   []labelRange // the one asked for, then the sides
	newest   map[string]int64
	sources  map[labelCell]bool // of the range, without steps
}

// labelRange has the sums of a range.
type labelRange struct {
	sums  map[labelCell]int64
	times map[sourceTime]int64 // of means
}

// labelCell is a value, a source, unless sums are added up over sources, and a step.
type labelCell struct {
	value, source string
	at            int64
}

func newLabelSums(q *ByLabel) *labelSums {
	s := &labelSums{hasMeans: q.HasMeans(), newest: map[string]int64{}, sources: map[labelCell]bool{}, ranges: make([]labelRange, 1+len(q.Sides))}
	for i := range s.ranges {
		s.ranges[i] = labelRange{map[labelCell]int64{}, map[sourceTime]int64{}}
	}
	return s
}

// numbers returns how many numbers there are.
func (s *labelSums) numbers() int {
	n := len(s.newest) + len(s.sources)
	for _, r := range s.ranges {
		n += len(r.sums) + len(r.times)
	}
	return n
}

// check returns an error for an answer that is malformed.
func (s *labelSums) check(of *ByLabelAnswer) error {
	if len(of.Ranges) != len(s.ranges) || len(of.Newest) != len(of.Values) {
		return fmt.Errorf("%d ranges, want %d, and %d times of %d values", len(of.Ranges), len(s.ranges), len(of.Newest), len(of.Values))
	}
	for i := range of.Ranges {
		r := &of.Ranges[i]
		if err := cmp.Or(r.Sums.check(len(of.Values), len(of.Sources)), r.Times.check(1, len(of.Sources))); err != nil {
			return err
		}
		for _, times := range r.Times.Number {
			if times < 1 || times > mostTimes {
				return fmt.Errorf("a source at %d times", times)
			}
		}
	}
	return nil
}

// add adds a node's answer.
func (s *labelSums) add(of *ByLabelAnswer) {
	for i, value := range of.Values {
		s.newest[value] = max(s.newest[value], of.Newest[i])
	}
	for i := range of.Ranges {
		to := &s.ranges[i]
		of.Ranges[i].Sums.each(func(value, source int, at, number int64) {
			cell := labelCell{of.Values[value], of.Sources[source], 0}
			if i == 0 {
				s.sources[cell] = true
			}
			if cell.at = at; !s.hasMeans {
				cell.source = ""
			}
			to.sums[cell] += number
		})
		of.Ranges[i].Times.each(func(_, source int, at, number int64) { to.times[sourceTime{of.Sources[source], at}] += number })
	}
}

// rows returns a row for each value, and whether each side has any.
func (s *labelSums) rows() (rows []LabelRow, has []bool) {
	all := NewLabelRows(len(s.ranges) - 1)
	for i, r := range s.ranges {
		points, totals := r.values(s.hasMeans)
		for value, total := range totals {
			if i == 0 {
				all.Row(value).Total = total
			} else {
				all.Row(value).Before[i-1] = total
			}
		}
		if i > 0 {
			has = append(has, len(totals) > 0)
			continue
		}
		for _, cell := range slices.SortedFunc(maps.Keys(points), func(a, b labelCell) int { return cmp.Compare(a.at, b.at) }) {
			row := all.Row(cell.value)
			row.Points = append(row.Points, profile.Point{Time: cell.at, Value: points[cell]})
		}
	}
	for of := range s.sources {
		all.Row(of.value).Sources++
	}
	for i := range all.List {
		all.List[i].Newest = s.newest[all.List[i].Value]
	}
	return all.List, has
}

// values returns the sums or the means of the range by value and step, and by value.
func (r *labelRange) values(hasMeans bool) (points map[labelCell]int64, totals map[string]int64) {
	if !hasMeans {
		totals = map[string]int64{}
		for cell, sum := range r.sums {
			totals[cell.value] += sum
		}
		return r.sums, totals
	}
	steps, whole, ofSource, all := map[labelCell]*means.Total{}, map[labelCell]*means.Total{}, map[labelCell]int64{}, map[string]int64{}
	for of, times := range r.times {
		all[of.source] += times
	}
	add := func(to map[labelCell]*means.Total, cell labelCell, sum, times int64) {
		if to[cell] == nil {
			to[cell] = &means.Total{}
		}
		to[cell].Add(sum, max(1, times))
	}
	for cell, sum := range r.sums {
		add(steps, labelCell{cell.value, "", cell.at}, sum, r.times[sourceTime{cell.source, cell.at}])
		ofSource[labelCell{cell.value, cell.source, 0}] += sum
	}
	for cell, sum := range ofSource {
		add(whole, labelCell{cell.value, "", 0}, sum, all[cell.source])
	}
	points, totals = map[labelCell]int64{}, map[string]int64{}
	for cell, mean := range steps {
		points[cell] = mean.Value()
	}
	for cell, mean := range whole {
		totals[cell.value] = mean.Value()
	}
	return points, totals
}
