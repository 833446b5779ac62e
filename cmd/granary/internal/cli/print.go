package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/granarydb/granary/internal/stackfile"
	"github.com/granarydb/granary/profile"
)

// A Printer prints to W and keeps the first error.
type Printer struct {
	W   io.Writer
	Err error
}

// Printf prints to W, unless an earlier call failed.
func (p *Printer) Printf(format string, args ...any) {
	if p.Err == nil {
		_, p.Err = fmt.Fprintf(p.W, format, args...)
	}
}

// NotShown prints how many elements of a list, called noun, the flag -n left out, if any.
func (p *Printer) NotShown(n int, noun string) {
	if n > 0 {
		p.Printf("%s not shown (-n 0 shows all)\n", Many(n, "more "+noun))
	}
}

// First returns the first n elements of a list, or all if n is 0.
func First[T any](all []T, n int) []T {
	if n > 0 && n < len(all) {
		return all[:n]
	}
	return all
}

// Name formats the name of a function for the last column of a table whose other columns take `used` columns
// of text. On a terminal the name is cut to the remaining width; elsewhere it is complete.
func (p *Printer) Name(name string, used int) string {
	name = Printable(name)
	if !IsTerminal(p.W) {
		return name
	}
	return FitName(name, Room(p.W, used))
}

// PrintJSON prints a value as indented JSON, without escapes for HTML.
func PrintJSON(w io.Writer, v any) error {
	out := json.NewEncoder(w)
	out.SetIndent("", " ")
	out.SetEscapeHTML(false)
	return out.Encode(v)
}

// PrintAnswer prints an answer: as JSON, or by the function text.
func PrintAnswer(w io.Writer, asJSON bool, answer any, text func(p *Printer)) error {
	if asJSON {
		return PrintJSON(w, answer)
	}
	p := Printer{W: w}
	text(&p)
	return p.Err
}

// Printable replaces characters that are not printable, because a terminal would interpret them.
func Printable(name string) string { return stackfile.Printable(name) }

// Fit shortens text to a width by cutting its end.
func Fit(text string, width int) string {
	if utf8.RuneCountInString(text) <= width {
		return text
	}
	return string([]rune(text)[:width-1]) + "…"
}

// FitName shortens the name of a function to a width. It cuts the folders of the package first, from the
// front, and then the end.
func FitName(name string, width int) string {
	path := name
	if i := strings.IndexAny(name, "([<{ "); i >= 0 {
		path = name[:i] // slashes in parameters do not separate folders
	}
	cut := ""
	for utf8.RuneCountInString(cut+name) > width {
		i := strings.IndexByte(path, '/')
		if i < 0 {
			return Fit(cut+name, width)
		}
		cut, path, name = "…", path[i+1:], name[i+1:]
	}
	return cut + name
}

// counted is the constraint of the integers that Size, Number and Many format.
type counted interface{ ~int | ~int64 | ~uint64 }

// Size formats a number of bytes with a unit.
func Size[N counted](n N) string { return profile.FormatValue(int64(n), "bytes") }

// Number formats a count.
func Number[N counted](n N) string { return profile.FormatValue(int64(n), "count") }

// Duration formats nanoseconds with a unit.
func Duration(nanos uint64) string {
	return profile.FormatValue(int64(min(nanos, math.MaxInt64)), "nanoseconds")
}

// Many formats a count with its noun: "1 part", "2 parts".
func Many[N counted](n N, noun string) string {
	if n != 1 && !strings.HasSuffix(noun, "s") {
		noun += "s"
	}
	return Number(n) + " " + noun
}

// TimeJSON formats Unix nanoseconds as RFC 3339 in UTC.
func TimeJSON(nanos int64) string { return time.Unix(0, nanos).UTC().Format(time.RFC3339Nano) }

// TextWidth is the width of wrapped text for people, in columns.
const TextWidth = 80
