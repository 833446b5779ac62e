package profile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/internal/rows"
	"github.com/granarydb/granary/internal/selector"
)

// ErrSelector reports text that is not a selector.
var ErrSelector = errors.New("invalid selector")

// Selector chooses profiles and samples by label, with the matchers and semantics of Prometheus: =, !=,
// =~ and !~; patterns are anchored at both ends; a missing label equals the empty string. A name refers
// to a label of the profile or, if the profile lacks it, of the sample. The zero Selector chooses
// everything. A Selector is immutable.
//
// There is one exception: = and != compare a trace or span id, 32 or 16 hexadecimal digits in trace_id or
// span_id, with ids in lower and in upper case.
type Selector struct {
	text     string
	matchers []matcher
}

// matcher is one condition of a selector. Its methods turn it into conditions on rows.
type matcher struct {
	selector.Matcher
	others []string // other names of the label, from DB.Resolve
}

// columns returns the columns that can have the label as text. The first with a value in a row counts.
func (m matcher) columns() []string {
	columns := textColumns(m.Name)
	for _, name := range m.others {
		columns = append(columns, textColumns(name)...)
	}
	return columns
}

// idColumn returns the column of trace or span ids in which the label can be, or "".
func (m matcher) idColumn() string {
	switch {
	case m.Name == profileIDLabel:
		return ColumnSpanID
	case rows.IDType(m.Name) != 0:
		return m.Name
	}
	return ""
}

// ParseSelector parses a selector such as {job="api", pod=~"x.*", zone!=""}. A name before the braces, or
// alone, is a matcher for __name__, as in Prometheus. Empty text and {} choose everything. Errors wrap
// ErrSelector and report the position in the text.
func ParseSelector(text string) (Selector, error) {
	s := Selector{text: strings.TrimSpace(text)}
	if s.text == "" || strings.ReplaceAll(s.text, " ", "") == "{}" {
		return Selector{}, nil
	}
	parsed, err := selector.Parse(s.text)
	if err != nil {
		return Selector{}, fmt.Errorf("%w %#.100q: %w", ErrSelector, s.text, err)
	}
	for _, m := range parsed {
		s.matchers = append(s.matchers, matcher{Matcher: m})
	}
	return s, nil
}

// String returns the text that the selector was parsed from, without surrounding spaces. It is
// empty for {}.
func (s Selector) String() string { return s.text }

// And returns the selector that chooses the intersection of s and t. Its String has the matchers of both.
func (s Selector) And(t Selector) Selector {
	all := Selector{matchers: slices.Concat(s.matchers, t.matchers)}
	var texts []string
	for _, m := range all.matchers {
		texts = append(texts, m.String())
	}
	if len(texts) > 0 {
		all.text = "{" + strings.Join(texts, ", ") + "}"
	}
	return all
}

// Requires returns the labels that every chosen row has, in the order of the text, because a matcher for
// them does not match the empty string.
func (s Selector) Requires() []string {
	var names []string
	for _, m := range s.matchers {
		if !m.Matches("") {
			names = append(names, m.Name)
		}
	}
	return names
}

// Expr returns the selector as a condition on rows. Equality with a text, including a trace or span id,
// becomes comparisons for equality only, so that the store can skip granules without the value.
func (s Selector) Expr() columnstore.Expr {
	all := make([]columnstore.Expr, len(s.matchers))
	for i, m := range s.matchers {
		all[i] = m.first(m.columns(), m.idExpr)
	}
	return columnstore.And(all...)
}

// profileExprs returns the selector's conditions on the profile labels. They hold for a profile without
// the label, because its samples may have it.
func (s Selector) profileExprs() (all []columnstore.Expr) {
	for _, m := range s.matchers {
		var columns []string
		for _, name := range append([]string{m.Name}, m.others...) {
			columns = append(columns, ColumnLabels+"."+name)
		}
		all = append(all, m.ifAny(columns))
	}
	return all
}

// ifAny returns the matcher for the first of the columns with a value in a row. It holds for rows without a value.
func (m matcher) ifAny(columns []string) columnstore.Expr {
	column := columns[0]
	if len(columns) == 1 {
		return columnstore.Or(m.expr(column), columnstore.Equal(column, ""))
	}
	missing := columnstore.Equal(column, "")
	return columnstore.Or(columnstore.And(columnstore.Not(missing), m.expr(column)), columnstore.And(missing, m.ifAny(columns[1:])))
}

// textColumns returns the columns that can have a label as text. The first with a value in a row counts.
func textColumns(label string) []string {
	return []string{ColumnLabels + "." + label, rows.LabelColumn(ColumnPprofLabels, label, 0)}
}

// first returns the matcher for the first of the columns with a value in a row, or last() for rows
// without a value in any of them.
func (m matcher) first(columns []string, last func() columnstore.Expr) columnstore.Expr {
	column := columns[0]
	missing := columnstore.Equal(column, "")
	if len(columns) == 1 && m.idColumn() == "" {
		return m.expr(column) // here a missing value equals the empty string
	}
	rest := last
	if len(columns) > 1 {
		rest = func() columnstore.Expr { return m.first(columns[1:], last) }
	}
	here := m.expr(column)
	if !m.Matches("") { // so it does not hold for a missing value
		return columnstore.Or(here, columnstore.And(missing, rest()))
	}
	return columnstore.Or(columnstore.And(columnstore.Not(missing), here), columnstore.And(missing, rest()))
}

// idExpr returns the matcher for the separate column of trace or span ids. It compares ids as text.
func (m matcher) idExpr() columnstore.Expr {
	switch m.Op {
	case selector.OpEqual:
		return m.equalID()
	case selector.OpNotEqual:
		return columnstore.Not(m.equalID())
	default:
		return columnstore.Func(m.idColumn(), func(id any) bool { return m.Matches(rows.IDText(id)) })
	}
}

// equalID returns the condition that the id column has the matcher's value as text.
func (m matcher) equalID() columnstore.Expr {
	column := m.idColumn()
	if m.Value == "" {
		return columnstore.IsNull(column)
	}
	id, ok := rows.ParseID(rows.IDType(column), strings.ToLower(m.Value))
	switch {
	case !ok:
		return columnstore.Or() // ids in other spellings are stored as text
	case column == ColumnTraceID:
		return columnstore.Equal(column, id)
	default:
		return columnstore.Equal(column, binary.BigEndian.Uint64(id[:]))
	}
}

func (m matcher) expr(column string) columnstore.Expr {
	switch m.Op {
	case selector.OpEqual:
		return columnstore.In(column, m.spellings()...)
	case selector.OpNotEqual:
		return columnstore.Not(columnstore.In(column, m.spellings()...))
	case selector.OpPattern:
		return columnstore.Match(column, m.Pattern)
	default:
		return columnstore.Not(columnstore.Match(column, m.Pattern))
	}
}

// spellings returns the values that equal the matcher's value. For an id it includes the lower-case and
// upper-case spellings.
func (m matcher) spellings() []string {
	all := []string{m.Value}
	lower, upper := strings.ToLower(m.Value), strings.ToUpper(m.Value)
	if t := rows.IDType(m.idColumn()); t != 0 {
		if _, ok := rows.ParseID(t, lower); ok {
			all = append(all, lower, upper)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
