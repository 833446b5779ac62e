package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// Progress shows the progress of long work: a moving bar on a terminal, elsewhere a line every two seconds.
// It is not safe for concurrent use.
type Progress struct {
	w        io.Writer
	name     string // name of the work
	terminal bool
	start    time.Time
	last     time.Time
}

// NewProgress returns a Progress of the named work and starts its clock.
func NewProgress(w io.Writer, name string) *Progress {
	return &Progress{w: w, name: name, start: time.Now(), terminal: IsTerminal(w)}
}

// IsTerminal reports whether w is a terminal.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// Show shows done of total, at most every 100 ms on a terminal and every two seconds elsewhere.
func (p *Progress) Show(done, total int64) {
	every := 100 * time.Millisecond
	if !p.terminal {
		every = 2 * time.Second
	}
	if time.Since(p.last) < every {
		return
	}
	p.last = time.Now()
	p.print(done, total)
}

func (p *Progress) print(done, total int64) {
	const width = 30
	share := min(1, float64(done)/float64(max(1, total)))
	if !p.terminal {
		fmt.Fprintf(p.w, "%s: %3.0f%%\n", p.name, 100*share)
		return
	}
	full := int(share * width)
	left := ""
	if spent := time.Since(p.start); share > 0.05 {
		left = fmt.Sprintf(" %s left", time.Duration(float64(spent)*(1/share-1)).Round(time.Second))
	}
	fmt.Fprintf(p.w, "\r%s [%s%s] %3.0f%%%s   ", p.name, strings.Repeat("#", full), strings.Repeat(".", width-full), 100*share, left)
}

// End shows 100 %, and ends the line on a terminal.
func (p *Progress) End() {
	p.print(1, 1)
	if p.terminal {
		fmt.Fprintln(p.w)
	}
}

// LateProgress is a Progress that first appears after its interval, so that short work shows no progress.
type LateProgress struct {
	*Progress
	done, total int64
}

// NewLateProgress returns a LateProgress of the named work and starts its clock.
func NewLateProgress(w io.Writer, name string) *LateProgress {
	p := &LateProgress{Progress: NewProgress(w, name)}
	p.last = p.start
	return p
}

// Show is Progress.Show. It shows nothing in the first interval.
func (p *LateProgress) Show(done, total int64) {
	p.done, p.total = done, total
	p.Progress.Show(done, total)
}

// End shows 100 % if the work is done; otherwise it only ends the line. It prints nothing if the progress has
// not appeared.
func (p *LateProgress) End() {
	switch {
	case p.last.Equal(p.start):
	case p.done == p.total:
		p.Progress.End()
	case p.terminal:
		fmt.Fprintln(p.w)
	}
}

// SlowProgress is a Progress that first appears after a second, so that short work shows no progress.
type SlowProgress struct {
	*Progress
	shown bool
}

// NewSlowProgress returns a SlowProgress of the named work and starts its clock.
func NewSlowProgress(w io.Writer, name string) *SlowProgress {
	return &SlowProgress{Progress: NewProgress(w, name)}
}

// Show is Progress.Show. It shows nothing in the first second.
func (p *SlowProgress) Show(done, total int64) {
	if time.Since(p.start) < time.Second {
		return
	}
	p.shown = true
	p.Progress.Show(done, total)
}

// End is Progress.End if the progress has appeared.
func (p *SlowProgress) End() {
	if p.shown {
		p.Progress.End()
	}
}
