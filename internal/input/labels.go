package input

import (
	"fmt"
	"strings"
)

// Labels are the values of the label that tells the rows of one input from those of others.
// Not safe for use by several goroutines.
type Labels struct {
	times map[string]int
}

// Of returns the label of an input: its name, as UTF-8. One that is named again counts
// again, so it has the number of times behind its name.
func (l *Labels) Of(name string) string {
	text := strings.ToValidUTF8(name, "?")
	if l.times == nil {
		l.times = map[string]int{}
	}
	label := text
	for l.times[label] > 0 { // one can be named like the second of another
		l.times[text]++
		label = fmt.Sprintf("%s (%d)", text, l.times[text])
	}
	l.times[label] = 1
	return label
}
