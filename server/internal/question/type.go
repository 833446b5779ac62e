package question

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/granarydb/granary/internal/pattern"
	"github.com/granarydb/granary/internal/selector"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/server/internal/fault"
)

// Names in type ids.
const (
	Unnamed = "profile" // of profiles without the label __name__
	AnyName = "*"       // of profiles with any name or none: the id that a short name stands for has it
)

// IsNamed reports whether the name in a type id is that of one kind. Profiles of one name add up, although agents of several
// languages list different types under it.
func IsNamed(name string) bool { return name != Unnamed && name != AnyName }

// IsShort reports whether a text is the name of a type in the form of DB.FindType instead of an id.
func IsShort(text string) bool { return strings.TrimSpace(text) != "" && strings.Count(text, ":") < 4 }

// A colon in a part of a type id is written as %3A, and a brace as %7B, because a selector may follow an id. A blank at an end is
// written as %20, because blanks around an id do not belong to it.
var (
	escapeID   = strings.NewReplacer("%3A", "%253A", "%7B", "%257B", "%20", "%2520", "%25", "%2525", ":", "%3A", "{", "%7B")
	unescapeID = strings.NewReplacer("%3A", ":", "%7B", "{", "%20", " ", "%25", "%")
)

// TypeID returns the id for a type and a profile name: name:sample:unit:period:unit.
func TypeID(name string, t profile.Type) string {
	parts := []string{cmp.Or(name, Unnamed), t.Sample, t.SampleUnit, t.Period, t.PeriodUnit}
	for i, p := range parts {
		parts[i] = escapeID.Replace(p)
	}
	id := strings.Join(parts, ":")
	if strings.Trim(id, " ") != id {
		id = strings.ReplaceAll(id, " ", "%20")
	}
	return id
}

// ParseTypeID is the inverse of TypeID, but for profiles without a name. A sample type may have another spelling, and :delta may
// follow, as Parca writes it for differences, which all stored values are.
func ParseTypeID(id string) (name string, t profile.Type, err error) {
	parts := strings.Split(strings.Trim(id, " "), ":")
	if len(parts) == 6 && parts[5] == "delta" {
		parts = parts[:5]
	}
	if len(parts) != 5 || parts[0] == "" || len(id) > maxTypeID {
		return "", t, fmt.Errorf("want name:sample:unit:period:unit, not %s", fault.Quoted(id))
	}
	for i, p := range parts {
		parts[i] = unescapeID.Replace(p)
	}
	return parts[0], profile.Type{Sample: profile.KnownSample(parts[1]), SampleUnit: parts[2], Period: parts[3], PeriodUnit: parts[4]}, nil
}

// nameMatchers returns the condition on profiles with the name in a type id.
func nameMatchers(name string) []selector.Matcher {
	switch name {
	case AnyName:
		return nil
	case Unnamed:
		return []selector.Matcher{{Name: profile.NameLabel, Op: selector.OpPattern, Value: "|" + Unnamed}}
	}
	return []selector.Matcher{{Name: profile.NameLabel, Value: name}}
}

// TypeLabels returns the labels that name a type and a profile name. Answers have them beside the profile
// labels, and selectors and groups can use them.
func TypeLabels(name string, t profile.Type) []profile.Label {
	return []profile.Label{
		{Name: "__period_type__", Value: t.Period},
		{Name: "__period_unit__", Value: t.PeriodUnit},
		{Name: typeLabel, Value: TypeID(name, t)},
		{Name: "__type__", Value: t.Sample},
		{Name: "__unit__", Value: t.SampleUnit},
	}
}

// typeLabel is the label in TypeLabels with a type's id.
const typeLabel = "__profile_type__"

// IsTypeLabel reports whether name is a label of TypeLabels.
func IsTypeLabel(name string) bool {
	return slices.ContainsFunc(TypeLabels("", profile.Type{}), func(l profile.Label) bool { return l.Name == name })
}

// ValueOf returns a label's value, or "".
func ValueOf(labels []profile.Label, name string) string {
	for _, l := range labels {
		if l.Name == name {
			return l.Value
		}
	}
	return ""
}

// CompareLabel orders by name, then by value.
func CompareLabel(a, b profile.Label) int {
	return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Value, b.Value))
}

// CompareLabels orders by the first label that differs.
func CompareLabels(a, b []profile.Label) int { return slices.CompareFunc(a, b, CompareLabel) }

// Selection is a query's selector: conditions on labels of profiles and samples, and on TypeLabels.
type Selection struct{ Labels, Types []selector.Matcher }

// Bounds on the match of a pattern with the text of a type, which is not abandoned: with the id that a query names, and
// with the types of the store, whose names package profile bounds.
const maxTypeSteps, maxTypeID = 1000, 4 << 10

// ParseSelection parses a selector. Text without matchers selects everything. The id of a type may stand
// before the braces, or alone.
func ParseSelection(text string) (s Selection, err error) {
	text = strings.TrimSpace(text)
	head, _, _ := strings.Cut(text, "{")
	if name, t, err := ParseTypeID(strings.TrimSpace(head)); err == nil {
		s.Types = append(s.Types, selector.Matcher{Name: typeLabel, Value: TypeID(name, t)})
		text = text[len(head):]
	}
	if text == "" {
		return s, nil
	}
	all, err := selector.Parse(text)
	if err != nil {
		return s, fmt.Errorf("%s: %w", fault.Quoted(text), err)
	}
	for _, m := range all {
		if IsTypeLabel(m.Name) {
			if m.Pattern != nil && pattern.New(m.Pattern).Size() > maxTypeSteps {
				return s, fault.TooCostly("a pattern of more than %d instructions for %s", maxTypeSteps, m.Name)
			}
			s.Types = append(s.Types, m)
		} else {
			s.Labels = append(s.Labels, m)
		}
	}
	return s, nil
}

// HasType reports whether the conditions on the type hold for profiles with the name and the type.
func (s *Selection) HasType(name string, t profile.Type) bool {
	labels := TypeLabels(name, t)
	return !slices.ContainsFunc(s.Types, func(m selector.Matcher) bool { return !m.Matches(ValueOf(labels, m.Name)) })
}

// SelectorOf returns a selector with matchers.
func SelectorOf(matchers []selector.Matcher) (profile.Selector, error) {
	texts := make([]string, len(matchers))
	for i, m := range matchers {
		texts[i] = m.String()
	}
	return profile.ParseSelector("{" + strings.Join(texts, ",") + "}")
}
