package planted

import (
	"fmt"
	"go/scanner"
	"go/token"
	"slices"
	"strings"
)

// source is a file in the module. Hunks are located by code only: comments, blank lines and spacing within
// a line are ignored.
type source struct {
	lines []string
	code  []codeLine
}

// codeLine is a line with tokens.
type codeLine struct {
	at   int // index in lines
	text string
}

func newSource(text string) *source {
	s := &source{lines: strings.Split(strings.TrimSuffix(text, "\n"), "\n")}
	for i, line := range s.lines {
		if code := codeOf(line); code != "" {
			s.code = append(s.code, codeLine{i, code})
		}
	}
	return s
}

// codeOf returns a line's tokens.
func codeOf(line string) string {
	var s scanner.Scanner
	files := token.NewFileSet()
	s.Init(files.AddFile("", -1, len(line)), []byte(line), func(token.Position, string) {}, 0)
	var tokens []string
	for {
		_, tok, text := s.Scan()
		switch {
		case tok == token.EOF:
			return strings.Join(tokens, " ")
		case tok == token.SEMICOLON && text == "\n":
		case text != "":
			tokens = append(tokens, text)
		default:
			tokens = append(tokens, tok.String())
		}
	}
}

// edit is a set of changes to a source: removed lines, and lines added before a line.
type edit struct {
	gone  map[int]bool
	added map[int][]string
}

func newEdit() *edit { return &edit{map[int]bool{}, map[int][]string{}} }

// apply returns the changed lines.
func (e *edit) apply(lines []string) (out []string) {
	for i := range len(lines) + 1 {
		out = append(out, e.added[i]...)
		if i < len(lines) && !e.gone[i] {
			out = append(out, lines[i])
		}
	}
	return out
}

// before returns a hunk's code before the change: all lines except the added ones. It also returns the
// numbers of leading and trailing lines of context.
func (h *hunk) before() (code []string, lead, trail int) {
	changed := false
	for _, line := range h.lines {
		text := codeOf(line[1:])
		switch {
		case line[0] == '+':
			changed, trail = true, 0
			continue
		case text == "":
			continue
		case line[0] == '-':
			changed, trail = true, 0
		case changed:
			trail++
		default:
			lead++
		}
		code = append(code, text)
	}
	return code, lead, trail
}

// find returns the hunk's place in the code of a source: the index of its context's first line, and the
// number of lines. With loose, find may drop outer lines of context that have changed. skip is the number
// of dropped leading lines.
func (h *hunk) find(s *source, loose bool) (at, skip, length int, err error) {
	code, lead, trail := h.before()
	most := 0
	if loose {
		most = lead + trail
	}
	found := 0
	for left := 0; left <= most && found == 0; left++ {
		for skip := max(0, left-trail); skip <= min(left, lead); skip++ {
			some := code[skip : len(code)-(left-skip)]
			if len(some) == 0 {
				continue
			}
			places := s.places(some)
			if len(places) == 1 {
				return places[0], skip, len(some), nil
			}
			found = max(found, len(places))
		}
	}
	if found > 0 {
		return 0, 0, 0, fmt.Errorf("%s has the code of the hunk at line %d %d times, want once", h.file, h.line, found)
	}
	return 0, 0, 0, fmt.Errorf("%s does not have the code of the hunk at line %d", h.file, h.line)
}

func (s *source) places(code []string) (at []int) {
	for i := range len(s.code) - len(code) + 1 {
		if slices.EqualFunc(s.code[i:i+len(code)], code, func(l codeLine, text string) bool { return l.text == text }) {
			at = append(at, i)
		}
	}
	return at
}

// applyTo adds the hunk's changes to an edit of its source.
func (h *hunk) applyTo(s *source, e *edit, loose bool) error {
	at, skip, length, err := h.find(s, loose)
	if err != nil {
		return err
	}
	// next is the source line before which lines are added: the line after the last match.
	next, end := s.code[at].at, at+length
	for _, line := range h.lines {
		if line[0] == '+' {
			e.added[next] = append(e.added[next], line[1:])
			continue
		}
		if codeOf(line[1:]) == "" {
			continue
		}
		if skip > 0 {
			skip--
			continue
		}
		if at == end {
			break // dropped context
		}
		if line[0] == '-' {
			e.gone[s.code[at].at] = true
		}
		next = s.code[at].at + 1
		at++
	}
	return nil
}

// diff returns an edit as a unified diff with `context` lines of context.
func (e *edit) diff(file string, lines []string, context int) string {
	var out strings.Builder
	fmt.Fprintf(&out, "--- a/%s\n+++ b/%s\n", file, file)
	changed := func(i int) bool { return e.gone[i] || len(e.added[i]) > 0 }
	shift := 0
	for i := 0; i <= len(lines); i++ {
		if !changed(i) {
			continue
		}
		lo, hi := max(0, i-context), i // lines [lo, hi) of the source
		for j := i; j <= len(lines) && j <= hi+2*context; j++ {
			if changed(j) {
				hi = j
				if e.gone[j] {
					hi++
				}
			}
		}
		last := hi
		hi = min(len(lines), hi+context)
		var body strings.Builder
		oldLines, newLines := 0, 0
		for j := lo; j <= hi; j++ {
			if j <= last {
				for _, line := range e.added[j] {
					fmt.Fprintf(&body, "+%s\n", line)
					newLines++
				}
			}
			if j == hi {
				break
			}
			oldLines++
			if e.gone[j] {
				fmt.Fprintf(&body, "-%s\n", lines[j])
				continue
			}
			newLines++
			fmt.Fprintf(&body, " %s\n", lines[j])
		}
		fmt.Fprintf(&out, "@@ -%d,%d +%d,%d @@\n%s", lo+1, oldLines, lo+1+shift, newLines, body.String())
		shift += newLines - oldLines
		i = hi
	}
	return out.String()
}
