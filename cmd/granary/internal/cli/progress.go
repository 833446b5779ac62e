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
	w           io.Writer
	name        string // name of the work
	terminal    bool
	start       time.Time
	wait        time.Duration // from the start until the progress appears
	last        time.Time     // zero before it has appeared
	done, total int64         // of the last Show
}

// NewProgress returns a Progress of the named work, and starts its clock.
func NewProgress(w io.Writer, name string) *Progress {
	return &Progress{w: w, name: name, start: time.Now(), terminal: IsTerminal(w)}
}

// NewLateProgress returns a Progress that first appears after its interval, so that short work shows none.
func NewLateProgress(w io.Writer, name string) *Progress {
	p := NewProgress(w, name)
	p.wait = p.every()
	return p
}

// NewSlowProgress returns a Progress that first appears after a second, so that short work shows none.
func NewSlowProgress(w io.Writer, name string) *Progress {
	p := NewProgress(w, name)
	p.wait = time.Second
	return p
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

// every returns the interval between two appearances.
func (p *Progress) every() time.Duration {
	if p.terminal {
		return 100 * time.Millisecond
	}
	return 2 * time.Second
}

// Show shows done of total, unless it has done so within the interval.
func (p *Progress) Show(done, total int64) {
	p.done, p.total = done, total
	if time.Since(p.start) < p.wait || time.Since(p.last) < p.every() {
		return
	}
	p.last = time.Now()
	p.print()
}

func (p *Progress) print() {
	const width = 30
	share := min(1, float64(p.done)/float64(max(1, p.total)))
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

// Done ends work that is done.
func (p *Progress) Done() {
	p.done, p.total = 1, 1
	p.End()
}

// End shows 100 % if the last Show did, and ends the line on a terminal. It prints nothing if the progress has
// not appeared.
func (p *Progress) End() {
	if p.last.IsZero() {
		return
	}
	if p.done == p.total {
		p.print()
	}
	if p.terminal {
		fmt.Fprintln(p.w)
	}
}
