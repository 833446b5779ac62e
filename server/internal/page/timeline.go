package page

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/profile/tree"
	"github.com/granarydb/granary/server/internal/fault"
)

// Bounds on a timeline, whose columns have a stack each.
const (
	mostColumns    = 4000
	defaultColumns = 1000
)

// TimelineAnswer is the answer to GET /api/v1/timeline: stacks in order of time.
type TimelineAnswer struct {
	Head
	SampleType string `json:"sample_type"`
	Unit       string `json:"unit"`
	// Step is the nanoseconds of a column. Time has the start of each column with samples. Columns without samples are omitted.
	Step int64    `json:"step"`
	Time []string `json:"time"`
	// Node is, by column, the end of the stack with the greatest value. Value is its value, and Total is that of all stacks of the
	// column, of which Stacks is the number.
	Node   []int32 `json:"node"`
	Value  []int64 `json:"value"`
	Total  []int64 `json:"total"`
	Stacks []int   `json:"stacks"`
	// Parent and Function are, by node, the caller, -1 for none, and a place in Names.
	Parent   []int32  `json:"parent"`
	Function []int32  `json:"function"`
	Names    []string `json:"names"`
}

// timelineOf answers GET /api/v1/timeline.
func timelineOf(ctx context.Context, q *pageQuestion) (pageAnswer, error) {
	columns := q.number("pixels", defaultColumns, mostColumns)
	query, name := q.side(ctx, "")
	if columns == 0 {
		q.refuse(fault.TooCostly("0 pixels, at least 1"))
	}
	if query.From == 0 {
		q.refuse(fault.Invalid("parameter from is missing: stacks in order of time are of a range"))
	}
	if q.err != nil {
		return nil, q.err
	}
	if q.of.Has("attribute") {
		s, err := q.states()
		if err == nil {
			query.Where, err = q.ofAttribute(s)
		}
		if err != nil {
			return nil, err
		}
	}
	found, err := q.findType(ctx, query, name)
	if err != nil {
		return nil, err
	}
	to := query.To
	if to == 0 {
		newest, err := q.view.Newest(ctx)
		if err != nil {
			return nil, err
		}
		to = max(newest, query.From) + 1
	}
	step := roundStep((to - query.From + int64(columns) - 1) / int64(columns))
	times, err := q.at.DB.MergeByTime(ctx, q.at.Snap, found.Type, query, time.Duration(step))
	if err != nil {
		return nil, err
	}
	m := timelineMaker{index: map[[2]int32]int32{}, names: map[string]int32{}, most: q.page.Read.QueryBytes, out: &TimelineAnswer{
		SampleType: found.Type.Sample, Unit: found.Type.SampleUnit, Step: step, Time: []string{}, Node: []int32{}, Value: []int64{}, Total: []int64{},
		Stacks: []int{}, Parent: []int32{}, Function: []int32{}, Names: []string{},
	}}
	for _, t := range times {
		if err := m.add(ctx, t); err != nil {
			return nil, err
		}
	}
	return m.out, nil
}

// roundStep returns the next 1, 2 or 5 times a power of ten, so that whole seconds stay whole.
func roundStep(step int64) int64 {
	for power := int64(1); power <= math.MaxInt64/50; power *= 10 {
		for _, n := range []int64{1, 2, 5} {
			if n*power >= step {
				return n * power
			}
		}
	}
	return step
}

// timelineMaker makes the columns.
type timelineMaker struct {
	out   *TimelineAnswer
	index map[[2]int32]int32 // node by its parent and function
	names map[string]int32
	most  int64 // bytes of the nodes
	bytes int64
}

// add adds a column.
func (m *timelineMaker) add(ctx context.Context, t profile.TimeStacks) error {
	var frames []tree.Frame
	var largest []uint32
	var value int64
	t.Stacks.Numbered(ctx, func(f tree.Frame, _ uint32) { frames = append(frames, f) }, func(numbers []uint32, _ int, v int64) bool {
		if largest == nil || max(v, -v) > max(value, -value) {
			largest, value = append(largest[:0], numbers...), v
		}
		return true
	})
	if err := ctx.Err(); err != nil || t.Stacks.Len() == 0 {
		return err
	}
	at := int32(-1)
	for _, number := range slices.Backward(largest) {
		at = m.node(at, frames[number].Function)
	}
	if m.bytes > m.most {
		return fault.TooCostly("the memory of a query, at most %d bytes: %d frames in order of time", m.most, len(m.out.Parent))
	}
	m.out.Time, m.out.Node, m.out.Value = append(m.out.Time, instantText(t.Time)), append(m.out.Node, at), append(m.out.Value, value)
	m.out.Total, m.out.Stacks = append(m.out.Total, t.Stacks.Total), append(m.out.Stacks, t.Stacks.Len())
	return nil
}

// node returns the node of a function below another node.
func (m *timelineMaker) node(parent int32, name string) int32 {
	const node = 80 // bytes of it, and of its place in the map
	function, known := m.names[name]
	if !known {
		function = int32(len(m.out.Names))
		m.names[name], m.out.Names = function, append(m.out.Names, name)
		m.bytes += int64(node + len(name))
	}
	key := [2]int32{parent, function}
	n, known := m.index[key]
	if !known {
		n = int32(len(m.out.Parent))
		m.index[key], m.out.Parent, m.out.Function = n, append(m.out.Parent, parent), append(m.out.Function, function)
		m.bytes += node
	}
	return n
}
