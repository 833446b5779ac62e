package main

import (
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

// feedHistory makes a history of a set, interval by interval.
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
	ends := make([]int64, len(attributes)) // of the last interval of each
	for n := 0; ; n++ {
		iv, err := next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if n%feedBatch == 0 {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			p.show(int64(n), int64(header.Intervals))
		}
		// A commit ends the writing of the instants that it has.
		if pending++; pending > feedBatch && iv.End > last {
			if _, err = tx.Commit(); err == nil {
				tx, err = h.Begin()
			}
			if err != nil {
				return nil, err
			}
			pending = 1
		}
		last = iv.End
		if err := tx.Add(history.Attribute(iv.Key), iv.Start, iv.End, setValue(iv)); err != nil {
			return nil, fmt.Errorf("interval %d: %w", n, err)
		}
		ends[iv.Key] = iv.End
		l.counts[iv.Key]++
		if iv.Kind != ihs.KindNull {
			l.values[iv.Key]++
		}
		l.kinds[iv.Kind]++
	}
	for key, end := range ends {
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
