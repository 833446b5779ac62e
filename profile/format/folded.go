package format

import (
	"bytes"
	"fmt"
	"iter"
	"regexp"
	"strconv"
	"strings"

	pprof "github.com/google/pprof/profile"

	"github.com/granarydb/granary/profile"
)

// foldedLine matches a line of folded stacks: functions separated by semicolons, a space and a number.
var foldedLine = regexp.MustCompile(`^[^\x00-\x08]+ -?[0-9]+[ \t\r]*$`)

// isFolded reports whether all lines of head are those of folded stacks, and one has a semicolon: text whose lines end in a
// number is common otherwise. The last line may be cut.
func isFolded(head []byte) bool {
	lines := bytes.Split(head, []byte("\n"))
	if len(head) >= HeadBytes-len(mark) {
		lines = lines[:len(lines)-1]
	}
	isStack := false
	for _, line := range lines {
		if line = bytes.TrimRight(line, " \t\r"); len(line) == 0 {
			continue
		}
		if !foldedLine.Match(line) {
			return false
		}
		isStack = isStack || bytes.IndexByte(line, ';') >= 0
	}
	return isStack
}

// decodeFolded returns the profile of folded stacks. Its type is samples in count. A function has only a
// name.
func decodeFolded(data []byte, limits profile.Limits) iter.Seq2[Decoded, error] {
	return func(yield func(Decoded, error) bool) {
		p, err := parseFolded(data, limits)
		yield(Decoded{Parsed: p}, err)
	}
}

func parseFolded(data []byte, limits profile.Limits) (*pprof.Profile, error) {
	text, err := textOf(data, limits)
	if err != nil {
		return nil, err
	}
	f := foldedBuilder{limits: limits, known: map[string]*pprof.Location{}, to: &pprof.Profile{SampleType: []*pprof.ValueType{{Type: "samples", Unit: "count"}}}}
	number := 0
	for line := range bytes.Lines(text) {
		number++
		if line := strings.TrimRight(string(line), " \t\r\n"); line != "" {
			if err := f.add(line); err != nil {
				return nil, fmt.Errorf("folded stacks, line %d: %w", number, err)
			}
		}
	}
	return f.to, nil
}

// foldedBuilder makes a profile from folded stacks.
type foldedBuilder struct {
	limits profile.Limits
	known  map[string]*pprof.Location
	to     *pprof.Profile
}

// add adds a line.
func (f *foldedBuilder) add(line string) error {
	end := strings.LastIndexByte(line, ' ')
	if end < 0 {
		return invalid(fmt.Sprintf("want functions, a space and a number, not %.100q", line))
	}
	value, err := strconv.ParseInt(line[end+1:], 10, 64)
	if err != nil {
		return invalid(fmt.Sprintf("want a number behind the last space, not %.100q", line[end+1:]))
	}
	if len(f.to.Sample) == f.limits.Samples {
		return fmt.Errorf("%w: more than %d samples", profile.ErrTooLarge, f.limits.Samples)
	}
	depth := strings.Count(line[:end], ";") + 1
	if depth > f.limits.Depth {
		return fmt.Errorf("%w: a stack of %d functions, at most %d", profile.ErrTooLarge, depth, f.limits.Depth)
	}
	s := &pprof.Sample{Value: []int64{value}, Location: make([]*pprof.Location, depth)}
	for name := range strings.SplitSeq(strings.TrimSpace(line[:end]), ";") {
		depth-- // the leaf comes first in a profile
		s.Location[depth] = f.location(name)
	}
	f.to.Sample = append(f.to.Sample, s)
	return nil
}

// location returns a function's location.
func (f *foldedBuilder) location(name string) *pprof.Location {
	l := f.known[name]
	if l == nil {
		function := &pprof.Function{ID: uint64(len(f.known) + 1), Name: strings.ToValidUTF8(name, "?")}
		l = &pprof.Location{ID: function.ID, Line: []pprof.Line{{Function: function}}}
		f.known[name] = l
		f.to.Function, f.to.Location = append(f.to.Function, function), append(f.to.Location, l)
	}
	return l
}
