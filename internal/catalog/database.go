package catalog

import (
	"slices"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/txn"
)

// Database is the whole database as a value. It is immutable once published.
type Database struct {
	Tables    []*TableState   // by ordinal of the table
	Histories []*history.View // by ordinal of the history
	Bytes     int64           // heap bytes of all tables, without dictionaries
	Newest    int64           // start of the newest bucket of all tables
	Turned    [2]txn.Version  // versions in which the two newest buckets became the newest, older first
}

// Table returns a table's state, or nil if the table was created after this database.
func (r *Database) Table(ordinal int) *TableState {
	if ordinal >= len(r.Tables) {
		return nil
	}
	return r.Tables[ordinal]
}

// WithTable returns the database with a table added.
func (r *Database) WithTable(state *TableState) *Database {
	next := *r
	next.Tables = append(slices.Clip(r.Tables), state)
	return &next
}

// WithHistory returns the database with a history added.
func (r *Database) WithHistory(view *history.View) *Database {
	next := *r
	next.Histories = append(slices.Clip(r.Histories), view)
	return &next
}

// ReplaceHistory returns the database with a new view of a history.
func (r *Database) ReplaceHistory(ordinal int, view *history.View) *Database {
	next := *r
	next.Histories = slices.Clone(r.Histories)
	next.Histories[ordinal] = view
	return &next
}

// single is a table's state, with room for the root of a store that has only this table, so that a commit
// allocates once. The room stays empty if the store has more tables or histories, because a state can
// outlive its root, and would keep the root, the states of other tables and the views of histories alive.
type single struct {
	state TableState
	at    txn.Root[*Database]
	root  Database
	list  [1]*TableState
}

// put makes s a table's state in the next root.
func (s *single) put(next *txn.Next[*Database], ordinal int) {
	r := next.State
	bytes := r.Bytes + s.state.Bytes - r.Tables[ordinal].Bytes
	if len(r.Tables) == 1 && len(r.Histories) == 0 {
		s.root, s.list[0] = *r, &s.state
		s.root.Tables, s.root.Bytes = s.list[:], bytes
		next.State, next.Room = &s.root, &s.at
		return
	}
	more := *r
	more.Tables, more.Bytes = slices.Clone(r.Tables), bytes
	more.Tables[ordinal] = &s.state
	next.State, next.Room = &more, nil
}
