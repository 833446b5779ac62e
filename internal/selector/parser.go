package selector

import (
	"fmt"
	"slices"
	"strings"
)

// metricName is the label that is matched by a name before the braces or by a quoted name in them.
const metricName = "__name__"

// reserved are the words of PromQL, in upper or lower case, that cannot be a name before braces: numbers and
// operators. Other keywords of PromQL can.
var reserved = []string{"atan2", "bool", "group_left", "group_right", "ignoring", "inf", "nan", "on"}

// Parse returns the matchers of a selector in the order of the text, except that the matcher of a name before
// the braces comes last. Errors begin with the line and column, in bytes, of the fault.
func Parse(text string) ([]Matcher, error) {
	if len(text) > MaxText {
		return nil, fmt.Errorf("the selector has %d bytes, at most %d", len(text), MaxText)
	}
	p := parser{text: text}
	p.skipSpace()
	name, err := p.name()
	if err != nil {
		return nil, err
	}
	if name == "" || p.peek() == '{' {
		if err := p.braces(); err != nil {
			return nil, err
		}
	}
	if p.at < len(p.text) {
		return nil, p.unexpected("the end of the selector")
	}
	if name != "" {
		err = p.add(Matcher{Name: metricName, Value: name})
	}
	return p.matchers, err
}

// parser reads a selector from left to right. Each method leaves it at the next token.
type parser struct {
	text     string
	at       int
	matchers []Matcher
	program  int // size of the patterns so far beyond their text, see MaxProgram
}

// name reads the name before the braces, which is empty if there is none.
func (p *parser) name() (string, error) {
	start := p.at
	if c := p.peek(); !isLetter(c) && c != ':' {
		return "", nil
	}
	for c := p.peek(); isLetter(c) || isDigit(c) || c == ':'; c = p.peek() {
		p.at++
	}
	name := p.text[start:p.at]
	if slices.Contains(reserved, strings.ToLower(name)) {
		return "", p.errorf(start, "%q is a word of PromQL, not a name", name)
	}
	p.skipSpace()
	return name, nil
}

// braces reads the matchers between braces.
func (p *parser) braces() error {
	if !p.take("{") {
		return p.unexpected(`a name or "{"`)
	}
	for !p.take("}") {
		m, err := p.matcher()
		if err != nil {
			return err
		}
		if err := p.add(m); err != nil {
			return err
		}
		if !p.take(",") && p.peek() != '}' {
			return p.unexpected(`"," or "}"`)
		}
	}
	return nil
}

// matcher reads one matcher.
func (p *parser) matcher() (Matcher, error) {
	var m Matcher
	start, quoted := p.at, isQuote(p.peek())
	var err error
	if quoted {
		m.Name, err = p.quoted()
	} else {
		m.Name, err = p.label()
	}
	if err != nil {
		return m, err
	}
	if c := p.peek(); quoted && (c == ',' || c == '}') {
		return Matcher{Name: metricName, Value: m.Name}, nil
	}
	if m.Op, err = p.op(); err != nil {
		return m, err
	}
	if !isQuote(p.peek()) {
		return m, p.unexpected("a quoted value")
	}
	if m.Value, err = p.quoted(); err != nil {
		return m, err
	}
	if m.Op == OpPattern || m.Op == OpNotPattern {
		if m.Pattern, err = p.pattern(m.Value); err != nil {
			return m, p.errorf(start, "%w", err)
		}
	}
	return m, nil
}

// label reads the name of an unquoted label.
func (p *parser) label() (string, error) {
	start := p.at
	if !isLetter(p.peek()) {
		return "", p.unexpected("the name of a label")
	}
	for c := p.peek(); isLetter(c) || isDigit(c); c = p.peek() {
		p.at++
	}
	name := p.text[start:p.at]
	p.skipSpace()
	return name, nil
}

// op reads an operator.
func (p *parser) op() (Op, error) {
	switch { // longer operators first
	case p.take("=~"):
		return OpPattern, nil
	case p.take("!~"):
		return OpNotPattern, nil
	case p.take("!="):
		return OpNotEqual, nil
	case p.take("="):
		return OpEqual, nil
	}
	return 0, p.unexpected("one of = != =~ !~")
}

func (p *parser) add(m Matcher) error {
	if len(p.matchers) == MaxMatchers {
		return p.errorf(p.at, "more than %d matchers", MaxMatchers)
	}
	p.matchers = append(p.matchers, m)
	return nil
}

// Limits on a selector. Prometheus has none. Each limit bounds memory that the input controls.
const (
	// MaxText bounds a selector in bytes. A dashboard lists the pods of a cluster in one pattern: the limit
	// has room for 5,000 names of 50 bytes.
	MaxText = 256 << 10
	// MaxMatchers bounds the matchers of a selector, because each becomes several conditions on every series.
	MaxMatchers = 1 << 10
	// MaxProgram bounds the instructions and character ranges of all patterns of a selector, beside perByte for each
	// byte of their text. A pattern stays below it unless it counts repetitions or names classes: x{1000} is 2,000
	// instructions, which take 80 KB once compiled, and 2,000 steps for each byte of a label's value.
	MaxProgram = 1 << 14
	perByte    = 5
)
