package sqlite

import (
	"cmp"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"

	_ "modernc.org/sqlite" // the driver

	"github.com/granarydb/granary/bench/trees/block"
	"github.com/granarydb/granary/bench/trees/query"
)

// ErrFull means that a store that has intervals was loaded.
var ErrFull = errors.New("store has intervals")

// Store is a database in one file. It is not safe for concurrent use.
type Store struct {
	db                  *sql.DB
	file                string
	single, full, plane *sql.Stmt
}

// fileName is the database in its directory.
const fileName = "intervals.sqlite"

// pageSize is the size of a page in bytes.
const pageSize = 32768

// Open opens the database of a directory, or makes an empty one. The caller closes it.
func Open(dir string) (*Store, error) {
	file := filepath.Join(dir, fileName)
	db, err := connect(file)
	if err != nil {
		return nil, err
	}
	s := &Store{db: db, file: file}
	if _, err := db.Exec(schema); err != nil {
		return nil, errors.Join(fmt.Errorf("sqlite: make tables in %s: %w", file, err), db.Close())
	}
	if err := s.prepare(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// connect opens one connection. It maps the file, has pages of 256 MiB in memory and writes
// without a journal: a load that fails loses the file.
func connect(file string) (*sql.DB, error) {
	pragmas := url.Values{"_pragma": {
		fmt.Sprintf("page_size(%d)", pageSize),
		"journal_mode(off)", "synchronous(off)", "locking_mode(exclusive)",
		"cache_size(-262144)", "mmap_size(4294967296)", "temp_store(memory)",
	}}
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: file}).EscapedPath()+"?"+pragmas.Encode())
	if err != nil {
		return nil, fmt.Errorf("sqlite: open %s: %w", file, err)
	}
	db.SetMaxOpenConns(1)
	return db, nil
}

const schema = `
CREATE TABLE IF NOT EXISTS attributes (attribute INTEGER PRIMARY KEY);
CREATE TABLE IF NOT EXISTS intervals (
	attribute INTEGER NOT NULL, start INTEGER NOT NULL, "end" INTEGER NOT NULL, kind INTEGER NOT NULL, value,
	PRIMARY KEY (attribute, start)
) WITHOUT ROWID`

// The questions. The interval of an attribute at a time is the last one that starts by then,
// if it has not ended.
const (
	singleQuestion = `
SELECT attribute, start, "end", kind, value FROM intervals
WHERE attribute = ?1 AND start <= ?2 ORDER BY start DESC LIMIT 1`

	fullQuestion = `
SELECT i.attribute, i.start, i."end", i.kind, i.value FROM attributes a CROSS JOIN intervals i
ON i.attribute = a.attribute
AND i.start = (SELECT max(start) FROM intervals WHERE attribute = a.attribute AND start <= ?1)
WHERE i."end" >= ?1`

	planeQuestion = `
SELECT i.attribute, i.start, i."end", i.kind, i.value FROM json_each(?1) k CROSS JOIN intervals i
ON i.attribute = k.value AND i.start <= ?3
AND i.start >= ifnull((SELECT max(start) FROM intervals WHERE attribute = k.value AND start <= ?2), ?2)`
)

func (s *Store) prepare() (err error) {
	for to, text := range map[**sql.Stmt]string{&s.single: singleQuestion, &s.full: fullQuestion, &s.plane: planeQuestion} {
		if *to, err = s.db.Prepare(text); err != nil {
			return fmt.Errorf("sqlite: prepare: %w", err)
		}
	}
	return nil
}

// rowsAtOnce is the number of rows of an INSERT.
const rowsAtOnce = 100

// Load stores all intervals, in one transaction.
func (s *Store) Load(all []block.Interval) error {
	var full bool
	if err := s.db.QueryRow(`SELECT EXISTS (SELECT 1 FROM attributes)`).Scan(&full); err != nil {
		return fmt.Errorf("sqlite: load: %w", err)
	}
	if full {
		return ErrFull
	}
	tx, err := s.db.Begin()
	if err != nil {
		return fmt.Errorf("sqlite: load: %w", err)
	}
	if err := insert(tx, inOrder(all)); err != nil {
		return errors.Join(fmt.Errorf("sqlite: load: %w", err), tx.Rollback())
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("sqlite: load: %w", err)
	}
	return nil
}

