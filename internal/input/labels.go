package input

import (
	"fmt"
	"strings"
)

// Labels makes the label that distinguishes the rows of one input from those of others. Not
// safe for concurrent use.
type Labels struct {
	times map[string]int
}

// Of returns the label of an input: its name, as UTF-8. A repeated name is another input, and
// gets the number of its occurrence as a suffix.
func (l *Labels) Of(name string) string {
	text := strings.ToValidUTF8(name, "?")
	if l.times == nil {
		l.times = map[string]int{}
	}
	label := text
	for l.times[label] > 0 { // a name can equal the suffixed label of another
		l.times[text]++
		label = fmt.Sprintf("%s (%d)", text, l.times[text])
	}
	l.times[label] = 1
	return label
}
