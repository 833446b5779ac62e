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
// terminal, or TextWidth if w is no terminal or does not tell.
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
	if columns < MinWidth {
		return TextWidth
	}
	return min(columns, MaxWidth)
}

// The bounds of the width of a picture of text, in columns.
const (
	MinWidth = 40
	MaxWidth = 1000
)
