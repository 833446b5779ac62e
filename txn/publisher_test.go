package txn

import (
	"errors"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// set returns a publish callback that makes state the new root.
func set(state string) func(ID, *Root[string]) (Next[string], error) {
	return func(ID, *Root[string]) (Next[string], error) { return Next[string]{State: state}, nil }
}

func mustCommit[R any](t *testing.T, tx *Ticket[R], publish func(ID, *Root[R]) (Next[R], error)) ID {
	t.Helper()
	id, err := tx.Commit(publish)
	if err != nil {
		t.Fatalf("Commit: %v", err)
	}
	return id
}

func TestFirstRoot(t *testing.T) {
	l := New("first")
	if diff := cmp.Diff(&Root[string]{Commit: 0, State: "first"}, l.Root(), cmpopts.IgnoreUnexported(Root[string]{})); diff != "" {
		t.Errorf("Root of a new log (-want +got):\n%s", diff)
	}
}

func TestBeginIDs(t *testing.T) {
	l := New("")
	var last ID
	for range 100 {
		tx := l.Begin()
		if tx.Begin() <= last {
			t.Fatalf("begin id %d after %d", tx.Begin(), last)
		}
		last = tx.Begin()
	}
}

// T2 over a restart: replayed roots keep their commit ids, and later ids are greater.
func TestReplay(t *testing.T) {
	p := New("")
	for _, commit := range []ID{3, 9} {
		p.Replay(commit, func(current *Root[string]) Next[string] {
			return Next[string]{State: current.State + "x"}
		})
		if root := p.Root(); root.Commit != commit {
			t.Errorf("the root has commit id %d, want %d", root.Commit, commit)
		}
	}
	tx := p.Begin()
	if tx.Begin() <= 9 {
		t.Errorf("begin id %d after commit 9", tx.Begin())
	}
	commit := mustCommit(t, tx, set("new"))
	if root := p.Root(); commit <= tx.Begin() || root.Version != 3 || root.State != "new" {
		t.Errorf("commit id %d after begin id %d, root %q of version %d", commit, tx.Begin(), root.State, root.Version)
	}
}

// T2: transactions get commit IDs in the order of their commits, not of their begins. Begins
// and commits draw from one counter.
func TestCommitOrder(t *testing.T) {
	l := New("")
	early, late := l.Begin(), l.Begin()
	first := mustCommit(t, late, set("late"))
	second := mustCommit(t, early, set("early"))
	if !slices.IsSorted([]ID{early.Begin(), late.Begin(), first, second}) || first == second {
		t.Errorf("ids begin %d, begin %d, commit %d, commit %d; want them to grow",
			early.Begin(), late.Begin(), first, second)
	}
	if diff := cmp.Diff(&Root[string]{Commit: second, Version: 2, State: "early"}, l.Root(), cmpopts.IgnoreUnexported(Root[string]{})); diff != "" {
		t.Errorf("Root (-want +got):\n%s", diff)
	}
}

// T2: the ID passed to the callback is the ID of the root and the result of Commit. The
// callback gets the previous root.
func TestCommitCallback(t *testing.T) {
	l := New([]ID(nil))
	var want []ID
	for range 5 {
		var told ID
		id := mustCommit(t, l.Begin(), func(commit ID, current *Root[[]ID]) (Next[[]ID], error) {
			told = commit
			if diff := cmp.Diff(want, current.State); diff != "" {
				t.Errorf("current state (-want +got):\n%s", diff)
			}
			return Next[[]ID]{State: append(slices.Clip(current.State), commit)}, nil
		})
		want = append(want, id)
		if told != id || l.Root().Commit != id {
			t.Errorf("callback was told %d, Commit returned %d, root has %d", told, id, l.Root().Commit)
		}
	}
}

// T5, T3: an error of publish leaves the root unchanged and ends the transaction.
func TestCommitError(t *testing.T) {
	l := New("before")
	mustCommit(t, l.Begin(), set("kept"))
	root := l.Root()
	errFull := errors.New("full")
	tx := l.Begin()
	id, err := tx.Commit(func(ID, *Root[string]) (Next[string], error) {
		return Next[string]{State: "half done"}, errFull
	})
	if id != 0 || !errors.Is(err, errFull) {
		t.Errorf("Commit = %d, %v, want 0, %v", id, err, errFull)
	}
	if l.Root() != root {
		t.Errorf("root is %+v after a failed commit, want the one before", l.Root())
	}
	if !tx.Done() {
		t.Error("Done() = false after a failed commit")
	}
	// The lock is released, and later IDs are greater than the lost one.
	if id := mustCommit(t, l.Begin(), set("after")); id <= root.Commit {
		t.Errorf("commit id %d after %d", id, root.Commit)
	}
}

// T3: a transaction ends once. A callback passed after its end never runs.
func TestTxEnds(t *testing.T) {
	failing := func(ID, *Root[string]) (Next[string], error) { return Next[string]{}, errors.New("no") }
	tests := []struct {
		name string
		end  func(tx *Ticket[string])
		want string // state at the end
	}{
		{"commit", func(tx *Ticket[string]) { tx.Commit(set("committed")) }, "committed"},
		{"failed commit", func(tx *Ticket[string]) { tx.Commit(failing) }, "before"},
		{"abort", func(tx *Ticket[string]) { tx.Abort() }, "before"},
		{"abort twice", func(tx *Ticket[string]) { tx.Abort(); tx.Abort() }, "before"},
		{"abort after commit", func(tx *Ticket[string]) { tx.Commit(set("committed")); tx.Abort() }, "committed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := New("before")
			tx := l.Begin()
			if tx.Done() {
				t.Error("Done() = true before the end")
			}
			tt.end(tx)
			if !tx.Done() {
				t.Error("Done() = false after the end")
			}
			root := l.Root()
			id, err := tx.Commit(func(ID, *Root[string]) (Next[string], error) {
				t.Error("the callback of a commit after the end runs")
				return Next[string]{State: "again"}, nil
			})
			if id != 0 || !errors.Is(err, ErrDone) {
				t.Errorf("Commit after the end = %d, %v, want 0, %v", id, err, ErrDone)
			}
			if l.Root() != root || root.State != tt.want {
				t.Errorf("state %q, then %q; want %q", root.State, l.Root().State, tt.want)
			}
		})
	}
}

