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

// NameLabel is the label with the name of a kind of profiles, such as mutex. Pyroscope, Parca
// and Prometheus call it so. A selector can have the name in front of its braces.
const NameLabel = "__name__"

// ErrMixed reports profiles that cannot be combined because they measure different things.
var ErrMixed = errors.New("profiles of different kinds")

// ProfileKind is a kind of profiles: those with one value of NameLabel, or all without it, and
// with one set of sample types. A type that two kinds have can be two quantities. The delays of
// Go's block and mutex profiles have equal names and units, and their sum counts nothing.
type ProfileKind struct {
	// Name is the value of NameLabel, or "".
	Name string
	// Types are the types that the profiles list, in the order of the first of them. For rows
	// inserted as Arrow records, they are the types of the rows.
	Types []Type
	// Sources are the labels of the profiles, sorted by name: one entry for each set of labels.
	Sources [][]Label
	// Selector is a selector for the profiles of this kind and for none of the other kinds of the
	// same answer, or "" if no single label separates the kinds, or only by many values.
	Selector string
}

// String returns the name of the kind and its sample types: "mutex (contentions, delay)".
func (k ProfileKind) String() string {
	return strings.TrimSpace(k.Name + " (" + names(k.Types, Type.sampleName) + ")")
}

// MixedError reports a question whose answer would combine profiles of several kinds. It wraps
// ErrMixed. Query.SumKinds combines them all the same, but for Periods.
type MixedError struct {
	// Type is the type that several kinds have.
	Type Type
	// Periods reports that DB.Profile was asked for profiles with different period types, which no
	// one profile can have. Type is then zero.
	Periods bool
	// Kinds are the kinds, at least two.
	Kinds []ProfileKind
}

// Unwrap returns ErrMixed.
func (e *MixedError) Unwrap() error { return ErrMixed }

// Error lists the first kinds, and what chooses one. It names no field of Query, because a server passes it on to people
// that have none.
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

// separate sets the selectors of kinds: those of the first label, NameLabel before all others,
// of which no two kinds have a value in common.
func separate(kinds []ProfileKind) {
	labels := map[string]bool{}
	for _, k := range kinds {
		for _, source := range k.Sources {
			for _, l := range source {
				labels[l.Name] = true
			}
		}
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

// separateBy returns a selector for each kind by the values of one label, or nil if two kinds
// share a value or one has many.
func separateBy(kinds []ProfileKind, label string) []string {
	const most = 2
	kindOf := map[string]int{}
	selectors := make([]string, len(kinds))
	for i, k := range kinds {
		var values []string
		for _, source := range k.Sources {
			value := valueOf(source, label)
			if other, known := kindOf[value]; known && other != i {
				return nil
			} else if !known {
				kindOf[value] = i
				values = append(values, value)
			}
			if len(values) > most {
				return nil
			}
		}
		if selectors[i] = selectorOf(label, values); selectors[i] == "" {
			return nil
		}
	}
	return selectors
}

// selectorOf returns a selector for values of a label, where "" stands for profiles without it.
// It is "" if there is none: a pattern is UTF-8.
func selectorOf(label string, values []string) string {
	condition := "=" + strconv.Quote(values[0])
	if len(values) > 1 {
		patterns := make([]string, len(values))
		for i, value := range slices.Sorted(slices.Values(values)) {
			patterns[i] = regexp.QuoteMeta(value)
		}
		condition = "=~" + strconv.Quote(strings.Join(patterns, "|"))
	}
	for _, name := range []string{label, strconv.Quote(label)} { // most names need no quotes
		s, err := ParseSelector("{" + name + condition + "}")
		if err == nil {
			return s.String()
		}
	}
	return ""
}

// valueOf returns the value of a label, or "" without it.
func valueOf(labels []Label, name string) string {
	for _, l := range labels {
		if l.Name == name {
			return l.Value
		}
	}
	return ""
}
