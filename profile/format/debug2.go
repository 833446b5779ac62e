package format

import (
	"fmt"
	"regexp"
	"strings"

	pprof "github.com/google/pprof/profile"

	"github.com/granarydb/granary/profile"
)

// The lines of the stacks of goroutines, as runtime.Stack writes them. A stack has a function with its arguments and a
// file with a line, in turn, and ends with the function that created the goroutine.
var (
	goroutineHead = regexp.MustCompile(`^goroutine \d+ (?:gp=\S+ m=\S+ (?:mp=\S+ )?)?\[(.*)\]:$`)
	goroutineFile = regexp.MustCompile(`^\t(.*):(\d+)(?: .*)?$`)
	elidedFrames  = regexp.MustCompile(`^\.\.\.(\d+|additional) frames elided\.\.\.$`)
)

// isDebug2 reports whether head begins with the stack of a goroutine.
func isDebug2(head []byte) bool { return goroutineHead.Match(firstLine(head)) }

// parseDebug2 returns the profile of goroutine?debug=2. Its type is goroutine in count, and its stacks are as in
// debug=1. A goroutine has the label state; wait_minutes, if it waits for a minute or longer; created_by, the function that
// created it, which is no frame because other forms of the profile do not have it; and the labels that are written.
func parseDebug2(data []byte, h Hints) (*pprof.Profile, error) {
	g := goroutines{sampleBuilder: newBuilder(h, "goroutine", "count")}
	g.to.PeriodType, g.to.Period = g.to.SampleType[0], 1
	if err := eachLine(data, h, "stacks of goroutines", g.add); err != nil {
		return nil, err
	}
	return g.to, nil
}

// goroutines makes a profile from a text.
type goroutines struct {
	*sampleBuilder
	inStack  bool
	state    string // of the goroutine: what its first line has in brackets
	creator  string
	function string // whose file comes next; "": none
	texts    int    // labels of all goroutines
}

// add adds a line.
func (g *goroutines) add(line string) error {
	if m := goroutineHead.FindStringSubmatch(line); m != nil {
		err := g.end()
		g.inStack, g.state, g.creator, g.stack = true, m[1], "", g.stack[:0]
		return err
	}
	switch {
	case line == "":
		return g.end()
	case !g.inStack:
		return invalid(fmt.Sprintf("want the first line of a goroutine, not %.100q", line))
	case elidedFrames.MatchString(line), strings.HasPrefix(line, "\tgoroutine running on other thread;"):
		return nil
	case line[0] == '\t':
		return g.file(line)
	case g.function != "":
		return invalid(fmt.Sprintf("want the file of %.100q, not %.100q", g.function, line))
	}
	g.function = line
	return nil
}

// file reads the file of the function that came before.
func (g *goroutines) file(line string) error {
	m := goroutineFile.FindStringSubmatch(line)
	if m == nil || g.function == "" {
		return invalid(fmt.Sprintf("want a function and then its file with a line, not %.100q", line))
	}
	function := g.function
	g.function = ""
	if creator, ok := strings.CutPrefix(function, "created by "); ok {
		g.creator, _, _ = strings.Cut(creator, " in goroutine ")
		return nil
	}
	if at := strings.LastIndexByte(function, '('); at > 0 && strings.HasSuffix(function, ")") {
		function = function[:at]
	}
	at, err := number(m[2])
	if err != nil {
		return err
	}
	return g.push(stackFrame{function: function, file: m[1], line: at})
}

// end ends a goroutine.
func (g *goroutines) end() error {
	if !g.inStack {
		return nil
	}
	if g.function != "" {
		return invalid(fmt.Sprintf("the stack ends without the file of %.100q", g.function))
	}
	g.inStack = false
	of, err := g.labelsOf(g.state+"\x00"+g.creator, g.label)
	if err != nil {
		return err
	}
	return g.count(of, 0, 1)
}

// label reads the labels of a goroutine.
func (g *goroutines) label(l *labels) error {
	state, pairs, hasLabels := strings.Cut(g.state, " labels:")
	l.text = map[string][]string{}
	for i, part := range strings.Split(state, ", ") {
		if minutes, ok := strings.CutSuffix(part, " minutes"); ok {
			l.text["wait_minutes"] = []string{minutes}
		} else if i == 0 {
			l.text["state"] = []string{part}
		}
	}
	if g.creator != "" {
		l.text["created_by"] = []string{g.creator}
	}
	if !hasLabels {
		return nil
	}
	return quotedPairs(pairs, ": ", func(name, value string) error {
		if g.texts++; g.texts > maxTexts {
			return fmt.Errorf("%w: more than %d labels", profile.ErrTooLarge, maxTexts)
		}
		l.text[name] = append(l.text[name], value)
		return nil
	})
}
