package selector

import (
	"fmt"
	"regexp"
	"regexp/syntax"
)

// pattern compiles the value of a matcher. The value has to be a pattern by itself: in
// its anchors "a)(b" would be one.
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

// programSize bounds the instructions and ranges of a compiled pattern. The parser limits
// the depth of the tree and the factors of nested repetitions, so that neither the
// recursion nor the product overflows.
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