// T4: a rewrite publishes a new root with the commit ID of the previous one.
func TestRewrite(t *testing.T) {
	l := New("")
	id := mustCommit(t, l.Begin(), set("rows"))
	before := l.Root()
	ok := l.Rewrite(func(current *Root[string]) (Next[string], bool) {
		return Next[string]{State: current.State + " rewritten"}, true
	})
	if !ok {
		t.Error("Rewrite = false, want true")
	}
	if diff := cmp.Diff(&Root[string]{Commit: id, Version: 2, State: "rows rewritten"}, l.Root(), cmpopts.IgnoreUnexported(Root[string]{})); diff != "" {
		t.Errorf("Root after a rewrite (-want +got):\n%s", diff)
	}
	if before.State != "rows" { // T1
		t.Errorf("the root before became %q", before.State)
	}
	// A rewrite uses no ID: the next transaction gets the next one.
	if next := l.Begin().Begin(); next != id+1 {
		t.Errorf("begin id %d after a rewrite, want %d", next, id+1)
	}
}

// A refused rewrite changes nothing, even if it returns a state.
func TestRewriteRefused(t *testing.T) {
	l := New("")
	mustCommit(t, l.Begin(), set("rows"))
	root := l.Root()
	if l.Rewrite(func(*Root[string]) (Next[string], bool) { return Next[string]{State: "discarded"}, false }) {
		t.Error("Rewrite = true, want false")
	}
	if l.Root() != root {
		t.Errorf("root is %+v after a refused rewrite", l.Root())
	}
	mustCommit(t, l.Begin(), set("the lock is free"))
}

// T3: before its commit, a transaction has no visible effect.
func TestNothingBeforeCommit(t *testing.T) {
	l := New("before")
	root := l.Root()
	tx := l.Begin()
	inside := make(chan *Root[string], 1)
	mustCommit(t, tx, func(ID, *Root[string]) (Next[string], error) {
		inside <- l.Root() // a load takes no lock, so it is allowed here
		return Next[string]{State: "after"}, nil
	})
	if got := <-inside; got != root {
		t.Errorf("root during publish is %+v, want the one before", got)
	}
	if l.Root().State != "after" {
		t.Errorf("state %q after commit", l.Root().State)
	}
}

// counters is a state in which every transaction increments both fields. A reader that sees
// different values sees half a transaction.
type counters struct {
	a, b     int
	rewrites int
	last     ID
}

