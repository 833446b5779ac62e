package question

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/granarydb/granary/internal/selector"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/server/internal/fault"
)

// Selection is a query's selector: conditions on labels of profiles and samples, and on TypeLabels.
type Selection struct{ Labels, Types []selector.Matcher }

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
	ops := [...]string{selector.OpEqual: "=", selector.OpNotEqual: "!=", selector.OpPattern: "=~", selector.OpNotPattern: "!~"}
	texts := make([]string, len(matchers))
	for i, m := range matchers {
		texts[i] = strconv.Quote(m.Name) + ops[m.Op] + strconv.Quote(m.Value)
	}
	return profile.ParseSelector("{" + strings.Join(texts, ",") + "}")
}
