package format

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	pprof "github.com/google/pprof/profile"
)

// foldedLine matches a line of folded stacks: functions separated by semicolons, a space and a number.
var foldedLine = regexp.MustCompile(`^[^\x00-\x08]+ -?[0-9]+[ \t\r]*$`)

// isFolded reports whether all lines of head are folded stacks, and one has a semicolon: text whose lines end in a
// number is common otherwise.
func isFolded(head []byte) bool { return isGroups(head) && bytes.IndexByte(head, ';') >= 0 }

// isGroups reports whether all lines of head are folded stacks. The last line may be cut.
func isGroups(head []byte) bool {
	lines := bytes.Split(head, []byte("\n"))
	if len(head) >= HeadBytes-len(mark) {
		lines = lines[:len(lines)-1]
	}
	found := false
	for _, line := range lines {
		if line = bytes.TrimRight(line, " \t\r"); len(line) == 0 {
			continue
		}
		if found = foldedLine.Match(line); !found {
			return false
		}
	}
	return found
}

// parseFolded returns the profile of folded stacks. Its type is samples in count. A function has only a
// name.
func parseFolded(data []byte, h Hints) (*pprof.Profile, error) {
	b := newBuilder(h, "samples", "count")
	b.rootFirst = true
	if err := eachLine(data, h, "folded stacks", b.addFolded); err != nil {
		return nil, err
	}
	return b.to, nil
}

// addFolded adds a line.
func (b *sampleBuilder) addFolded(line string) error {
	if line == "" {
		return nil
	}
	end := strings.LastIndexByte(line, ' ')
	if end < 0 {
		return invalid(fmt.Sprintf("want functions, a space and a number, not %.100q", line))
	}
	value, err := strconv.ParseInt(line[end+1:], 10, 64)
	if err != nil {
		return invalid(fmt.Sprintf("want a number behind the last space, not %.100q", line[end+1:]))
	}
	return b.addStack(line[:end], value)
}

// addStack adds a stack of functions with semicolons between them.
func (b *sampleBuilder) addStack(text string, value int64) error {
	b.stack = b.stack[:0]
	for name := range strings.SplitSeq(strings.TrimSpace(text), ";") {
		if err := b.push(stackFrame{function: name}); err != nil {
			return err
		}
	}
	return b.count(nil, 0, value)
}
