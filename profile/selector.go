package profile

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/google/uuid"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/granarydb/granary/columnstore"
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

type matcher struct {
	kind    labels.MatchType
	name    string
	value   string
	pattern *regexp.Regexp
}

// ParseSelector parses {job="api", pod=~"x.*", zone!=""}, or a name in front of
// it as Prometheus writes __name__. Empty text and {} choose everything. Errors
// wrap ErrSelector and say where the text went wrong.
func ParseSelector(text string) (Selector, error) {
	s := Selector{text: strings.TrimSpace(text)}
	if s.text == "" || strings.ReplaceAll(s.text, " ", "") == "{}" {
		return Selector{}, nil
	}
	parsed, err := parser.NewParser(parser.Options{}).ParseMetricSelector(s.text)
	if err != nil {
		return Selector{}, fmt.Errorf("%w %s: %w", ErrSelector, s.text, err)
	}
	for _, p := range parsed {
		m := matcher{kind: p.Type, name: p.Name, value: p.Value}
		if p.Type == labels.MatchRegexp || p.Type == labels.MatchNotRegexp {
			if m.pattern, err = regexp.Compile("^(?s:" + p.Value + ")$"); err != nil {
				return Selector{}, fmt.Errorf("%w %s: %w", ErrSelector, s.text, err)
			}
		}
		s.matchers = append(s.matchers, m)
	}
	return s, nil
}

// String returns the text that the selector was parsed from.
func (s Selector) String() string { return s.text }

// Expr returns the selector as a condition on rows. Equality with a text is made of
// comparisons for equality only, that of a trace or span id included, so that the store
// can pass over what has no such value.
func (s Selector) Expr() columnstore.Expr {
	all := make([]columnstore.Expr, len(s.matchers))
	for i, m := range s.matchers {
		all[i] = m.first(m.columns(), m.idExpr)
	}
	return columnstore.And(all...)
}

// columns returns the columns that can have the label as text. The first in which a row
// has a value counts.
func (m matcher) columns() []string {
	return []string{ColumnLabels + "." + m.name, labelColumn(ColumnPprofLabels, m.name, 0)}
}

// first is the matcher on the first of the columns in which a row has a value; without
// any, last.
func (m matcher) first(columns []string, last func() columnstore.Expr) columnstore.Expr {
	column := columns[0]
	missing := columnstore.Equal(column, "")
	if len(columns) == 1 && idType(m.name) == 0 {
		return m.expr(column) // no value equals the empty text there
	}
	rest := last
	if len(columns) > 1 {
		rest = func() columnstore.Expr { return m.first(columns[1:], last) }
	}
	here := m.expr(column)
	if !m.matches("") { // then it does not hold where there is no value
		return columnstore.Or(here, columnstore.And(missing, rest()))
	}
	return columnstore.Or(columnstore.And(columnstore.Not(missing), here), columnstore.And(missing, rest()))
}

// idExpr is the matcher on the column of its own that trace and span ids have, as the
// text that they came as.
func (m matcher) idExpr() columnstore.Expr {
	switch m.kind {
	case labels.MatchEqual:
		return m.equalID()
	case labels.MatchNotEqual:
		return columnstore.Not(m.equalID())
	default:
		return columnstore.Func(m.name, func(id any) bool { return m.matches(idText(id)) })
	}
}

// equalID holds where the id in the column of its own has the matcher's value as text.
func (m matcher) equalID() columnstore.Expr {
	if m.value == "" {
		return columnstore.IsNull(m.name)
	}
	id, ok := parseID(idType(m.name), m.value)
	switch {
	case !ok:
		return columnstore.Or() // ids that are written otherwise are with the texts
	case m.name == ColumnTraceID:
		return columnstore.Equal(m.name, id)
	default:
		return columnstore.Equal(m.name, binary.BigEndian.Uint64(id[:]))
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

func (m matcher) matches(value string) bool {
	switch m.kind {
	case labels.MatchEqual:
		return value == m.value
	case labels.MatchNotEqual:
		return value != m.value
	case labels.MatchRegexp:
		return m.pattern.MatchString(value)
	default:
		return !m.pattern.MatchString(value)
	}
}

func (m matcher) expr(column string) columnstore.Expr {
	switch m.kind {
	case labels.MatchEqual:
		return columnstore.Equal(column, m.value)
	case labels.MatchNotEqual:
		return columnstore.Not(columnstore.Equal(column, m.value))
	case labels.MatchRegexp:
		return columnstore.Match(column, m.pattern)
	default:
		return columnstore.Not(columnstore.Match(column, m.pattern))
	}
}
