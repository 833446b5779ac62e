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

// Expr returns the selector as a condition on rows.
func (s Selector) Expr() columnstore.Expr {
	all := make([]columnstore.Expr, len(s.matchers))
	for i, m := range s.matchers {
		profile, sample := ColumnLabels+"."+m.name, labelColumn(ColumnPprofLabels, m.name, 0)
		all[i] = either(profile, m.expr(profile), m.sampleExpr(sample))
	}
	return columnstore.And(all...)
}

// either is the first condition where the label has a value, else the second.
func either(label string, first, second columnstore.Expr) columnstore.Expr {
	missing := columnstore.Equal(label, "")
	return columnstore.Or(columnstore.And(columnstore.Not(missing), first), columnstore.And(missing, second))
}

// sampleExpr is the matcher on the labels of samples. Trace and span ids have
// columns of their own and are matched as the text that they came as.
func (m matcher) sampleExpr(column string) columnstore.Expr {
	if m.name != ColumnTraceID && m.name != ColumnSpanID {
		return m.expr(column)
	}
	return either(column, m.expr(column), columnstore.Func(m.name, func(id any) bool { return m.matches(idText(id)) }))
}

// idText is the inverse of what batcher.addID does to a label.
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
