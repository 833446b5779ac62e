package postgres

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"

	"github.com/jackc/pgx/v5"

	"github.com/granarydb/granary/bench/trees/block"
)

// Store is a server with one layout. It is a cluster in a folder of its own, which also holds the log and the socket.
type Store struct {
	layout *Layout
	dir    string
	who    *syscall.Credential // nil is this process's user
	// While the server runs:
	conn  *pgx.Conn
	pid   int
	end   context.CancelFunc
	ended chan error
}

// New starts a server in a new folder of dir. The caller closes the store, which removes it.
func New(dir string, layout *Layout) (*Store, error) {
	s := &Store{layout: layout}
	err := s.makeCluster(dir)
	if err == nil {
		err = s.start()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("postgres: %w", err), s.Close())
	}
	return s, nil
}

// Reopen stops the server and starts it again.
func (s *Store) Reopen() error {
	if err := s.stop(); err != nil {
		return err
	}
	return s.start()
}

// Close stops the server and removes all of it.
func (s *Store) Close() error { return errors.Join(s.stop(), os.RemoveAll(s.dir)) }

// Load stores all intervals, and does what the manual advises after a load. It is called once.
func (s *Store) Load(all []block.Interval) error {
	ctx := context.Background()
	order := slices.Clone(all)
	slices.SortFunc(order, func(a, b block.Interval) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Start, b.Start))
	})
	err := pgx.BeginFunc(ctx, s.conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, s.layout.table); err != nil {
			return err
		}
		rows := pgx.CopyFromSlice(len(order), func(i int) ([]any, error) { return s.layout.row(&order[i]), nil })
		_, err := tx.CopyFrom(ctx, pgx.Identifier{"intervals"}, s.layout.columns, rows)
		return err
	})
	for i := 0; i < len(s.layout.after) && err == nil; i++ {
		_, err = s.conn.Exec(ctx, s.layout.after[i])
	}
	if err != nil {
		return fmt.Errorf("postgres: load: %w", err)
	}
	return nil
}

// ask calls f for each row of a question, which the connection prepares once. Texts are valid within f.
func (s *Store) ask(question string, f func(block.Interval), arguments ...any) error {
	rows, err := s.conn.Query(context.Background(), question, arguments...)
	if err != nil {
		return fmt.Errorf("postgres: %s: %w", question, err)
	}
	defer rows.Close()
	for rows.Next() {
		in, err := interval(rows.RawValues())
		if err != nil {
			return err
		}
		f(in)
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("postgres: %s: %w", question, err)
	}
	return nil
}

// Single returns the interval of a key at a time; false means that there is none.
func (s *Store) Single(key uint32, at int64) (in block.Interval, found bool, err error) {
	err = s.ask(s.layout.single, func(one block.Interval) {
		if one.Start <= at && at <= one.End {
			in, found = one, true
			in.Text = slices.Clone(one.Text)
		}
	}, int32(key), at)
	return in, found, err
}

// Full calls f for the interval of each key at a time, in no order. Texts are valid within f.
func (s *Store) Full(at int64, f func(block.Interval)) error { return s.ask(s.layout.full, f, at) }

// Plane calls f once for each interval of the keys that is there at one of the times, in no
// order. Texts are valid within f.
func (s *Store) Plane(keys []uint32, times []int64, f func(block.Interval)) error {
	if len(keys) == 0 || len(times) == 0 {
		return nil
	}
	times = slices.Sorted(slices.Values(times))
	signed := make([]int32, len(keys))
	for i, key := range keys {
		signed[i] = int32(key)
	}
	slices.Sort(signed)
	return s.ask(s.layout.plane, f, slices.Compact(signed), times[0], times[len(times)-1], times)
}

// Bytes returns the size of the tables with their indexes.
func (s *Store) Bytes() (n int64, err error) {
	const question = `SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::int8 FROM pg_class c
WHERE relkind = 'r' AND relname IN ('intervals', 'attributes')`
	if err = s.conn.QueryRow(context.Background(), question).Scan(&n); err != nil {
		err = fmt.Errorf("postgres: size: %w", err)
	}
	return n, err
}

var errRow = errors.New("postgres: row of another form")

// interval reads a row of an answer in the binary format: (attribute, kind, start, end, word, text). Its text is
// part of the row.
func interval(row [][]byte) (in block.Interval, err error) {
	if len(row) != 6 || len(row[0]) != 4 || len(row[1]) != 2 || len(row[2]) != 8 || len(row[3]) != 8 {
		return in, fmt.Errorf("%w: %q", errRow, row)
	}
	big := binary.BigEndian
	in = block.Interval{
		Key: big.Uint32(row[0]), Kind: block.Kind(big.Uint16(row[1])),
		Start: int64(big.Uint64(row[2])), End: int64(big.Uint64(row[3])), Text: row[5],
	}
	if len(row[4]) == 8 {
		in.Word = big.Uint64(row[4])
	}
	return in, nil
}
