package cli

import (
	"io"
	"os"
	"strconv"
)

// Colored reports whether w is a terminal that shows colours. NO_COLOR in the environment, or TERM=dumb,
// turns colours off.
func Colored(w io.Writer) bool {
	return IsTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// Width returns the number of columns of a text picture on w: `asked` if it is above 0, otherwise the columns
// of the terminal, from MinWidth to MaxWidth. If w is not a terminal, or its columns are unknown, Width
// returns TextWidth.
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

// Room returns the width of the last column of a table on w whose other columns take `used` columns of text:
// the remaining width, but at least minName, because lines wrap on a narrow terminal.
func Room(w io.Writer, used int) int { return max(minName, Width(w, 0)-used) }

// minName is the least width of a name in a table.
const minName = 20

// Bounds of the width of a text picture, in columns. With less than MinWidth, the labels of both axes have no
// room.
const (
	MinWidth = 24
	MaxWidth = 1000
)
