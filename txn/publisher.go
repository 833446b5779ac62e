package txn

import (
	"errors"
	"sync"
	"sync/atomic"

	"github.com/granarydb/granary/internal/invariants"
)

// ErrDone is returned when a transaction is used after its commit or abort.
var ErrDone = errors.New("transaction has ended")

// ID is the id of a begin or a commit. The ids from one Publisher are distinct and increase with time. 0 is
// not an id.
type ID uint64

// Version numbers one Publisher's roots from 0, in order of publication. A rewrite has a new version but no
// new commit id.
type Version uint64

// Root is a published state with the id of its last commit. It must not be copied.
type Root[R any] struct {
	Commit  ID
	Version Version
	State   R

	read atomic.Pointer[rootReaders[R]] // nil until the first snapshot
}

// Publisher publishes the roots of one database. All methods are safe for concurrent use.
type Publisher[R any] struct {
	ids     atomic.Uint64
	current atomic.Pointer[Root[R]]

	commit  sync.Mutex // the commit lock: held while a root is derived and published
	pins    []pin[R]   // replaced roots that are being read, oldest first
	sweepAt int        // length of pins at which pin sweeps

	pinnedBytes atomic.Int64 // bytes of the garbage in pins
	expired     atomic.Int64 // number of expired snapshots
}

// New returns a publisher whose first root has the given state.
func New[R any](state R) *Publisher[R] {
	p := &Publisher[R]{}
	p.current.Store(&Root[R]{State: state})
	return p
}

// Root returns the current root: one atomic load.
func (p *Publisher[R]) Root() *Root[R] { return p.current.Load() }

// Begin starts a transaction. It costs one atomic addition and one allocation, and holds
// nothing that must be released.
func (p *Publisher[R]) Begin() *Ticket[R] {
	t := new(Ticket[R])
	p.Start(t)
	return t
}

// Start is Begin for a ticket that the caller allocated. It overwrites the ticket.
func (p *Publisher[R]) Start(t *Ticket[R]) { *t = Ticket[R]{publisher: p, begin: p.nextID()} }

func (p *Publisher[R]) nextID() ID { return ID(p.ids.Add(1)) }

// Rewrite derives a root from the current one and publishes it without a commit of its own. It reports
// whether publish returned true; otherwise the root is unchanged. publish runs under the commit lock: it
// must be short and must not call the publisher. The new root has the current root's commit id.
func (p *Publisher[R]) Rewrite(publish func(current *Root[R]) (next Next[R], ok bool)) bool {
	p.commit.Lock()
	defer p.commit.Unlock()
	root := p.Root()
	next, ok := publish(root)
	if ok {
		p.publish(root.Commit, next)
	}
	return ok
}

// Replay publishes a root from an earlier run under its former commit id, which must be greater than the
// current root's. Later ids are greater than commit. Call it before the first Start, because an earlier
// ticket could reuse an id of the replayed run. publish runs under the commit lock, as in Rewrite.
func (p *Publisher[R]) Replay(commit ID, publish func(current *Root[R]) Next[R]) {
	p.commit.Lock()
	defer p.commit.Unlock()
	p.ids.Store(max(p.ids.Load(), uint64(commit)))
	p.publish(commit, publish(p.Root()))
}

// Next is a publish callback's result: the next state, and the garbage that the next root no longer
// reaches.
type Next[R any] struct {
	State   R
	Garbage []Garbage
	// Room, if not nil, is zeroed memory for the root. It lets a state and its root share one
	// allocation, because they live equally long.
	Room *Root[R]
}

// publish makes next the current root, and so makes its writes visible to new snapshots. The caller holds
// the commit lock.
//
// Three rules hold whatever readers do meanwhile: a snapshot sees all of a commit or nothing (T3), the ids
// of published roots rise (T2), and a root is never counted as free while a read can reach it (T7).
//
//	commit lock {
//	    id = next commit id          under the lock: ids rise in the order of publication
//	    next = callback(id, root)    derives the state; an error leaves the root unchanged (T5)
//	    current = next               the commit: one atomic store; a snapshot half taken retries
//	    old.replaced = true          its last reader clears it
//	    old.readers > 0: pin old     its garbage is charged until they leave
//	}
//
// A state and its commit id share one root because a reader that loads two pointers can get the id of one
// commit with the rows of another. Readers take no lock because a slow scan would then delay every commit,
// and a slow commit every scan. Rows carry no stamps for readers to compare with a list of open
// transactions because each scan would pay for the comparison, and an abort would have to take its rows out
// again. The price of a root is that a commit copies the path to what it changes, and that commits are
// serial: prepare outside of the lock.
func (p *Publisher[R]) publish(commit ID, next Next[R]) {
	old, root := p.current.Load(), next.Room
	if invariants.Enabled {
		invariants.Check(commit >= old.Commit, "T2", "a root of commit %d follows one of commit %d", commit, old.Commit)
	}
	if root == nil {
		root = new(Root[R])
	}
	root.Commit, root.Version, root.State = commit, old.Version+1, next.State
	p.current.Store(root)
	// pin comes after the store: a snapshot that counts itself on the old root too late for pin
	// to see it then loads the new root and starts over.
	p.pin(old.read.Load(), next.Garbage)
}

// Ticket holds a transaction's begin id until its commit or abort. It belongs to one goroutine.
type Ticket[R any] struct {
	publisher *Publisher[R]
	begin     ID
	done      bool
}

// Begin returns the begin id.
func (t *Ticket[R]) Begin() ID { return t.begin }

// Done reports whether the transaction was committed or aborted.
func (t *Ticket[R]) Done() bool { return t.done }

// Commit calls publish with a new commit id and the current root, and publishes the result. Every snapshot
// taken after Commit returns includes it. If publish returns an error, Commit returns it and the
// transaction is aborted. After Commit or Abort it returns ErrDone. publish runs under the commit lock, as
// in Rewrite.
func (t *Ticket[R]) Commit(publish func(commit ID, current *Root[R]) (next Next[R], err error)) (ID, error) {
	if t.done {
		return 0, ErrDone
	}
	t.done = true
	p := t.publisher
	p.commit.Lock()
	defer p.commit.Unlock()
	id := p.nextID()
	next, err := publish(id, p.Root())
	if err != nil {
		return 0, err
	}
	p.publish(id, next)
	return id, nil
}

// Abort ends the transaction. Its private writes were never reachable and become garbage.
// After Commit or Abort it does nothing.
func (t *Ticket[R]) Abort() { t.done = true }
