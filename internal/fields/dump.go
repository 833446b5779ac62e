package fields

import (
	"fmt"
	"strings"
)

// Dump writes an image for people, for golden files of tests: a field a line with its place, its
// bytes in order and their meaning. Its method Field is a Reader's Trace.
type Dump struct {
	Image []byte
	Text  strings.Builder
}

// dumped is the number of bytes of a field that are shown.
const dumped = 24

// Field writes a field, or the name of a structure, whose end is -1.
func (d *Dump) Field(what string, from, to int, value any) {
	if to < 0 {
		fmt.Fprintf(&d.Text, "%s\n", what)
		return
	}
	line := fmt.Sprintf("  %04x  % x", from, d.Image[from:min(to, from+dumped)])
	if to-from > dumped {
		line += fmt.Sprintf(" and %d more", to-from-dumped)
	}
	line = fmt.Sprintf("%-36s  %s", line, what)
	if value != nil {
		line += fmt.Sprintf(" %d", value)
	}
	fmt.Fprintln(&d.Text, line)
}
