package columnstore

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/granarydb/granary/schema"
	"github.com/granarydb/granary/txn"
)

// Store is a database in memory. All methods are safe for concurrent use.
//
// Lock order: tables -> commit (package txn) -> a table's generations, and
// memory.making -> tables; the queue's lock is a leaf.
// No yield point, callback to the host, or channel send is under a lock.
type Store struct {
	opts     Options
	log      *txn.Log[*root]
	closed   atomic.Bool
	memory   account
	queue    queue
	counters counters

	maintainer sync.WaitGroup // the one goroutine, started by Open
	stop       chan struct{}

	tables struct {
		sync.Mutex
		byName    map[string]*Table
		histories map[string]*History
	}
}

// Open starts an empty store. Close must be called to end its goroutine.
func Open(opts Options) (*Store, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Store{opts: opts, log: txn.New(&root{newest: math.MinInt64}), stop: make(chan struct{})}
	s.memory.budget = opts.MemoryBudget
	s.tables.byName = map[string]*Table{}
	s.tables.histories = map[string]*History{}
	s.queue.init()
	if !opts.Manual {
		s.maintainer.Go(s.maintain)
	}
	return s, nil
}

// Close ends maintenance and waits for it; a rewrite under way ends first.
// Inserts and new snapshots get ErrClosed from then on; snapshots that are
// open stay readable. It may be called more than once.
func (s *Store) Close() {
	if s.closed.CompareAndSwap(false, true) {
		close(s.stop)
	}
	s.maintainer.Wait()
}

// CreateTable makes an empty table. Errors wrap schema.ErrSchema for a bad
// definition and ErrTable for a name that is taken.
func (s *Store) CreateTable(name string, def schema.Definition) (*Table, error) {
	sch, err := schema.New(def)
	if err != nil {
		return nil, fmt.Errorf("create table %q: %w", name, err)
	}
	var seed [8]byte
	if _, err := io.ReadFull(s.opts.Rand, seed[:]); err != nil {
		return nil, fmt.Errorf("create table %q: hash seed: %w", name, err)
	}
	s.tables.Lock()
	defer s.tables.Unlock()
	if s.closed.Load() {
		return nil, ErrClosed
	}
	if s.tables.byName[name] != nil {
		return nil, fmt.Errorf("%w: %q exists already", ErrTable, name)
	}
	t := &Table{store: s, name: name, schema: sch, ordinal: len(s.tables.byName), seed: binary.LittleEndian.Uint64(seed[:])}
	t.generations.byNumber = map[int64]*generation{}
	t.generations.first = math.MinInt64
	s.log.Rewrite(func(current *txn.Root[*root]) (next txn.Next[*root], ok bool) {
		r := *current.State
		r.tables = append(slices.Clip(r.tables), newTableState())
		next.State = &r
		return next, true
	})
	s.tables.byName[name] = t
	return t, nil
}

// Table returns the table with the given name, nil if there is none.
func (s *Store) Table(name string) *Table {
	s.tables.Lock()
	defer s.tables.Unlock()
	return s.tables.byName[name]
}

// Begin starts a transaction. It costs an allocation and holds nothing
// before its first Insert; from then on Commit or Abort must end it, or what it has
// inserted counts in the memory budget for ever.
func (s *Store) Begin() *Tx {
	tx := &Tx{store: s}
	s.log.Start(&tx.tx)
	return tx
}

// Snapshot returns the state after the newest commit. It must be closed, or it
// keeps alive what it sees. A few atomic operations and one allocation.
func (s *Store) Snapshot() (*Snapshot, error) {
	if s.closed.Load() {
		return nil, ErrClosed
	}
	snap := &Snapshot{store: s}
	snap.state.Take(s.log)
	return snap, nil
}

// View calls f with a snapshot and closes it afterwards.
func (s *Store) View(ctx context.Context, f func(*Snapshot) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	snap, err := s.Snapshot()
	if err != nil {
		return err
	}
	defer snap.Close()
	return f(snap)
}

// Snapshot is the state of the database after one commit. It answers the same
// until it is closed (C2), or has expired: with Options.MemoryBudget, when what
// only snapshots hold is wanted back. Safe for concurrent use.
type Snapshot struct {
	store *Store
	state txn.Snapshot[*root]
}

// Commit returns the id of the last commit that the snapshot sees, 0 before
// the first.
func (s *Snapshot) Commit() txn.ID { return s.state.Commit() }

// Close lets go of the state. Scans that have begun go on; new ones get
// ErrSnapshotClosed. It may be called more than once.
func (s *Snapshot) Close() { s.state.Close() }

// table returns a table's state in the snapshot; nil if the table is newer.
func (s *Snapshot) table(t *Table) (*tableState, error) {
	if s.store != t.store {
		return nil, fmt.Errorf("%w: snapshot and table %q are of different stores", ErrTable, t.name)
	}
	r, err := s.state.State()
	if err != nil {
		return nil, err
	}
	return r.table(t.ordinal), nil
}

// read returns a table's state for a read that takes its time: it asks Err before
// each granule and calls Done at its end.
func (s *Snapshot) read(t *Table) (*tableState, txn.Use[*root], error) {
	if s.store != t.store {
		_, err := s.table(t)
		return nil, txn.Use[*root]{}, err
	}
	use, err := s.state.Use()
	if err != nil {
		return nil, use, err
	}
	return use.State.table(t.ordinal), use, nil
}
