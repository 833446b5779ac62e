package entries

import (
	"fmt"

	"github.com/granarydb/granary/internal/disk"
	"github.com/granarydb/granary/internal/files"
)

// Visitor gets the contents of log entries in order. Recovery replays them, a check reads them. Ordinals
// refer to known tables and histories. Bytes are in the entry's memory.
type Visitor interface {
	// AddTable and AddHistory create tables and histories that the files lack. Their errors become
	// ErrEntry.
	AddTable(e TableEntry) error
	AddHistory(e HistoryEntry) error
	// Extend adds entries to dictionaries. It may have nothing to do if the files have them or their
	// generation was dropped.
	Extend(e Extension) error
	// Rows, States and Units get the parts of a commit that the files lack. Committed follows them.
	Rows(commit disk.Entry, w *TableContents) error
	States(w StatesWrites) error
	Units(w UnitsContents) error
	Committed(commit disk.Entry)
}

// Walk reads a log for a Visitor. It checks the rules that hold for every visitor: tables and histories
// are created once and in order, and before they are used, and commits follow each other. Recovery and
// repair share it, because a log that they read differently is lost or is not repaired.
type Walk struct {
	to     Visitor
	tables []knownTable // by ordinal
	names  []string     // of histories, by ordinal
	filed  uint64       // commits up to this one are in files
	last   uint64       // last commit
}

type knownTable struct {
	name  string
	units bool // it has time ranges, and so can have units
}

// NewWalk returns a walk of the log that follows a manifest. A nil manifest has no tables.
func NewWalk(m *files.Manifest, to Visitor) *Walk {
	w := &Walk{to: to}
	if m == nil {
		return w
	}
	w.filed, w.last = m.Commit, m.Commit
	for i := range m.Tables {
		w.tables = append(w.tables, knownTable{m.Tables[i].Name, m.Tables[i].Definition.Bucket.Width > 0})
	}
	for _, h := range m.Histories {
		w.names = append(w.names, h.Name)
	}
	return w
}

// Next reads the next entry. The errors are as for Reader.Next, with io.EOF at the end, and ErrEntry, and
// errors from the visitor.
func (w *Walk) Next(log *disk.Reader) (disk.Entry, error) {
	e, err := log.Next()
	if err != nil {
		return e, err
	}
	return e, w.Visit(e)
}

// Visit passes an entry to the visitor. It skips commits that the files have.
func (w *Walk) Visit(e disk.Entry) error {
	isCommit := e.Kind == EntryCommit || e.Kind == EntryUnits
	switch {
	case isCommit && e.Commit <= w.filed:
		return nil
	case isCommit && e.Commit <= w.last:
		return fmt.Errorf("%w: commit %d follows commit %d", ErrEntry, e.Commit, w.last)
	}
	contents, err := Read(e)
	if err != nil {
		return err
	}
	switch c := contents.(type) {
	case TableEntry:
		return w.addTable(c)
	case HistoryEntry:
		return w.addHistory(c)
	case Extension:
		return w.extend(c)
	case CommitContents:
		err = w.commit(e, c)
	case UnitsContents:
		err = w.units(c)
	}
	if err == nil {
		w.last = e.Commit
		w.to.Committed(e)
	}
	return err
}

func (w *Walk) addTable(e TableEntry) error {
	known, err := isKnown("table", e.Name, e.Ordinal, len(w.tables), func(i int) string { return w.tables[i].name })
	if known || err != nil {
		return err
	}
	if err := w.to.AddTable(e); err != nil {
		return fmt.Errorf("%w: table %q: %w", ErrEntry, e.Name, err)
	}
	w.tables = append(w.tables, knownTable{e.Name, e.Definition.Bucket.Width > 0})
	return nil
}

func (w *Walk) addHistory(e HistoryEntry) error {
	known, err := isKnown("history", e.Name, e.Ordinal, len(w.names), func(i int) string { return w.names[i] })
	if known || err != nil {
		return err
	}
	if err := w.to.AddHistory(e); err != nil {
		return fmt.Errorf("%w: history %q: %w", ErrEntry, e.Name, err)
	}
	w.names = append(w.names, e.Name)
	return nil
}

// isKnown reports whether a table or a history exists already, because the files have it. An ordinal that
// is neither known nor the next is an error.
func isKnown(kind, of string, ordinal, there int, name func(ordinal int) string) (bool, error) {
	switch {
	case 0 <= ordinal && ordinal < there && name(ordinal) == of:
		return true, nil
	case ordinal != there:
		return false, fmt.Errorf("%w: %s %q is the %d-th, and %d are there", ErrEntry, kind, of, ordinal, there)
	}
	return false, nil
}

func (w *Walk) extend(e Extension) error {
	if e.Table >= len(w.tables) {
		return fmt.Errorf("%w: dictionaries of table %d of %d", ErrEntry, e.Table, len(w.tables))
	}
	if err := w.to.Extend(e); err != nil {
		return fmt.Errorf("table %q, generation %d: %w", w.tables[e.Table].name, e.Generation, err)
	}
	return nil
}

func (w *Walk) commit(e disk.Entry, c CommitContents) error {
	for i := range c.Tables {
		t := &c.Tables[i]
		if t.Ordinal >= len(w.tables) {
			return fmt.Errorf("%w: table %d of %d", ErrEntry, t.Ordinal, len(w.tables))
		}
		if err := w.to.Rows(e, t); err != nil {
			return fmt.Errorf("table %q: %w", w.tables[t.Ordinal].name, err)
		}
	}
	for _, h := range c.Histories {
		if h.Ordinal >= len(w.names) {
			return fmt.Errorf("%w: history %d of %d", ErrEntry, h.Ordinal, len(w.names))
		}
		if err := w.to.States(h); err != nil {
			return fmt.Errorf("history %q: %w", w.names[h.Ordinal], err)
		}
	}
	return nil
}

func (w *Walk) units(c UnitsContents) error {
	if c.Table >= len(w.tables) || !w.tables[c.Table].units {
		return fmt.Errorf("%w: units of table %d of %d", ErrEntry, c.Table, len(w.tables))
	}
	return w.to.Units(c)
}
