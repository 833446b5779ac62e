//go:build cgo && duckdb_arrow

package main

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/duckdb/duckdb-go/v2"
	"github.com/google/uuid"

	"github.com/granarydb/granary/bench/fleet"
	"github.com/granarydb/granary/bench/peers"
	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/schema"
)

func init() {
	stores["duckdb-memory"] = func(string) (peers.Store, error) { return open("", nil) }
	stores["duckdb-file"] = func(dir string) (peers.Store, error) {
		return open(filepath.Join(dir, "rows.db"), func(s *store) error { return s.do("CHECKPOINT") })
	}
	stores["duckdb-parquet"] = func(dir string) (peers.Store, error) {
		return open("", func(s *store) error { return s.toParquet(filepath.Join(dir, "rows.parquet")) })
	}
}

// store is a DuckDB with one table. Columns are made at their first value. Stacks are numbers in a map
// beside it.
type store struct {
	db      *sql.DB
	conn    *sql.Conn
	to      *duckdb.Appender // nil if the table has no column yet, or is read-only
	columns []string         // the table's columns, in order
	known   map[string]bool  // by column
	numbers map[string]int32 // stack numbers, by the stacks' bytes
	stacks  []string         // by number
	settle  func(*store) error

	scratch []byte
	values  []driver.Value // values of a row
}

// open opens a database in a file, or in memory.
func open(path string, settle func(*store) error) (*store, error) {
	db, err := sql.Open("duckdb", path)
	if err != nil {
		return nil, err
	}
	s := &store{db: db, known: map[string]bool{}, numbers: map[string]int32{}, settle: settle}
	if s.conn, err = db.Conn(context.Background()); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return s, nil
}

func (s *store) do(statement string) error {
	_, err := s.conn.ExecContext(context.Background(), statement)
	return err
}

// name quotes a column's name, and text a string.
func name(of string) string { return `"` + strings.ReplaceAll(of, `"`, `""`) + `"` }
func text(of string) string { return `'` + strings.ReplaceAll(of, `'`, `''`) + `'` }

// typeOf returns a column's type.
func typeOf(column string, t encoding.Type) (string, error) {
	switch t {
	case encoding.UUIDList:
		return "INTEGER", nil
	case encoding.Int64:
		return "BIGINT", nil
	case encoding.String, encoding.UUID:
		return "VARCHAR", nil
	}
	return "", fmt.Errorf("column %s: type %v is not a type of profiles", column, t)
}

// add makes a batch's missing columns, and an appender to all.
func (s *store) add(b schema.Batch) error {
	var added []string
	for _, column := range slices.Sorted(maps.Keys(b.Columns)) {
		if !s.known[column] {
			added = append(added, column)
		}
	}
	if len(added) == 0 {
		return nil
	}
	if err := s.endAppend(); err != nil {
		return err
	}
	for _, column := range added {
		t, err := typeOf(column, b.Columns[column].Type)
		if err != nil {
			return err
		}
		statement := fmt.Sprintf("ALTER TABLE profiles ADD COLUMN %s %s", name(column), t)
		if len(s.columns) == 0 {
			statement = fmt.Sprintf("CREATE TABLE profiles (%s %s)", name(column), t)
		}
		if err := s.do(statement); err != nil {
			return err
		}
		s.known[column], s.columns = true, append(s.columns, column)
	}
	s.values = make([]driver.Value, len(s.columns))
	return s.conn.Raw(func(raw any) (err error) {
		s.to, err = duckdb.NewAppenderFromConn(raw.(driver.Conn), "", "profiles")
		return err
	})
}

func (s *store) endAppend() (err error) {
	if s.to != nil {
		err = s.to.Close()
	}
	s.to = nil
	return err
}

// Insert implements peers.Store.
func (s *store) Insert(b schema.Batch) error {
	if err := s.add(b); err != nil {
		return err
	}
	vectors := make([]encoding.Vector, len(s.columns))
	for i, column := range s.columns {
		vectors[i] = b.Columns[column]
	}
	for row := range b.Rows {
		for i, v := range vectors {
			s.values[i] = s.value(v, row)
		}
		if err := s.to.AppendRow(s.values...); err != nil {
			return err
		}
	}
	return s.to.Flush()
}

// value returns a row's value for the appender, nil for null.
func (s *store) value(v encoding.Vector, row int) driver.Value {
	if v.Len() == 0 { // the profile lacks the column
		return nil
	}
	switch of := peers.Cell(v, row).(type) {
	case uuid.UUID:
		return of.String()
	case []uuid.UUID:
		s.scratch = peers.StackBytes(s.scratch[:0], of)
		number, ok := s.numbers[string(s.scratch)]
		if !ok {
			number = int32(len(s.stacks))
			s.stacks = append(s.stacks, string(s.scratch))
			s.numbers[s.stacks[number]] = number
		}
		return number
	case string:
		return of
	case int64:
		return of
	}
	return nil
}

// Maintain implements peers.Store.
func (s *store) Maintain() error { return nil }

// Rest implements peers.Store.
func (s *store) Rest() error { return nil }

// Settle implements peers.Store.
func (s *store) Settle() error {
	if s.settle == nil {
		return nil
	}
	return s.settle(s)
}

// toParquet replaces the table by a file in the order of types, labels, stack and time. No insert may
// follow.
func (s *store) toParquet(path string) error {
	if err := s.endAppend(); err != nil {
		return err
	}
	var order []string
	for _, column := range slices.Concat(peers.TypeColumns, s.columns, []string{profile.ColumnStacktrace, profile.ColumnTimestamp}) {
		if slices.Contains(peers.TypeColumns, column) || strings.HasPrefix(column, fleet.LabelPrefix) ||
			column == profile.ColumnStacktrace || column == profile.ColumnTimestamp {
			order = append(order, name(column))
		}
	}
	for _, statement := range []string{
		fmt.Sprintf("COPY (SELECT * FROM profiles ORDER BY %s) TO %s (FORMAT parquet, COMPRESSION zstd)", strings.Join(order, ", "), text(path)),
		"DROP TABLE profiles",
		fmt.Sprintf("CREATE VIEW profiles AS SELECT * FROM read_parquet(%s)", text(path)),
	} {
		if err := s.do(statement); err != nil {
			return err
		}
	}
	return nil
}

// Close implements peers.Store.
func (s *store) Close() error {
	return errors.Join(s.endAppend(), s.conn.Close(), s.db.Close())
}
