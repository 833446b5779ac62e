package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/granarydb/granary/bench/trees/block"
)

// ErrFull means that a store that has intervals was loaded.
var ErrFull = errors.New("store has intervals")

// Store is a server with one layout.
type Store struct {
	layout *Layout
	server *server
	conn   *pgconn.PgConn
}

// New starts a server in a new folder of dir, with the programs of a folder (see Find). The
// caller closes the store, which removes it.
func New(programs, dir string, layout *Layout) (*Store, error) {
	programs, err := Find(programs)
	if err != nil {
		return nil, err
	}
	server, err := newServer(programs, dir)
	if err != nil {
		return nil, err
	}
	s := &Store{layout: layout, server: server}
	if s.conn, err = server.start(); err != nil {
		return nil, errors.Join(err, server.remove())
	}
	return s, nil
}

// Reopen stops the server, starts it again and prepares the questions.
func (s *Store) Reopen() error {
	if err := s.stop(); err != nil {
		return err
	}
	conn, err := s.server.start()
	if err != nil {
		return err
	}
	s.conn = conn
	return s.prepare()
}

// stop stops the server, which Reopen starts again.
func (s *Store) stop() error {
	if s.conn == nil {
		return s.server.stop()
	}
	err := s.conn.Close(context.Background())
	s.conn = nil
	return errors.Join(err, s.server.stop())
}

// Close stops the server and removes all of it.
func (s *Store) Close() error { return errors.Join(s.stop(), s.server.remove()) }

// CPU returns the CPU time of the server since it was last started.
func (s *Store) CPU() (time.Duration, error) { return s.server.cpu() }

// execute runs statements without an answer.
func (s *Store) execute(text string) error {
	if err := s.conn.Exec(context.Background(), text).Close(); err != nil {
		return fmt.Errorf("postgres: %s: %w", text, err)
	}
	return nil
}

// Load stores all intervals, and does what the manual advises after a load.
func (s *Store) Load(all []block.Interval) error {
	if is, err := s.has(); err != nil || is {
		return cmp.Or(err, ErrFull)
	}
	if err := s.execute("BEGIN;" + s.layout.table); err != nil {
		return err
	}
	rows := newRows(s.layout, inOrder(all))
	copying := `COPY intervals (` + s.layout.columns + `) FROM STDIN (FORMAT binary, FREEZE)`
	if _, err := s.conn.CopyFrom(context.Background(), rows, copying); err != nil {
		return errors.Join(fmt.Errorf("postgres: load: %w", err), s.execute("ROLLBACK"))
	}
	if err := s.execute("COMMIT"); err != nil {
		return err
	}
	for _, text := range s.layout.after {
		if err := s.execute(text); err != nil {
			return err
		}
	}
	return s.prepare()
}

// has tells whether the table is there.
func (s *Store) has() (is bool, err error) {
	r := s.conn.ExecParams(context.Background(), `SELECT FROM pg_tables WHERE tablename = 'intervals'`, nil, nil, nil, nil).Read()
	if r.Err != nil {
		return false, fmt.Errorf("postgres: %w", r.Err)
	}
	return len(r.Rows) > 0, nil
}

// inOrder returns the intervals in the order of their keys and starts.
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

// prepare prepares the questions.
func (s *Store) prepare() error {
	for name, text := range map[string]string{"single": s.layout.single, "full": s.layout.full, "plane": s.layout.plane} {
		if _, err := s.conn.Prepare(context.Background(), name, text, nil); err != nil {
			return fmt.Errorf("postgres: prepare %s: %w", name, err)
		}
	}
	return nil
}

var binaryFormat = []int16{1}

// ask calls f for each row of a prepared question. Texts are valid within f.
func (s *Store) ask(question string, f func(block.Interval), arguments ...[]byte) error {
	r := s.conn.ExecPrepared(context.Background(), question, arguments, binaryFormat, binaryFormat)
	for r.NextRow() {
		in, err := interval(r.Values())
		if err != nil {
			_, _ = r.Close() // the first error counts
			return err
		}
		f(in)
	}
	if _, err := r.Close(); err != nil {
		return fmt.Errorf("postgres: %s: %w", question, err)
	}
	return nil
}

// Single returns the interval of a key at a time; false means that there is none.
func (s *Store) Single(key uint32, at int64) (in block.Interval, found bool, err error) {
	err = s.ask("single", func(one block.Interval) {
		if one.Start <= at && at <= one.End {
			in, found = one, true
			in.Text = slices.Clone(one.Text)
		}
	}, keyArgument(key), timeArgument(at))
	return in, found, err
}

// Full calls f for the interval of each key at a time, in no order. Texts are valid within f.
func (s *Store) Full(at int64, f func(block.Interval)) error {
	return s.ask("full", f, timeArgument(at))
}

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
	return s.ask("plane", f, list(slices.Compact(signed), oidInt4),
		timeArgument(times[0]), timeArgument(times[len(times)-1]), list(times, oidInt8))
}

// Bytes returns the size of the tables with their indexes.
func (s *Store) Bytes() (int64, error) {
	const question = `SELECT sum(pg_total_relation_size(c.oid))::int8 FROM pg_class c
WHERE relkind = 'r' AND relname IN ('intervals', 'attributes')`
	r := s.conn.ExecParams(context.Background(), question, nil, nil, nil, binaryFormat).Read()
	if r.Err != nil {
		return 0, fmt.Errorf("postgres: size: %w", r.Err)
	}
	if len(r.Rows) != 1 || len(r.Rows[0][0]) != 8 {
		return 0, fmt.Errorf("postgres: size: %w", errRow)
	}
	return int64(big.Uint64(r.Rows[0][0])), nil
}
