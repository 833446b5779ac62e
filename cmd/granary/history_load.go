package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/spf13/cobra"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/history/ihs"
)

// The names of a set's files end so.
const (
	intervalsSuffix  = ".ihs.gz"
	attributesSuffix = ".attrs.tsv.gz"
)

// loadedHistory is a history that was read from a file, and what the file had.
type loadedHistory struct {
	*history.View
	history *history.History
	header  ihs.Header
	counts  []int // intervals of each attribute
	values  []int // those of them that are not null
	kinds   [int(ihs.KindString) + 1]int
}

// openHistory reads a file into a history.
func openHistory(cmd *cobra.Command, name string) (*loadedHistory, error) {
	l, err := feedFile(cmd.Context(), newFeedProgress(cmd.ErrOrStderr(), "reading"), name)
	if err != nil {
		return nil, inputError(name, err)
	}
	return l, nil
}

// inputError names the file that an error is about, if it does not.
func inputError(name string, err error) error {
	if name == "-" {
		name = "standard input"
	}
	if text := err.Error(); strings.Contains(text, name+":") || strings.Contains(text, setName(name)+".") {
		return err
	}
	return fmt.Errorf("%s: %w", name, err)
}

// setName returns the name of a set without what its files end in: either of them may be
// named for it.
func setName(name string) string {
	return strings.TrimSuffix(strings.TrimSuffix(name, intervalsSuffix), attributesSuffix)
}

// openError is the error of a set that is not there. Who names a whole file, run.ihs, did not
// ask for run.ihs.ihs.gz, and is told of the file that was named.
func openError(given string, err error) error {
	ending := strings.ToLower(filepath.Ext(given))
	if !errors.Is(err, fs.ErrNotExist) || given != setName(given) || ending != ".ihs" && ending != ".gz" {
		return err
	}
	f, err := os.Open(given)
	if err != nil {
		return err
	}
	f.Close()
	return fmt.Errorf("%s is not the file of a set: those end in %s", given, intervalsSuffix)
}

func feedFile(ctx context.Context, p *feedProgress, name string) (*loadedHistory, error) {
	if isCSV(name) || strings.HasPrefix(name, "synth:") {
		s, err := openSet(ctx, p, name)
		if err != nil {
			return nil, err
		}
		p.end()
		p = newFeedProgress(p.w, "building")
		i := 0
		return feedHistory(ctx, p, s.Header, s.Attributes, func() (ihs.Interval, error) {
			if i == s.Len() {
				return ihs.Interval{}, io.EOF
			}
			i++
			return s.At(i - 1), nil
		})
	}
	given, name := name, setName(name)
	f, err := os.Open(name + intervalsSuffix)
	if err != nil {
		return nil, openError(given, err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ihs.ErrFormat, err)
	}
	r, err := ihs.NewReader(z, ihs.Limits{})
	if err != nil {
		return nil, err
	}
	attributes, err := readAttributes(name+attributesSuffix, r.Header().Keys)
	if err != nil {
		return nil, err
	}
	return feedHistory(ctx, p, r.Header(), attributes, r.Next)
}

// openSet reads the files that become a set in memory.
func openSet(ctx context.Context, p *feedProgress, name string) (*ihs.Set, error) {
	if !isCSV(name) {
		return ihs.Open(name, ihs.Limits{})
	}
	t := newCSVTable(csvOptions{separator: pathSeparator})
	if err := t.readFile(ctx, p, name); err != nil {
		return nil, err
	}
	return t.set()
}

func readAttributes(name string, keys int) ([]ihs.Attribute, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", name, ihs.ErrFormat, err)
	}
	attributes, err := ihs.ReadAttributes(z, keys, ihs.Limits{})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return attributes, nil
}

// feedBatch is after how many intervals a history is committed, which seals them: what is
// not sealed takes several times the room.
const feedBatch = 10_000

