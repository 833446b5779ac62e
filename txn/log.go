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

// Root is a published state with the id of the last commit in it.
type Root[R any] struct {
	Commit ID
	State  R
}

// Log publishes the roots of one database. All methods are safe for concurrent
// use.
type Log[R any] struct {
	ids  atomic.Uint64
	root atomic.Pointer[Root[R]]

	commit sync.Mutex // the commit lock: held while a root is derived and published
}

// New returns a log whose first root has the given state.
func New[R any](state R) *Log[R] {
	l := &Log[R]{}
	l.root.Store(&Root[R]{State: state})
	return l
}

// Root returns the current root: one atomic load.
func (l *Log[R]) Root() *Root[R] { return l.root.Load() }

// Begin starts a transaction. It costs one atomic addition and an allocation,
// and holds nothing that must be released.
func (l *Log[R]) Begin() *Tx[R] { return &Tx[R]{log: l, begin: l.nextID()} }

func (l *Log[R]) nextID() ID { return ID(l.ids.Add(1)) }

// Rewrite derives a root with the same rows from the current one and publishes
// it. If publish returns false, nothing happens and Rewrite returns false.
// publish runs under the commit lock: it must be short and must not call the
// log.
func (l *Log[R]) Rewrite(publish func(current R) (next R, ok bool)) bool {
	l.commit.Lock()
	defer l.commit.Unlock()
	root := l.root.Load()
	next, ok := publish(root.State)
	if ok {
		l.root.Store(&Root[R]{Commit: root.Commit, State: next})
	}
	return ok
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

// Commit calls publish with a new commit id and the current state, and makes
// what it returns the current root. When Commit returns, every new snapshot
// sees it. An error of publish is returned and ends the transaction as an
// abort does. publish runs under the commit lock, as in Rewrite.
func (t *Tx[R]) Commit(publish func(commit ID, current R) (next R, err error)) (ID, error) {
	if t.done {
		return 0, ErrDone
	}
	t.done = true
	l := t.log
	l.commit.Lock()
	defer l.commit.Unlock()
	id := l.nextID()
	next, err := publish(id, l.root.Load().State)
	if err != nil {
		return 0, err
	}
	l.root.Store(&Root[R]{Commit: id, State: next})
	return id, nil
}

// Abort ends the transaction. What it prepared was never reachable and is left
// to the garbage collector. After Commit or Abort it does nothing.
func (t *Tx[R]) Abort() { t.done = true }
