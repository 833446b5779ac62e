package repair

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/granarydb/granary/granule"
	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/internal/catalog"
	"github.com/granarydb/granary/internal/disk"
	"github.com/granarydb/granary/internal/entries"
	"github.com/granarydb/granary/schema"
)

// from returns the first segment of the log that is needed.
func (c *checker) from() uint64 {
	if c.manifest == nil {
		return 0
	}
	return c.manifest.Segment
}

// log reads the log up to its end or to the first damage.
func (c *checker) log(ctx context.Context) error {
	whole, chainErr := disk.ReadLog(c.fs, c.id, c.from())
	if chainErr == nil {
		whole.Close()
	} else if !isDamage(chainErr) {
		return chainErr
	}
	r, err := disk.SalvageLog(c.fs, c.id, c.from())
	if err != nil {
		return err
	}
	defer r.Close()
	w := entries.NewWalk(c.sound, c)
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		e, err := w.Next(r)
		if errors.Is(err, io.EOF) {
			err = chainErr // the log ends where a segment is missing
		}
		if err == nil && e.Kind == 0 {
			break
		}
		if err != nil {
			if err := c.loseLog(r, err); err != nil {
				return err
			}
			break
		}
		c.entries++
		c.advance(int64(len(e.Body)))
	}
	c.report.Entries, c.report.Torn = c.entries, r.Torn()
	for _, s := range r.Segments() {
		c.report.Segments++
		c.report.LogBytes += s.Size
	}
	return nil
}

// loseLog records that the log is damaged after the entries that were read.
func (c *checker) loseLog(r *disk.Reader, err error) error {
	loss := Loss{Log: true, After: c.report.Commit}
	file := ""
	if segments := r.Segments(); len(segments) > 0 {
		file = disk.FileName(disk.LogKind, segments[len(segments)-1].Number)
	}
	if d, ok := errors.AsType[*disk.DamagedError](err); ok {
		file = d.File
		if d.Before > loss.After { // otherwise the files have that commit
			loss.Before = d.Before
		}
	} else if !isDamage(err) && !errors.Is(err, entries.ErrEntry) && !errors.Is(err, history.ErrJournal) && !errors.Is(err, schema.ErrSchema) {
		return err
	}
	c.report.add(file, err, loss)
	c.rewrite = true
	names, err := c.fs.List()
	for _, name := range names { // names are in order
		if kind, _, ok := disk.ParseName(name); ok && kind == disk.LogKind && name >= file {
			c.aside = append(c.aside, name)
		}
	}
	return err
}

// AddTable adds a table without rows. It and the next methods implement entries.Visitor. They skip
// entries of lost generations and histories.
func (c *checker) AddTable(e entries.TableEntry) error {
	s, err := schema.New(e.Definition)
	if err == nil {
		c.tables = append(c.tables, emptyTable(e.Name, s, e.Ranges))
	}
	return err
}

// AddHistory adds an empty history.
func (c *checker) AddHistory(e entries.HistoryEntry) error {
	states, err := history.New(history.Options{Start: e.Start, MaxAttributes: e.MaxAttributes, Journal: true})
	if err == nil {
		c.histories = append(c.histories, &recorded{e.Name, states})
	}
	return err
}

// Extend adds entries to a generation's dictionaries.
func (c *checker) Extend(e entries.Extension) error {
	t := c.tables[e.Table]
	g := t.generationOf(e.Generation)
	if e.Generation < t.first || g.lost || e.Number <= g.entries {
		return nil
	}
	if e.Number != g.entries+1 {
		return fmt.Errorf("%w: entry %d follows entry %d", entries.ErrEntry, e.Number, g.entries)
	}
	add, err := g.OpenImage(t.schema, e.Image, e.Version)
	if err != nil {
		return err
	}
	add()
	g.entries = e.Number
	return nil
}

// Rows reads a table's parts in a commit.
func (c *checker) Rows(_ disk.Entry, w *entries.TableContents) error {
	t := c.tables[w.Ordinal]
	for _, p := range w.Parts {
		g := t.generation(p.Bucket)
		if g.lost || t.ranges.Of(p.Bucket) < t.first {
			continue
		}
		reader := granule.PartReader{Schema: t.schema, Generation: g.Generation, Codes: g.Watermark(), Late: t.isLate(p.Bucket)}
		part, err := reader.Read(p.Bucket, bytes.Clone(p.Image))
		if err != nil {
			return err
		}
		c.rows += int64(part.Rows())
	}
	if w.Decided.Cut != catalog.NoCut {
		t.plain[w.Decided.Cut] = true
	}
	return nil
}

// States reads a history's journal.
func (c *checker) States(w entries.StatesWrites) (err error) {
	if h := c.histories[w.Ordinal]; h.states != nil {
		_, err = h.states.Replay(w.Journal)
	}
	return err
}

// Units notes which units are gone.
func (c *checker) Units(w entries.UnitsContents) error {
	t := c.tables[w.Table]
	t.units = true
	for _, u := range w.Change.Drop {
		delete(t.plain, u.Start) // the next bucket there is late
	}
	return nil
}

// Committed counts the rows of a commit that was read whole.
func (c *checker) Committed(e disk.Entry) {
	c.report.Rows, c.rows = c.report.Rows+c.rows, 0
	c.report.Commit = e.Commit
}
