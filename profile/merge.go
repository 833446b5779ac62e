package profile

import (
	"cmp"
	"context"
	"path"
	"slices"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/encoding"
)

// Frame is one function call in a stack.
type Frame struct {
	Function string // "[binary]" or "<unknown>" where nothing better is known
	File     string
	Line     int64
	Inlined  bool // into its caller
}

// Stacks is the sum of profiles by stack. It is immutable and belongs to the
// caller, whatever becomes of the snapshot.
type Stacks struct {
	// Type is what was summed.
	Type Type
	// Total is the sum of all values, with their signs.
	Total int64
	// Magnitude is the sum of all values without their signs: what go tool
	// pprof shows percentages of.
	Magnitude int64

	stacks  []stackValue
	symbols *symbols
}

// stackValue is one stack and its value.
type stackValue struct {
	code  uint32
	value int64
}

// Merge sums what the profiles of a query have of one type, by stack. It costs
// what columnstore.Table.Aggregate does, and a look at each distinct location.
func (db *DB) Merge(ctx context.Context, snap *columnstore.Snapshot, t Type, q Query) (*Stacks, error) {
	groups, err := db.table.Aggregate(ctx, snap, columnstore.AggregateOptions{
		Sum: ColumnValue, By: []string{ColumnStacktrace}, Where: q.Expr(t),
	})
	if err != nil {
		return nil, err
	}
	column := groups.Columns[0]
	s := &Stacks{Type: t, symbols: newSymbols(column.Lists)}
	for i, code := range column.Codes {
		s.Total += groups.Sums[i]
		s.Magnitude += int64(size(groups.Sums[i]))
		if groups.Sums[i] != 0 {
			s.stacks = append(s.stacks, stackValue{code, groups.Sums[i]})
		}
	}
	slices.SortFunc(s.stacks, func(a, b stackValue) int { return cmp.Compare(a.code, b.code) })
	s.symbols.load(column.Codes)
	return s, nil
}

// Len returns the number of distinct stacks with a value other than zero.
func (s *Stacks) Len() int { return len(s.stacks) }

// Each calls f with each stack, leaf first, and its value, which is never
// zero. The frames are f's only during the call.
func (s *Stacks) Each(f func(frames []Frame, value int64)) {
	var frames []Frame
	for _, stack := range s.stacks {
		frames = s.symbols.frames(frames[:0], stack.code)
		f(frames, stack.value)
	}
}

// symbols knows the locations of the stacks of one answer.
type symbols struct {
	lists     encoding.Lists
	locations map[uint32]*location // by element code
	codes     []uint32
}

func newSymbols(lists encoding.Lists) *symbols {
	return &symbols{lists: lists, locations: map[uint32]*location{}}
}

// load decodes the record of each location of the given stacks, once.
func (s *symbols) load(stacks []uint32) {
	for _, stack := range stacks {
		s.codes = s.lists.List(s.codes[:0], stack)
		for _, element := range s.codes {
			if s.locations[element] != nil {
				continue
			}
			l, err := parseLocation(s.lists.Record(element))
			if err != nil {
				l = &location{} // nothing is known of it then
			}
			s.locations[element] = l
		}
	}
}

// frames appends the frames of a stack, leaf first.
func (s *symbols) frames(dst []Frame, stack uint32) []Frame {
	s.codes = s.lists.List(s.codes[:0], stack)
	for _, element := range s.codes {
		l := s.locations[element]
		if len(l.lines) == 0 {
			dst = append(dst, Frame{Function: l.unnamed()})
		}
		for i, ln := range l.lines {
			f := Frame{Function: ln.function, File: ln.file, Line: ln.line, Inlined: i < len(l.lines)-1}
			if f.Function == "" {
				f.Function = l.unnamed()
			}
			dst = append(dst, f)
		}
	}
	return dst
}

// unnamed is what to call a function without a name: its binary, as pprof does.
func (l *location) unnamed() string {
	if l.mapping == nil || l.mapping.File == "" {
		return "<unknown>"
	}
	return "[" + path.Base(l.mapping.File) + "]"
}