// inOrder returns the intervals in the order of the primary key.
func inOrder(all []block.Interval) []*block.Interval {
	order := make([]*block.Interval, len(all))
	for i := range all {
		order[i] = &all[i]
	}
	slices.SortFunc(order, func(a, b *block.Interval) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Start, b.Start))
	})
	return order
}

func insert(tx *sql.Tx, all []*block.Interval) error {
	values := make([]any, 0, 5*rowsAtOnce)
	many, err := tx.Prepare(insertRows(rowsAtOnce))
	if err != nil {
		return err
	}
	for chunk := range slices.Chunk(all, rowsAtOnce) {
		values = values[:0]
		for _, in := range chunk {
			values = append(values, int64(in.Key), in.Start, in.End, int64(in.Kind), valueOf(in))
		}
		if len(chunk) == rowsAtOnce {
			_, err = many.Exec(values...)
		} else {
			_, err = tx.Exec(insertRows(len(chunk)), values...)
		}
		if err != nil {
			return err
		}
	}
	_, err = tx.Exec(`INSERT INTO attributes SELECT DISTINCT attribute FROM intervals`)
	return err
}

func insertRows(n int) string {
	text := []byte(`INSERT INTO intervals VALUES `)
	for i := range n {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(text, "(?,?,?,?,?)"...)
	}
	return string(text)
}

func valueOf(in *block.Interval) any {
	switch in.Kind {
	case block.Null:
		return nil
	case block.String:
		if in.Text == nil {
			return []byte{}
		}
		return in.Text
	}
	return int64(in.Word)
}

// Single returns the interval of a key at a time; false means that there is none.
func (s *Store) Single(key uint32, at int64) (in block.Interval, found bool, err error) {
	err = ask(s.single, func(one *block.Interval) {
		if one.End >= at {
			in, found = *one, true
		}
	}, int64(key), at)
	return in, found, err
}

// Full calls f for the interval of each key at a time, in no order.
func (s *Store) Full(at int64, f func(block.Interval)) error {
	return ask(s.full, func(in *block.Interval) { f(*in) }, at)
}

// Plane calls f once for each interval of the keys that is there at one of the times, in no
// order.
func (s *Store) Plane(keys []uint32, times []int64, f func(block.Interval)) error {
	if len(keys) == 0 || len(times) == 0 {
		return nil
	}
	keys = slices.Compact(slices.Sorted(slices.Values(keys)))
	list, err := json.Marshal(keys)
	if err != nil {
		return fmt.Errorf("sqlite: keys: %w", err)
	}
	plane := query.NewPlane(keys, times)
	return ask(s.plane, func(in *block.Interval) {
		if plane.At(in.Key, in.Start, in.End) {
			f(*in)
		}
	}, list, slices.Min(times), slices.Max(times))
}

// ask calls f for each row of a question.
func ask(question *sql.Stmt, f func(*block.Interval), arguments ...any) error {
	rows, err := question.Query(arguments...)
	if err != nil {
		return fmt.Errorf("sqlite: ask: %w", err)
	}
	var key, start, end, kind, value any // Scan copies nothing into these, and converts nothing
	for rows.Next() {
		if err := rows.Scan(&key, &start, &end, &kind, &value); err != nil {
			return errors.Join(fmt.Errorf("sqlite: row: %w", err), rows.Close())
		}
		in := block.Interval{Key: uint32(key.(int64)), Start: start.(int64), End: end.(int64), Kind: block.Kind(kind.(int64))}
		switch v := value.(type) {
		case int64:
			in.Word = uint64(v)
		case []byte:
			in.Text = v
		}
		f(&in)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return fmt.Errorf("sqlite: rows: %w", err)
	}
	return nil
}

// Bytes returns the size of the file.
func (s *Store) Bytes() (int64, error) {
	at, err := os.Stat(s.file)
	if err != nil {
		return 0, fmt.Errorf("sqlite: size: %w", err)
	}
	return at.Size(), nil
}

// Close closes the database. The file stays.
func (s *Store) Close() error {
	var errs []error
	for _, question := range []*sql.Stmt{s.single, s.full, s.plane} {
		if question != nil {
			errs = append(errs, question.Close())
		}
	}
	return errors.Join(append(errs, s.db.Close())...)
}
