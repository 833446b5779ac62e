package profile

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/granarydb/granary/columnstore"
	codec "github.com/granarydb/granary/profile/pprof"
)

// Errors of types.
var (
	// ErrUnknownType reports a sample type that no profile has. The text lists the existing
	// types.
	ErrUnknownType = errors.New("unknown sample type")
	// ErrAmbiguousType reports a name that stands for several types. Their values cannot be added.
	ErrAmbiguousType = errors.New("ambiguous sample type")
)

func typeOf(s columnstore.Series) Type {
	return Type{s.Value(ColumnSampleType), s.Value(ColumnSampleUnit), s.Value(ColumnPeriodType), s.Value(ColumnPeriodUnit)}
}

// typeColumns are a type's columns.
var typeColumns = []string{ColumnSampleType, ColumnSampleUnit, ColumnPeriodType, ColumnPeriodUnit}

// typeAt returns the type of a group whose first columns are typeColumns.
func typeAt(columns []columnstore.GroupColumn, row int) Type {
	value := func(i int) string { return columns[i].Values.Strings[row] }
	return Type{value(0), value(1), value(2), value(3)}
}

// typeSet is a set of types in the order in which they were added.
type typeSet struct {
	types []Type
	index map[Type]int
}

func (s *typeSet) add(types ...Type) {
	if s.index == nil {
		s.index = map[Type]int{}
	}
	for _, t := range types {
		if _, ok := s.index[t]; !ok {
			s.index[t] = len(s.types)
			s.types = append(s.types, t)
		}
	}
}

// sampleName returns a type's name for a list, or a placeholder if it is empty.
func (t Type) sampleName() string {
	if t.Sample == "" {
		return "'' (unnamed)"
	}
	return t.Sample
}

func names(types []Type, name func(Type) string) string {
	var out []string
	for _, t := range types {
		if n := name(t); !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	if len(out) == 0 {
		return "none"
	}
	return strings.Join(out, ", ")
}

// Type is a quantity that profiles measure.
type Type struct {
	Sample, SampleUnit string // "inuse_space", "bytes"
	Period, PeriodUnit string // "space", "bytes"; empty if the profile has none
}

// String returns the type as sample:unit:period:unit.
func (t Type) String() string {
	return fmt.Sprintf("%s:%s:%s:%s", t.Sample, t.SampleUnit, t.Period, t.PeriodUnit)
}

// KnownSample returns the stored name of a sample type for another spelling of it, such as inuse_space for inuse-space, and
// other names as they are.
func KnownSample(name string) string { return codec.KnownSample(name) }

func (t Type) compare(u Type) int {
	return cmp.Or(cmp.Compare(t.Sample, u.Sample), cmp.Compare(t.SampleUnit, u.SampleUnit),
		cmp.Compare(t.Period, u.Period), cmp.Compare(t.PeriodUnit, u.PeriodUnit))
}
