package selector

import (
	"fmt"
	"regexp"
	"regexp/syntax"
)

// pattern compiles the value of a matcher. It parses the value alone first, because `a)(b` is no pattern but
// becomes one inside the group that the anchors need.
func (p *parser) pattern(value string) (*regexp.Regexp, error) {
	parsed, err := syntax.Parse(value, syntax.Perl|syntax.DotNL)
	if err != nil {
		return nil, err
	}
	p.program += programSize(parsed)
	if p.program > MaxProgram {
		return nil, fmt.Errorf("the patterns have more than %d instructions", MaxProgram)
	}
	return regexp.Compile("^(?s:" + value + ")$")
}

// programSize bounds the instructions and ranges of a compiled pattern. The parser of regexp/syntax limits
// the depth of the tree and the product of nested repetitions, so neither the recursion nor the product
// overflows.
func programSize(re *syntax.Regexp) int {
	size := 2 + len(re.Rune)
	for _, sub := range re.Sub {
		size += programSize(sub)
	}
	if re.Op == syntax.OpRepeat {
		size *= max(re.Min, re.Max, 0) + 1
	}
	return size
}
