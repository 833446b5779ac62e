package profile

import (
	"fmt"
	"slices"
	"strings"
)

// AnyPeriod is the Period and the PeriodUnit of a type that stands for all types with its sample type and unit. Their values
// add: CPU time is CPU time, whether a profiler takes its samples by CPU time or by wall time. A short name means such a type
// (DB.FindTypeIn). No profile should have a period of this name: its type could not be asked alone.
const AnyPeriod = "*"

// ofAnyPeriod returns the type for all periods.
func (t Type) ofAnyPeriod() Type { return Type{t.Sample, t.SampleUnit, AnyPeriod, AnyPeriod} }

func (t Type) isOfAnyPeriod() bool { return t == t.ofAnyPeriod() }

// Includes reports whether values of a type are values of t: types are equal, or t has AnyPeriod.
func (t Type) Includes(other Type) bool { return t == other || t == other.ofAnyPeriod() }

// JoinTypes returns types, in which one with AnyPeriod stands for several that differ in their periods alone. The slice belongs
// to the caller.
func JoinTypes(types []Type) []Type {
	var joined typeSet
	for _, t := range types {
		if slices.ContainsFunc(types, func(other Type) bool { return t != other && t.ofAnyPeriod() == other.ofAnyPeriod() }) {
			t = t.ofAnyPeriod()
		}
		joined.add(t)
	}
	return joined.types
}

// isClear reports whether the name of a sample type says what it measures, whatever else a profile lists. The meaning of samples
// or contentions depends on the profile.
func (t Type) isClear() bool {
	switch t.Sample {
	case "cpu", "wall", "off_cpu", "alloc_space", "alloc_objects", "inuse_space", "inuse_objects":
		return true
	}
	return false
}

// isCalled reports whether a name stands for the type. It is in the spelling of KnownSample.
func (t Type) isCalled(name string) bool {
	return name == t.Sample || name == t.Sample+":"+t.SampleUnit || name == t.String() || name == t.ofAnyPeriod().String()
}

// TypeCalled returns the type that a name stands for among types, as DB.FindTypeIn does. sources returns the sources of the query
// with their types; it is called if types of several units have the name.
func TypeCalled(types []Type, name string, sources func() ([]Source, error)) (Type, error) {
	sample, rest, hasRest := strings.Cut(strings.TrimSpace(name), ":")
	if name = KnownSample(sample); hasRest {
		name += ":" + rest
	}
	found := JoinTypes(slices.DeleteFunc(slices.Clone(types), func(t Type) bool { return !t.isCalled(name) }))
	switch {
	case len(types) == 0:
		return Type{}, fmt.Errorf("%w: there are no profiles", ErrUnknownType)
	case len(found) == 0:
		return Type{}, fmt.Errorf("%w %.100q, known types: %s", ErrUnknownType, name, names(types, Type.sampleName))
	case len(found) == 1:
		return found[0], nil
	}
	all, err := sources()
	if err != nil {
		return Type{}, err
	}
	kinds := make([]ProfileKind, len(found))
	for i, t := range found {
		for _, s := range all {
			if t.Includes(s.Type) {
				kinds[i].Types, kinds[i].Sources = []Type{t}, append(kinds[i].Sources, s.Labels)
			}
		}
	}
	kinds = slices.DeleteFunc(kinds, func(k ProfileKind) bool { return k.Types == nil })
	switch len(kinds) {
	case 0:
		return found[0], nil
	case 1:
		return kinds[0].Types[0], nil
	}
	SeparateKinds(kinds)
	var texts, selectors []string
	for _, k := range kinds {
		texts = append(texts, k.Types[0].String())
		if k.Selector != "" {
			selectors = append(selectors, k.Selector)
		}
	}
	if selectors != nil {
		texts = append(texts, "or one by the selector "+strings.Join(selectors, " or "))
	}
	return Type{}, fmt.Errorf("%w %.100q, choose one of: %s", ErrAmbiguousType, name, strings.Join(texts, ", "))
}
