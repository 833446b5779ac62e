package profile

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/internal/selector"
)

// ErrSelector says that text is not a selector.
var ErrSelector = errors.New("invalid selector")

// Selector chooses profiles and samples by label, with the matchers and the
// semantics of Prometheus: =, !=, =~ and !~, patterns anchored at both ends, a
// missing label equal to the empty string. A name means a label of the profile
// first, and of the sample where the profile has none. The zero Selector
// chooses everything. It is immutable.
type Selector struct {
	text     string
	matchers []matcher
}

// matcher is a condition of a selector, with its meaning for rows.
type matcher struct{ selector.Matcher }

// ParseSelector parses {job="api", pod=~"x.*", zone!=""}, or a name in front of
// it as Prometheus writes __name__. Empty text and {} choose everything. Errors
// wrap ErrSelector and say where the text went wrong.
func ParseSelector(text string) (Selector, error) {
	s := Selector{text: strings.TrimSpace(text)}
	if s.text == "" || strings.ReplaceAll(s.text, " ", "") == "{}" {
		return Selector{}, nil
	}
	parsed, err := selector.Parse(s.text)
	if err != nil {
		return Selector{}, fmt.Errorf("%w %s: %w", ErrSelector, s.text, err)
	}
	for _, m := range parsed {
		s.matchers = append(s.matchers, matcher{m})
	}
	return s, nil
}

// String returns the text that the selector was parsed from.
func (s Selector) String() string { return s.text }

// Requires returns the labels, in the order of the text, that every chosen row has: those
// with a matcher that the empty value does not pass.
func (s Selector) Requires() []string {
	var names []string
	for _, m := range s.matchers {
		if !m.Matches("") {
			names = append(names, m.Name)
		}
	}
	return names
}

// Expr returns the selector as a condition on rows. Equality with a text is made of
// comparisons for equality only, that of a trace or span id included, so that the store
// can pass over granules without such a value.
func (s Selector) Expr() columnstore.Expr {
	all := make([]columnstore.Expr, len(s.matchers))
	for i, m := range s.matchers {
		all[i] = m.first(textColumns(m.Name), m.idExpr)
	}
	return columnstore.And(all...)
}

// textColumns returns the columns that can have a label as text. The first in which a row
// has a value counts.
func textColumns(label string) []string {
	return []string{ColumnLabels + "." + label, labelColumn(ColumnPprofLabels, label, 0)}
}

// first is the matcher on the first of the columns in which a row has a value; without
// any, last.
func (m matcher) first(columns []string, last func() columnstore.Expr) columnstore.Expr {
	column := columns[0]
	missing := columnstore.Equal(column, "")
	if len(columns) == 1 && idType(m.Name) == 0 {
		return m.expr(column) // no value equals the empty text there
	}
	rest := last
	if len(columns) > 1 {
		rest = func() columnstore.Expr { return m.first(columns[1:], last) }
	}
	here := m.expr(column)
	if !m.Matches("") { // then it does not hold where there is no value
		return columnstore.Or(here, columnstore.And(missing, rest()))
	}
	return columnstore.Or(columnstore.And(columnstore.Not(missing), here), columnstore.And(missing, rest()))
}

// idExpr is the matcher on the column of its own that trace and span ids have, as the
// text that they came as.
func (m matcher) idExpr() columnstore.Expr {
	switch m.Op {
	case selector.OpEqual:
		return m.equalID()
	case selector.OpNotEqual:
		return columnstore.Not(m.equalID())
	default:
		return columnstore.Func(m.Name, func(id any) bool { return m.Matches(idText(id)) })
	}
}

// equalID holds where the id in the column of its own has the matcher's value as text.
func (m matcher) equalID() columnstore.Expr {
	if m.Value == "" {
		return columnstore.IsNull(m.Name)
	}
	id, ok := parseID(idType(m.Name), m.Value)
	switch {
	case !ok:
		return columnstore.Or() // ids that are written otherwise are with the texts
	case m.Name == ColumnTraceID:
		return columnstore.Equal(m.Name, id)
	default:
		return columnstore.Equal(m.Name, binary.BigEndian.Uint64(id[:]))
	}
}

// idText is the inverse of parseID.
func idText(id any) string {
	switch id := id.(type) {
	case uuid.UUID:
		return hex.EncodeToString(id[:])
	case uint64:
		return hex.EncodeToString(binary.BigEndian.AppendUint64(nil, id))
	}
	return ""
}

func (m matcher) expr(column string) columnstore.Expr {
	switch m.Op {
	case selector.OpEqual:
		return columnstore.Equal(column, m.Value)
	case selector.OpNotEqual:
		return columnstore.Not(columnstore.Equal(column, m.Value))
	case selector.OpPattern:
		return columnstore.Match(column, m.Pattern)
	default:
		return columnstore.Not(columnstore.Match(column, m.Pattern))
	}
}
