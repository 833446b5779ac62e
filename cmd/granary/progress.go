package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// progress shows how far long work is: a bar that moves on a terminal, a line
// now and then elsewhere. It belongs to one goroutine.
type progress struct {
	w        io.Writer
	what     string
	terminal bool
	start    time.Time
	last     time.Time
}

func newProgress(w io.Writer, what string) *progress {
	return &progress{w: w, what: what, start: time.Now(), terminal: isTerminal(w)}
}

// isTerminal says whether what is written to w is seen at once by a person.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// show reports that done of total is done.
func (p *progress) show(done, total int64) {
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

func (p *progress) print(done, total int64) {
	const width = 30
	share := min(1, float64(done)/float64(max(1, total)))
	if !p.terminal {
		fmt.Fprintf(p.w, "%s: %3.0f%%\n", p.what, 100*share)
		return
	}
	full := int(share * width)
	left := ""
	if spent := time.Since(p.start); share > 0.05 {
		left = fmt.Sprintf(" %s left", time.Duration(float64(spent)*(1/share-1)).Round(time.Second))
	}
	fmt.Fprintf(p.w, "\r%s [%s%s] %3.0f%%%s   ", p.what, strings.Repeat("#", full), strings.Repeat(".", width-full), 100*share, left)
}

// end draws the full bar and ends the line.
func (p *progress) end() {
	p.print(1, 1)
	if p.terminal {
		fmt.Fprintln(p.w)
	}
}
