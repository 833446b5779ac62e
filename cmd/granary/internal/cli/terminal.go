package cli

import (
	"io"
	"os"
	"strconv"
)

// Colored reports whether w is a terminal that shows colours: not if the environment has
// NO_COLOR, or calls the terminal dumb.
func Colored(w io.Writer) bool {
	return IsTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// Width returns the columns of a picture of text on w: asked if it is not 0, those of a
// terminal, but at least MinWidth, or TextWidth if w is no terminal or does not tell.
func Width(w io.Writer, asked int) int {
	if asked > 0 {
		return asked
	}
	f, ok := w.(*os.File)
	if !ok || !IsTerminal(w) {
		return TextWidth
	}
	columns := terminalColumns(f)
	if columns == 0 {
		columns, _ = strconv.Atoi(os.Getenv("COLUMNS")) // 0 after an error
	}
	if columns <= 0 {
		return TextWidth
	}
	return max(MinWidth, min(columns, MaxWidth))
}

// Room returns the columns of the last column of a table on w whose other columns take used ones:
// those that are left, but some on a narrow terminal too, where the lines wrap.
func Room(w io.Writer, used int) int { return max(minName, Width(w, 0)-used) }

// minName is the least width of a name in a table.
const minName = 20

// The bounds of the width of a picture of text, in columns. Less than the least has no room for
// the labels of both axes.
const (
	MinWidth = 24
	MaxWidth = 1000
)
