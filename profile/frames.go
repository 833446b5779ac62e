package profile

import (
	"regexp"

	"github.com/google/uuid"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/internal/symbols"
)

// FrameCondition is a condition on a stack's frames: one frame must match all fields that are set.
// Patterns are not anchored; nil is not set. A FrameCondition without any field holds for every stack
// with a frame.
type FrameCondition struct {
	// Not reverses the condition: no frame matches all fields that are set.
	Not bool
	// Name matches the function's name or file, or the mapping's file, as the options -focus and -ignore
	// of go tool pprof do. Here the name of a function without a name is "".
	Name *regexp.Regexp
	// Function matches Frame.Function, File matches Frame.File.
	Function, File *regexp.Regexp
	// Mapping and BuildID match the fields of the frame's Location.
	Mapping, BuildID *regexp.Regexp
	// From and To bound the address of the frame's Location: From <= Address < To. Zero means
	// no bound.
	From, To uint64
}

// expr returns the condition on rows.
func (c FrameCondition) expr() columnstore.Expr {
	e := hasRecord(symbols.HasFrame(symbols.Condition{
		Name: c.Name, Function: c.Function, File: c.File, Binary: c.Mapping, BuildID: c.BuildID, From: c.From, To: c.To,
	}))
	if c.Not {
		e = columnstore.Not(e)
	}
	return e
}

// frameExprs returns the query's conditions on frames.
func (q *Query) frameExprs() []columnstore.Expr {
	var all []columnstore.Expr
	some := false // a condition holds only for stacks with a location
	for _, c := range q.Frames {
		all, some = append(all, c.expr()), some || !c.Not
	}
	if q.Hide != nil || q.Show != nil {
		all, some = append(all, hasRecord(symbols.HasShown(q.Hide, q.Show))), true
	}
	if len(all) > 0 && !some {
		all = append(all, hasRecord(func([]byte) bool { return true }))
	}
	return all
}

// hasRecord returns a condition that holds for rows whose stack has a location for whose record f returns
// true. f is safe for concurrent use.
func hasRecord(f func(record []byte) bool) columnstore.Expr {
	return columnstore.HasElement(ColumnStacktrace, func(_ uuid.UUID, record []byte) bool { return f(record) })
}
