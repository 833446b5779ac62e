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

// from is the first segment of the log that is needed.
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
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		e, err := r.Next()
		if err == nil {
			err = c.entry(e)
		}
		if errors.Is(err, io.EOF) {
			err = chainErr // the end is where a segment is missing
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

// loseLog records that the log is damaged behind the entries that were read.
func (c *checker) loseLog(r *disk.Reader, err error) error {
	loss := Loss{Log: true, After: c.report.Commit}
	file := ""
	if segments := r.Segments(); len(segments) > 0 {
		file = disk.FileName(disk.LogKind, segments[len(segments)-1].Number)
	}
	if d, ok := errors.AsType[*disk.DamagedError](err); ok {
		file = d.File
		if d.Before > loss.After { // otherwise the files have it
			loss.Before = d.Before
		}
	} else if !isDamage(err) && !errors.Is(err, entries.ErrEntry) && !errors.Is(err, history.ErrJournal) && !errors.Is(err, schema.ErrSchema) {
		return err
	}
	c.report.add(file, err, loss)
	c.logIsLost = true
	names, err := c.fs.List()
	for _, name := range names { // they are in order
		if kind, _, ok := disk.ParseName(name); ok && kind == disk.LogKind && name >= file {
			c.aside = append(c.aside, name)
		}
	}
	return err
}

// entry checks an entry. What belongs to a generation or a history that is lost is not read.
func (c *checker) entry(e disk.Entry) error {
	switch e.Kind {
	case entries.EntryTable:
		return c.addTable(e.Body)
	case entries.EntryDicts:
		return c.extend(e.Body)
	case entries.EntryCommit:
		return c.commit(e)
	case entries.EntryHistory:
		return c.addHistory(e.Body)
	case entries.EntryUnits:
		return c.units(e)
	}
	return fmt.Errorf("%w: kind %d", entries.ErrEntry, e.Kind)
}

func (c *checker) addTable(body []byte) error {
	e, known, err := entries.ReadTable(body, len(c.tables), func(i int) string { return c.tables[i].name })
	if known || err != nil {
		return err
	}
	s, err := schema.New(e.Definition)
	if err != nil {
		return fmt.Errorf("%w: %w", entries.ErrEntry, err)
	}
	c.tables = append(c.tables, emptyTable(e.Name, s, e.Ranges))
	return nil
}

func (c *checker) addHistory(body []byte) error {
	e, known, err := entries.ReadHistory(body, len(c.histories), func(i int) string { return c.histories[i].name })
	if known || err != nil {
		return err
	}
	states, err := history.New(history.Options{Start: e.Start, MaxAttributes: e.MaxAttributes, Journal: true})
	if err != nil {
		return fmt.Errorf("%w: history %q: %w", entries.ErrEntry, e.Name, err)
	}
	c.histories = append(c.histories, &recorded{e.Name, states})
	return nil
}

// extend adds entries to the dictionaries of a generation.
func (c *checker) extend(body []byte) error {
	ordinal, number, entry, image, ok := entries.CutDictsHead(body)
	if !ok || ordinal >= uint64(len(c.tables)) {
		return fmt.Errorf("%w: %d bytes for dictionaries of table %d of %d", entries.ErrEntry, len(body), ordinal, len(c.tables))
	}
	t := c.tables[ordinal]
	g := t.numbered(number)
	if number < t.first || g.lost || entry <= g.entries {
		return nil
	}
	if entry != g.entries+1 {
		return fmt.Errorf("%w: table %q, generation %d: entry %d follows entry %d", entries.ErrEntry, t.name, number, entry, g.entries)
	}
	add, err := g.OpenImage(t.schema, image)
	if err != nil {
		return err
	}
	add()
	g.entries = entry
	return nil
}

// commit checks the images of a commit.
func (c *checker) commit(e disk.Entry) error {
	if c.manifest != nil && e.Commit <= c.manifest.Commit {
		return nil // the files have it
	}
	w, err := entries.CommitEntry(e.Body).Read()
	if err != nil {
		return err
	}
	rows := int64(0)
	for i := range w.Tables {
		n, err := c.parts(&w.Tables[i])
		if err != nil {
			return err
		}
		rows += n
	}
	for _, j := range w.Histories {
		if j.Ordinal >= len(c.histories) {
			return fmt.Errorf("%w: history %d of %d", entries.ErrEntry, j.Ordinal, len(c.histories))
		}
		if h := c.histories[j.Ordinal]; h.states != nil {
			if _, err := h.states.Replay(j.Journal); err != nil {
				return err
			}
		}
	}
	c.report.Rows += rows
	c.report.Commit = e.Commit
	return nil
}

// units checks a change of units.
func (c *checker) units(e disk.Entry) error {
	if c.manifest != nil && e.Commit <= c.manifest.Commit {
		return nil // the files have it
	}
	ordinal, change, err := entries.ReadUnits(e.Body)
	if err == nil && (ordinal >= len(c.tables) || c.tables[ordinal].schema.BucketWidth() == 0) {
		err = fmt.Errorf("%w: units of table %d of %d", entries.ErrEntry, ordinal, len(c.tables))
	}
	if err != nil {
		return err
	}
	t := c.tables[ordinal]
	t.units = true
	for _, u := range change.Drop {
		delete(t.plain, u.Start) // the next bucket there is a late one
	}
	c.report.Commit = e.Commit
	return nil
}

// parts reads the parts of a table in a commit.
func (c *checker) parts(w *entries.TableContents) (rows int64, err error) {
	if w.Ordinal >= len(c.tables) {
		return 0, fmt.Errorf("%w: table %d of %d", entries.ErrEntry, w.Ordinal, len(c.tables))
	}
	t := c.tables[w.Ordinal]
	for _, p := range w.Parts {
		g := t.generation(p.Bucket)
		if g.lost || t.ranges.Of(p.Bucket) < t.first {
			continue
		}
		reader := granule.PartReader{Schema: t.schema, Generation: g.Generation, Codes: g.Watermark(), Late: t.isLate(p.Bucket)}
		part, err := reader.Read(p.Bucket, bytes.Clone(p.Image))
		if err != nil {
			return 0, fmt.Errorf("table %q: %w", t.name, err)
		}
		rows += int64(part.Rows())
	}
	if w.Decided.Cut != catalog.NoCut {
		t.plain[w.Decided.Cut] = true
	}
	return rows, nil
}