// feedHistory makes a history of a set.
func feedHistory(ctx context.Context, p *feedProgress, header ihs.Header, attributes []ihs.Attribute, next func() (ihs.Interval, error)) (*loadedHistory, error) {
	h, err := history.New(history.Options{Start: header.Start})
	if err != nil {
		return nil, err
	}
	l := &loadedHistory{history: h, header: header, counts: make([]int, len(attributes)), values: make([]int, len(attributes))}
	tx, err := h.Begin()
	if err != nil {
		return nil, err
	}
	if err := addAttributes(tx, attributes); err != nil {
		return nil, err
	}
	last, pending := header.Start, 0
	c := feedColumns{ends: make([]int64, len(attributes))}
	for n := 0; ; n++ {
		iv, err := next()
		if err != nil {
			if errors.Is(err, io.EOF) {
				break
			}
			return nil, cmp.Or(c.feed(tx, l), err)
		}
		if n%feedBatch == 0 {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			p.show(int64(n), int64(header.Intervals))
		}
		// A commit ends the writing of the instants that it has.
		if pending++; pending > feedBatch && iv.End > last {
			if tx, err = c.commit(tx, l); err != nil {
				return nil, err
			}
			pending = 1
		}
		last = iv.End
		if err := c.add(tx, l, iv); err != nil {
			return nil, err
		}
	}
	if err := c.feed(tx, l); err != nil {
		return nil, err
	}
	for key, end := range c.ends {
		if end != header.End || l.counts[key] == 0 {
			return nil, fmt.Errorf("%w: attribute %d has no interval up to the end, %d", ihs.ErrFormat, key, header.End)
		}
	}
	if err := tx.Close(header.End); err != nil {
		return nil, err
	}
	l.View, err = tx.Commit()
	p.end()
	return l, err
}

// feedChunk is how many intervals are added at a time.
const feedChunk = 1024

// feedColumns is intervals on their way into a history.
type feedColumns struct {
	some   []history.Attribute
	starts []int64
	until  []int64
	values []history.Value
	kinds  []ihs.Kind
	before int     // how many were added
	ends   []int64 // of the last interval of each attribute that was
}

// add takes an interval, and feeds the history when there are enough.
func (c *feedColumns) add(tx *history.Tx, l *loadedHistory, iv ihs.Interval) error {
	c.some = append(c.some, history.Attribute(iv.Key))
	c.starts, c.until = append(c.starts, iv.Start), append(c.until, iv.End)
	c.values, c.kinds = append(c.values, setValue(iv)), append(c.kinds, iv.Kind)
	if len(c.some) < feedChunk {
		return nil
	}
	return c.feed(tx, l)
}

// commit commits what there is, and begins the next transaction.
func (c *feedColumns) commit(tx *history.Tx, l *loadedHistory) (*history.Tx, error) {
	if err := c.feed(tx, l); err != nil {
		return nil, err
	}
	if _, err := tx.Commit(); err != nil {
		return nil, err
	}
	return l.history.Begin()
}

// feed adds the intervals, counts them, and forgets them. Its error names the one that it is of.
func (c *feedColumns) feed(tx *history.Tx, l *loadedHistory) error {
	added, err := tx.AddAll(c.some, c.starts, c.until, c.values)
	if err != nil {
		return fmt.Errorf("interval %d: %w", c.before+added, err)
	}
	c.before += added
	for i, a := range c.some {
		c.ends[a] = c.until[i]
		l.counts[a]++
		if c.kinds[i] != ihs.KindNull {
			l.values[a]++
		}
		l.kinds[c.kinds[i]]++
	}
	c.some, c.starts, c.until = c.some[:0], c.starts[:0], c.until[:0]
	c.values, c.kinds = c.values[:0], c.kinds[:0]
	return nil
}

func addAttributes(tx *history.Tx, attributes []ihs.Attribute) error {
	for key, a := range attributes {
		parent := history.Root
		if a.Parent != ihs.Root {
			parent = history.Attribute(a.Parent)
		}
		if _, err := tx.Child(parent, a.Name); err != nil {
			return fmt.Errorf("attribute %d: %w", key, err)
		}
	}
	return nil
}

// setValue returns the value of an interval of a set.
func setValue(iv ihs.Interval) history.Value {
	switch iv.Kind {
	case ihs.KindInt, ihs.KindLong:
		return history.Int(iv.Int())
	case ihs.KindFloat:
		return history.Float(iv.Float())
	case ihs.KindString:
		return history.String(iv.Text)
	}
	return history.Value{}
}

// feedProgress is progress that is not shown of what is soon done.
type feedProgress struct {
	*progress
	shown bool
}

func newFeedProgress(w io.Writer, what string) *feedProgress {
	return &feedProgress{progress: newProgress(w, what)}
}

func (p *feedProgress) show(done, total int64) {
	if time.Since(p.start) < time.Second {
		return
	}
	p.shown = true
	p.progress.show(done, total)
}

func (p *feedProgress) end() {
	if p.shown {
		p.progress.end()
	}
}
