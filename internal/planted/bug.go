package planted

import (
	"cmp"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
)

// bug is a file in testdata/planted.
type bug struct {
	path  string
	story []string // comment lines, each with its #
	by    string   // name of the test that must find the bug
	hunks []hunk
}

// hunk is a change in one place in one file.
type hunk struct {
	file  string // relative to the module's root, with slashes
	line  int    // the first line before the change, for messages only
	lines []string
}

const foundBy = "found by: "

var hunkHeader = regexp.MustCompile(`^@@ -(\d+)(?:,\d+)? \+\d+(?:,\d+)? @@`)

// readBug reads a file: the story's lines, the test, and a unified diff.
func readBug(path string) (*bug, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	b := &bug{path: path}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	for len(lines) > 0 && strings.HasPrefix(lines[0], "# ") {
		b.story, lines = append(b.story, lines[0]), lines[1:]
	}
	if len(b.story) == 0 {
		return nil, fmt.Errorf("%s: the first line is no story, which begins with #", path)
	}
	if len(lines) == 0 || !regexp.MustCompile(`^`+foundBy+`Test\w+$`).MatchString(lines[0]) {
		return nil, fmt.Errorf("%s: the line after the story does not name a test, as %sTestX does", path, foundBy)
	}
	b.by = strings.TrimPrefix(lines[0], foundBy)
	if b.hunks, err = parseDiff(lines[1:]); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return b, nil
}

func parseDiff(lines []string) (hunks []hunk, err error) {
	file := ""
	for i, line := range lines {
		m := hunkHeader.FindStringSubmatch(line)
		switch {
		case strings.HasPrefix(line, "--- a/"):
			file = strings.TrimPrefix(line, "--- a/")
		case strings.HasPrefix(line, "+++ b/") && i > 0 && strings.HasPrefix(lines[i-1], "--- a/"):
			if file != strings.TrimPrefix(line, "+++ b/") {
				return nil, fmt.Errorf("%q does not follow %q", line, lines[i-1])
			}
		case m != nil && file != "":
			at, err := strconv.Atoi(m[1])
			if err != nil {
				return nil, err
			}
			hunks = append(hunks, hunk{file: file, line: at})
		case len(hunks) == 0:
			return nil, fmt.Errorf("%q is before the first hunk", line)
		case line == "" || strings.Contains(" +-", line[:1]):
			last := &hunks[len(hunks)-1]
			last.lines = append(last.lines, cmp.Or(line, " ")) // editors remove trailing blanks
		default:
			return nil, fmt.Errorf("%q is no line of a hunk", line)
		}
	}
	if len(hunks) == 0 {
		return nil, fmt.Errorf("there is no hunk")
	}
	return hunks, nil
}

// write writes the file with a new diff.
func (b *bug) write(diff string) error {
	text := strings.Join(b.story, "\n") + "\n" + foundBy + b.by + "\n" + diff
	return os.WriteFile(b.path, []byte(text), 0o666)
}
