package selector

import (
	"fmt"
	"regexp"
	"regexp/syntax"

	"github.com/granarydb/granary/internal/pattern"
)

// pattern compiles the value of a matcher. It parses the value alone first, because `a)(b` is no pattern but
// becomes one inside the group that the anchors need.
func (p *parser) pattern(value string) (*regexp.Regexp, error) {
	parsed, err := syntax.Parse(value, syntax.Perl|syntax.DotNL)
	if err != nil {
		return nil, err
	}
	p.program += max(0, pattern.Size(parsed)-perByte*len(value))
	if p.program > MaxProgram {
		return nil, fmt.Errorf("the patterns have more than %d instructions beside %d for each byte: count fewer repetitions", MaxProgram, perByte)
	}
	return regexp.Compile("^(?s:" + value + ")$")
}
