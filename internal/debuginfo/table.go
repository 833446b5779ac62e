package debuginfo

import (
	"cmp"
	"slices"
	"sort"
)

// table has the lines and the calls of some code, for lookups by address.
type table struct {
	files []string
	names []string
	lines []lineRow  // by address
	steps []callStep // by address
	calls []call
}

// lineRow says that the code from addr on, up to the next row, comes from a line. A file of -1 means that it is unknown.
type lineRow struct {
	addr uint64
	file int32
	line int32
}

// call is a function, or one that was inlined into its parent at a line.
type call struct {
	name   int32 // index in names
	parent int32 // index in calls, or -1
	file   int32 // of the line in parent; -1 if unknown
	line   int32
	start  int32 // the first line of the function
}

// callStep says that the code from addr on, up to the next step, is of a call; -1 means of none.
type callStep struct {
	addr uint64
	call int32
}

// span is a range of the code of a call. Spans of inlined calls are deeper than those around them.
type span struct {
	low, high uint64
	depth     int32
	call      int32
}

// size returns the approximate bytes of the table.
func (t *table) size() int64 {
	n := int64(16*(len(t.lines)+len(t.steps)) + 20*len(t.calls) + 16*(len(t.files)+len(t.names)))
	for _, all := range [][]string{t.files, t.names} {
		for _, s := range all {
			n += int64(len(s))
		}
	}
	return n
}

// nest sets the steps of the table and the parents of its calls: a call's parent is the call around it. A span that
// crosses the end of the one around it ends there.
func (t *table) nest(spans []span) {
	slices.SortFunc(spans, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.low, b.low), cmp.Compare(a.depth, b.depth), cmp.Compare(b.high, a.high))
	})
	var open []span
	put := func(addr uint64, c int32) {
		if n := len(t.steps); n > 0 && t.steps[n-1].addr == addr {
			t.steps[n-1].call = c
			return
		}
		t.steps = append(t.steps, callStep{addr, c})
	}
	closeUntil := func(addr uint64) {
		for n := len(open); n > 0 && open[n-1].high <= addr; n = len(open) {
			end, outer := open[n-1].high, int32(-1)
			if open = open[:n-1]; n > 1 {
				outer = open[n-2].call
			}
			put(end, outer)
		}
	}
	for _, s := range spans {
		closeUntil(s.low)
		if n := len(open); n > 0 {
			s.high = min(s.high, open[n-1].high)
			if outer := open[n-1].call; outer != s.call && t.calls[s.call].parent < 0 {
				t.calls[s.call].parent = outer
			}
		}
		open = append(open, s)
		put(s.low, s.call)
	}
	closeUntil(^uint64(0))
}

// sortLines puts the rows of sequences in order. A sequence is rows up to one with a file of -1, which ends it. Of two
// sequences that overlap, the first is kept.
func (t *table) sortLines(sequences [][]lineRow) {
	slices.SortStableFunc(sequences, func(a, b []lineRow) int { return cmp.Compare(a[0].addr, b[0].addr) })
	end := uint64(0)
	for _, s := range sequences {
		if s[0].addr >= end {
			t.lines = append(t.lines, s...)
			end = s[len(s)-1].addr
		}
	}
}

// row returns the line at an address.
func (t *table) row(addr uint64) lineRow {
	i := sort.Search(len(t.lines), func(i int) bool { return t.lines[i].addr > addr })
	if i == 0 {
		return lineRow{file: -1}
	}
	return t.lines[i-1]
}

// frames appends the frames at an address. Without a call it appends none.
func (t *table) frames(dst []NamedFrame, addr uint64) []NamedFrame {
	i := sort.Search(len(t.steps), func(i int) bool { return t.steps[i].addr > addr })
	if i == 0 {
		return dst
	}
	at := t.row(addr)
	file, line := at.file, at.line
	for c := t.steps[i-1].call; c >= 0 && len(dst) < maxInlined; c = t.calls[c].parent {
		of := &t.calls[c]
		dst = append(dst, NamedFrame{Function: t.names[of.name], File: t.file(file), Line: int64(line), StartLine: int64(of.start)})
		file, line = of.file, of.line
	}
	return dst
}

func (t *table) file(i int32) string {
	if i < 0 || int(i) >= len(t.files) {
		return ""
	}
	return t.files[i]
}
