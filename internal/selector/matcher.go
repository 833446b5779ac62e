package selector

import (
	"regexp"
	"strconv"
)

// Op compares a label's value with a matcher's.
type Op uint8

// The operators of Prometheus.
const (
	OpEqual      Op = iota // =
	OpNotEqual             // !=
	OpPattern              // =~
	OpNotPattern           // !~
)

// String returns the operator as selectors have it.
func (o Op) String() string { return [...]string{"=", "!=", "=~", "!~"}[o] }

// Matcher is one condition on the value of a label. It is immutable.
type Matcher struct {
	Name    string
	Op      Op
	Value   string
	Pattern *regexp.Regexp // for OpPattern and OpNotPattern: Value, anchored at both ends
}

// String returns the matcher as selectors have it, with the name in quotes.
func (m Matcher) String() string {
	return strconv.Quote(m.Name) + m.Op.String() + strconv.Quote(m.Value)
}

// Matches reports whether the matcher accepts a value. The value of a missing label is "".
func (m Matcher) Matches(value string) bool {
	switch m.Op {
	case OpEqual:
		return value == m.Value
	case OpNotEqual:
		return value != m.Value
	case OpPattern:
		return m.Pattern.MatchString(value)
	default:
		return !m.Pattern.MatchString(value)
	}
}
