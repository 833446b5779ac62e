package repair

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/internal/disk"
	"github.com/granarydb/granary/internal/entries"
)

// ErrBeyondRepair is returned by Repair for files without a whole manifest, because nothing else says
// what they contain. The directory is unchanged.
var ErrBeyondRepair = errors.New("there is no whole manifest, so nothing can be repaired: take a backup")

// Suffix is the end of the names of files that a repair set aside.
const Suffix = ".damaged"

// Repair verifies as Verify does, and then leaves a directory that Open accepts, with everything that is
// not damaged. Damaged files, and files that are useless without them, get names with Suffix. The log
// ends before its first damage. The report lists the losses. If nothing is damaged, Repair changes
// nothing.
//
// The directory must not be open. The errors are as for Verify, and ErrBeyondRepair, and disk.ErrDisk,
// after which Repair can be called again.
func Repair(ctx context.Context, fsys disk.FS, progress func(done, total int64)) (*Report, error) {
	c, err := open(fsys, false)
	if err != nil {
		return nil, err
	}
	defer c.close()
	c.progress = progress
	if err := c.check(ctx); err != nil || c.report.IsWhole() {
		return c.report, err
	}
	if slices.ContainsFunc(c.report.Damages, func(d Damage) bool { return d.All }) {
		return c.report, ErrBeyondRepair
	}
	return c.report, c.mend()
}

// mend leaves the whole files. First each damaged file gets a second name, so that nothing removes it
// (R1). Then the log is replaced, because the old manifest still refuses the directory meanwhile (R2).
func (c *checker) mend() error {
	for _, name := range c.aside {
		if err := c.setAside(name); err != nil {
			return err
		}
	}
	if err := c.fs.SyncDir(); err != nil {
		return fmt.Errorf("%w: %w", disk.ErrDisk, err)
	}
	if c.rewrite {
		if err := c.replaceLog(); err != nil {
			return err
		}
	}
	if c.sound == nil {
		return nil
	}
	for i, h := range c.histories[:len(c.sound.Histories)] {
		if h.states != nil {
			continue
		}
		f := &c.sound.Histories[i]
		empty, err := history.New(history.Options{MaxAttributes: f.MaxAttributes})
		if err != nil {
			return fmt.Errorf("history %q: %w", f.Name, err)
		}
		if f.File, _, err = c.dir.WriteStates(empty.Empty().WriteImage); err != nil {
			return err
		}
	}
	if err := c.dir.WriteManifest(c.sound); err != nil {
		return err
	}
	return c.dir.Clean(c.sound, nil)
}

// setAside gives a file a second name. A file that has this name already is from an unfinished repair.
func (c *checker) setAside(name string) error {
	if err := c.fs.Remove(name + Suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %w", disk.ErrDisk, err)
	}
	if err := disk.Copy(c.fs, c.fs, name, name+Suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// replaceLog writes a log that ends before the damage, without entries of lost dictionaries and
// histories.
func (c *checker) replaceLog() error {
	r, err := disk.SalvageLog(c.fs, c.id, c.from())
	if err != nil {
		return err
	}
	defer r.Close()
	left := c.entries
	return disk.ReplaceLog(c.fs, c.id, func() (disk.Entry, error) {
		for ; left > 0; left-- {
			e, err := r.Next()
			if err != nil {
				return e, err
			}
			if e, kept, err := c.keep(e); kept || err != nil {
				left--
				return e, err
			}
		}
		return disk.Entry{}, io.EOF
	})
}

// keep returns an entry without its lost parts. An entry that becomes empty is dropped, unless it is a
// commit.
func (c *checker) keep(e disk.Entry) (out disk.Entry, kept bool, err error) {
	if (e.Kind == entries.EntryCommit || e.Kind == entries.EntryUnits) && c.manifest != nil && e.Commit <= c.manifest.Commit {
		return e, true, nil // a walk does not read it
	}
	contents, err := entries.Read(e)
	if err != nil {
		return e, false, err
	}
	switch w := contents.(type) {
	case entries.Extension:
		return e, !c.tables[w.Table].generationOf(w.Generation).lost, nil
	case entries.CommitContents:
		for i := range w.Tables {
			t := c.tables[w.Tables[i].Ordinal]
			w.Tables[i].Parts = slices.DeleteFunc(w.Tables[i].Parts, func(p entries.PartImage) bool { return t.generation(p.Bucket).lost })
		}
		w.Histories = slices.DeleteFunc(w.Histories, func(j entries.StatesWrites) bool { return c.histories[j.Ordinal].states == nil })
		e.Body = w.Entry()
	}
	return e, true, nil
}