// T1, T2, T3, T6: many goroutines commit, one rewrites, others read.
func TestConcurrentCommits(t *testing.T) {
	const writers, commits, readers = 8, 500, 3
	l := New(counters{})
	stop := make(chan struct{})
	var writing, reading sync.WaitGroup
	for range readers {
		reading.Go(func() {
			last := new(Root[counters])
			for {
				select {
				case <-stop:
					return
				default:
					runtime.Gosched()
				}
				r := l.Root()
				switch {
				case r.State.a != r.State.b:
					t.Errorf("T3: half a transaction in %+v", r)
				case r.State.last != r.Commit:
					t.Errorf("root of commit %d has the state of %d", r.Commit, r.State.last)
				case r.Commit < last.Commit || r.State.a < last.State.a || r.State.rewrites < last.State.rewrites:
					t.Errorf("T2: %+v after %+v", r, last)
				case r.Commit == last.Commit && r.State.a != last.State.a:
					t.Errorf("T4: one commit id with the rows of %+v and %+v", r, last)
				}
				last = r
			}
		})
	}
	for range writers {
		writing.Go(func() {
			var last ID
			for range commits {
				tx := l.Begin()
				id, err := tx.Commit(func(id ID, current *Root[counters]) (Next[counters], error) {
					c := current.State
					if id <= c.last {
						t.Errorf("T2: commit %d on top of %d", id, c.last)
					}
					runtime.Gosched() // let other goroutines interleave unless the lock excludes them
					return Next[counters]{State: counters{c.a + 1, c.b + 1, c.rewrites, id}}, nil
				})
				if err != nil || id <= tx.Begin() || id <= last {
					t.Errorf("commit %d, %v of begin %d after commit %d", id, err, tx.Begin(), last)
				}
				last = id
				var s Handle[counters]
				if s.Take(l); s.Commit() < id {
					t.Errorf("T2: a snapshot of %d after commit %d returned", s.Commit(), id)
				}
			}
		})
	}
	const rewrites = 300
	writing.Go(func() {
		for range rewrites {
			l.Rewrite(func(current *Root[counters]) (Next[counters], bool) {
				c := current.State
				c.rewrites++
				runtime.Gosched()
				return Next[counters]{State: c}, true
			})
		}
	})
	writing.Wait()
	close(stop)
	reading.Wait()
	got := l.Root().State
	if want := writers * commits; got.a != want || got.b != want || got.rewrites != rewrites {
		t.Errorf("state %+v at the end, want %d commits and %d rewrites", got, want, rewrites)
	}
}

// T2: a commit that waits for the lock gets its ID once it holds the lock. The ID is greater
// than all IDs assigned in the meantime.
func TestCommitIDUnderLock(t *testing.T) {
	l := New("")
	entered, release := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		l.Begin().Commit(func(ID, *Root[string]) (Next[string], error) {
			close(entered)
			<-release
			return Next[string]{State: "first"}, nil
		})
	})
	<-entered
	waiter := l.Begin()
	var second ID
	wg.Go(func() { second, _ = waiter.Commit(set("second")) })
	time.Sleep(5 * time.Millisecond) // long enough for the waiter to wait
	meanwhile := l.Begin().Begin()
	close(release)
	wg.Wait()
	if second <= meanwhile {
		t.Errorf("commit id %d, but %d was given before it had the lock", second, meanwhile)
	}
	if got := l.Root(); got.State != "second" || got.Commit != second {
		t.Errorf("root %+v, want that of commit %d", got, second)
	}
}

// T6: a reader does not wait for a commit that holds the lock.
func TestReadersDoNotWait(t *testing.T) {
	l := New("before")
	entered, release := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		l.Begin().Commit(func(ID, *Root[string]) (Next[string], error) {
			close(entered)
			<-release
			return Next[string]{State: "after"}, nil
		})
	})
	<-entered
	var s Handle[string]
	s.Take(l) // would deadlock if it took the lock
	if state, err := s.State(); state != "before" || err != nil {
		t.Errorf("State during a commit = %q, %v", state, err)
	}
	l.Begin().Abort() // nor does a begin wait
	close(release)
	wg.Wait()
}

func TestRootDoesNotAllocate(t *testing.T) {
	l := New("state")
	if n := testing.AllocsPerRun(100, func() { l.Root() }); n > 0 {
		t.Errorf("Root allocates %v times, want 0", n)
	}
}
