package txn

import (
	"errors"
	"sync"
	"sync/atomic"
)

// ErrDone says that a transaction was used after its commit or abort.
var ErrDone = errors.New("transaction has ended")

// ID is a transaction id: of a begin or of a commit. Ids of one Log are
// distinct and grow with time; 0 is none.
type ID uint64

// Version numbers the roots of one Log in the order in which they were
// published, from 0. Rewrites count, unlike in commit ids.
type Version uint64

// Root is a published state with the id of the last commit in it. It must not be copied.
type Root[R any] struct {
	Commit  ID
	Version Version
	State   R

	read atomic.Pointer[published[R]] // nil: nobody has taken a snapshot of it
}

// Log publishes the roots of one database. All methods are safe for concurrent
// use.
type Log[R any] struct {
	ids     atomic.Uint64
	current atomic.Pointer[Root[R]]

	commit  sync.Mutex // the commit lock: held while a root is derived and published
	held    []held[R]  // replaced roots that are read, oldest first
	sweepAt int        // length of held at which it is looked through

	heldBytes atomic.Int64 // of the garbage in held
	expired   atomic.Int64 // snapshots
}

// New returns a log whose first root has the given state.
func New[R any](state R) *Log[R] {
	l := &Log[R]{}
	l.current.Store(&Root[R]{State: state})
	return l
}

// Root returns the current root: one atomic load.
func (l *Log[R]) Root() *Root[R] { return l.current.Load() }

// Begin starts a transaction. It costs one atomic addition and an allocation,
// and holds nothing that must be released.
func (l *Log[R]) Begin() *Tx[R] {
	t := new(Tx[R])
	l.Start(t)
	return t
}

// Start is Begin of a transaction that lies where its owner has room for it. What was in
// there is forgotten.
func (l *Log[R]) Start(t *Tx[R]) { *t = Tx[R]{log: l, begin: l.nextID()} }

func (l *Log[R]) nextID() ID { return ID(l.ids.Add(1)) }

// Rewrite derives a root from the current one and publishes it, without a commit
// of its own. If publish returns false, nothing happens and Rewrite returns
// false. publish runs under the commit lock: it must be short and must not call
// the log. next has the current root's version and commit id plus what changed.
func (l *Log[R]) Rewrite(publish func(current *Root[R]) (next Next[R], ok bool)) bool {
	l.commit.Lock()
	defer l.commit.Unlock()
	root := l.Root()
	next, ok := publish(root)
	if ok {
		l.publish(root.Commit, next)
	}
	return ok
}

// Next is what a publish callback makes of the current root: the state of the
// root after it, and what that one has no more.
type Next[R any] struct {
	State   R
	Garbage []Garbage
	// Room, if not nil, is where the root is made: for a state that lies in memory with
	// room for it, as they live equally long. It must be zero.
	Room *Root[R]
}

// publish makes a root the current one. The caller holds the commit lock.
func (l *Log[R]) publish(commit ID, next Next[R]) {
	old, root := l.current.Load(), next.Room
	if root == nil {
		root = new(Root[R])
	}
	root.Commit, root.Version, root.State = commit, old.Version+1, next.State
	l.current.Store(root)
	// In this order: a snapshot that counts itself on the old root too late to be
	// seen by hold looks at the current root after that, and starts over.
	l.hold(old.read.Load(), next.Garbage)
}

// Tx is a transaction: begun, and not yet committed or aborted. It belongs to
// one goroutine.
type Tx[R any] struct {
	log   *Log[R]
	begin ID
	done  bool
}

// Begin returns the id from when the transaction began.
func (t *Tx[R]) Begin() ID { return t.begin }

// Done says whether the transaction was committed or aborted.
func (t *Tx[R]) Done() bool { return t.done }

// Commit calls publish with a new commit id and the current root, and makes
// what it returns the current root. When Commit returns, every new snapshot
// sees it. An error of publish is returned and ends the transaction as an
// abort does. publish runs under the commit lock, as in Rewrite.
func (t *Tx[R]) Commit(publish func(commit ID, current *Root[R]) (next Next[R], err error)) (ID, error) {
	if t.done {
		return 0, ErrDone
	}
	t.done = true
	l := t.log
	l.commit.Lock()
	defer l.commit.Unlock()
	id := l.nextID()
	next, err := publish(id, l.Root())
	if err != nil {
		return 0, err
	}
	l.publish(id, next)
	return id, nil
}

// Abort ends the transaction. What it prepared was never reachable and is left
// to the garbage collector. After Commit or Abort it does nothing.
func (t *Tx[R]) Abort() { t.done = true }
