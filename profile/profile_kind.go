package profile

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// NameLabel is the label with the name of a kind of profiles, such as mutex. Pyroscope, Parca and
// Prometheus use the same name. A selector can have the value in front of its braces.
const NameLabel = "__name__"

// ErrMixed reports profiles that cannot be combined because they measure different things.
var ErrMixed = errors.New("profiles of different kinds")

// ProfileKind is a kind of profiles: the profiles with one value of NameLabel, or those without it that have
// one set of sample types. If two kinds have the same type, it can be two quantities: the delays of
// Go's block and mutex profiles have equal names and units, but their sum has no meaning.
type ProfileKind struct {
	// Name is the value of NameLabel, or "".
	Name string
	// Types are the types that the profiles list, those of the first profile first. For rows inserted as
	// Arrow records, they are the types of the rows.
	Types []Type
	// Sources has an entry for each set of labels of the profiles. Labels are sorted by name.
	Sources [][]Label
	// Selector selects the profiles of this kind and of no other kind in the same answer. It is "" if no
	// single label separates the kinds, or only by many values of two of them.
	Selector string
}

// AddsTo reports whether values of a type in both kinds add up: the kinds have one name, or, without names, one set of types,
// or the type's name says what it measures, such as cpu.
func (k ProfileKind) AddsTo(other ProfileKind, t Type) bool {
	if k.Name != "" || other.Name != "" {
		return k.Name == other.Name
	}
	return t.isClear() || sameTypes(k.Types, other.Types)
}

// String returns the name of the kind and its sample types: "mutex (contentions, delay)".
func (k ProfileKind) String() string {
	return strings.TrimSpace(k.Name + " (" + names(k.Types, Type.sampleName) + ")")
}

// MixedError reports a query whose answer would combine profiles of several kinds. It wraps ErrMixed.
// Query.SumKinds combines them, except for Periods.
type MixedError struct {
	// Type is the type that several kinds have.
	Type Type
	// Periods reports that DB.Profile was called for profiles with different period types, which one
	// profile cannot have. Type is then zero.
	Periods bool
	// Kinds are the kinds, at least two.
	Kinds []ProfileKind
}

// Unwrap returns ErrMixed.
func (e *MixedError) Unwrap() error { return ErrMixed }

// Error lists the first kinds, and a selector for one. It names no field of Query, because a server passes
// the text on to clients that have none.
func (e *MixedError) Error() string {
	const most = 8
	var kinds, selectors []string
	for _, k := range e.Kinds[:min(most, len(e.Kinds))] {
		kinds = append(kinds, k.String())
		if k.Selector != "" {
			selectors = append(selectors, k.Selector)
		}
	}
	text := ErrMixed.Error() + ": "
	if !e.Periods {
		text += "values of " + e.Type.String() + " in "
	}
	text += strings.Join(kinds, " and ")
	if more := len(e.Kinds) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	text += "; choose one by "
	if selectors == nil {
		text += "a selector"
	} else {
		text += "the selector " + strings.Join(selectors, " or ")
	}
	if e.Periods {
		return text + ", or by type"
	}
	return text
}

// SeparateKinds sets the selectors of kinds by the first label, NameLabel before all others, for which no two
// kinds have a common value. If a kind has no sources, only its name can separate it.
func SeparateKinds(kinds []ProfileKind) {
	labels := map[string]bool{}
	for _, k := range kinds {
		for _, source := range k.Sources {
			for _, l := range source {
				labels[l.Name] = true
			}
		}
	}
	if slices.ContainsFunc(kinds, func(k ProfileKind) bool { return k.Sources == nil }) {
		clear(labels)
	}
	delete(labels, NameLabel)
	for _, label := range append([]string{NameLabel}, slices.Sorted(maps.Keys(labels))...) {
		if selectors := separateBy(kinds, label); selectors != nil {
			for i := range kinds {
				kinds[i].Selector = selectors[i]
			}
			return
		}
	}
}

// separateBy returns a selector for each kind by a label's values, or nil if two kinds share a value or have many. One kind with
// many is chosen by the values that the others have.
func separateBy(kinds []ProfileKind, label string) []string {
	const most = 2
	kindOf := map[string]int{}
	values, many := make([][]string, len(kinds)), -1
	for i, k := range kinds {
		var own []string
		for _, source := range k.Sources {
			own = append(own, valueOf(source, label))
		}
		if k.Sources == nil {
			own = []string{k.Name}
		}
		for _, value := range own {
			if other, known := kindOf[value]; known && other != i {
				return nil
			} else if !known {
				kindOf[value] = i
				values[i] = append(values[i], value)
			}
		}
		if len(values[i]) > most {
			if many >= 0 {
				return nil
			}
			many = i
		}
	}
	selectors := make([]string, len(kinds))
	for i := range kinds {
		if i == many {
			others := slices.Concat(slices.Delete(slices.Clone(values), i, i+1)...)
			selectors[i] = selectorOf(label, true, others)
		} else {
			selectors[i] = selectorOf(label, false, values[i])
		}
		if selectors[i] == "" {
			return nil
		}
	}
	return selectors
}

// selectorOf returns a selector for values of a label, or for all others, where "" stands for profiles without
// it. It returns "" if there is none, because a pattern must be UTF-8.
func selectorOf(label string, isNot bool, values []string) string {
	equal, matches := "=", "=~"
	if isNot {
		equal, matches = "!=", "!~"
	}
	condition := equal + strconv.Quote(values[0])
	if len(values) > 1 {
		patterns := make([]string, len(values))
		for i, value := range slices.Sorted(slices.Values(values)) {
			patterns[i] = regexp.QuoteMeta(value)
		}
		condition = matches + strconv.Quote(strings.Join(patterns, "|"))
	}
	for _, name := range []string{label, strconv.Quote(label)} { // most names need no quotes
		s, err := ParseSelector("{" + name + condition + "}")
		if err == nil {
			return s.String()
		}
	}
	return ""
}

// valueOf returns a label's value, or "".
func valueOf(labels []Label, name string) string {
	for _, l := range labels {
		if l.Name == name {
			return l.Value
		}
	}
	return ""
}
