package filter

import "github.com/granarydb/granary/encoding"

// walk maps rows in a part to series, in ascending order.
type walk struct {
	runs   encoding.Cursor
	series uint32
	end    int // end of the series' rows
}

func (w *walk) reset(words *encoding.Words) {
	w.runs.Reset(words)
	w.end = 0
}

// seriesAt returns the series of a row and the end of its run. Rows must not descend between calls.
func (w *walk) seriesAt(row int) (series uint32, end int) {
	for w.end <= row {
		code, n := w.runs.Next()
		w.series = uint32(code)
		w.end += n
	}
	return w.series, w.end
}
