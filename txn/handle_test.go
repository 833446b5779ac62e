package txn

import (
	"errors"
	"runtime"
	"sync"
	"testing"
	"weak"
)

// T1: a snapshot is frozen. Later commits and rewrites do not change it.
func TestSnapshotFrozen(t *testing.T) {
	l := New("")
	id := mustCommit(t, l.Begin(), set("old"))
	var s Handle[string]
	s.Take(l)
	mustCommit(t, l.Begin(), set("new"))
	l.Rewrite(func(*Root[string]) (Next[string], bool) { return Next[string]{State: "rewritten"}, true })
	if state, err := s.State(); state != "old" || err != nil {
		t.Errorf("State() = %q, %v, want %q", state, err, "old")
	}
	if s.Commit() != id {
		t.Errorf("Commit() = %d, want %d", s.Commit(), id)
	}
}

// T2: every snapshot taken after a commit includes it.
func TestSnapshotSeesCommit(t *testing.T) {
	l := New("")
	for _, want := range []string{"a", "b", "c"} {
		id := mustCommit(t, l.Begin(), set(want))
		var s Handle[string]
		s.Take(l)
		if state, err := s.State(); state != want || err != nil || s.Commit() != id {
			t.Errorf("snapshot after commit %d of %q: %q, %v at %d", id, want, state, err, s.Commit())
		}
	}
}

func TestSnapshotClosed(t *testing.T) {
	l := New("")
	id := mustCommit(t, l.Begin(), set("rows"))
	tests := []struct {
		name   string
		make   func() *Handle[string]
		commit ID
	}{
		{"closed", func() *Handle[string] {
			s := &Handle[string]{}
			s.Take(l)
			s.Close()
			return s
		}, id},
		{"closed twice", func() *Handle[string] {
			s := &Handle[string]{}
			s.Take(l)
			s.Close()
			s.Close()
			return s
		}, id},
		{"zero", func() *Handle[string] { return &Handle[string]{} }, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := tt.make()
			if state, err := s.State(); state != "" || !errors.Is(err, ErrSnapshotClosed) {
				t.Errorf("State() = %q, %v, want none and %v", state, err, ErrSnapshotClosed)
			}
			if s.Commit() != tt.commit {
				t.Errorf("Commit() = %d, want %d", s.Commit(), tt.commit)
			}
		})
	}
}

// Close releases the state even if the handle stays reachable.
func TestSnapshotCloseFrees(t *testing.T) {
	l := New(new([1 << 10]byte))
	state := weak.Make(l.Root().State)
	var s Handle[*[1 << 10]byte]
	s.Take(l)
	mustCommit(t, l.Begin(), func(ID, *Root[*[1 << 10]byte]) (Next[*[1 << 10]byte], error) {
		return Next[*[1 << 10]byte]{}, nil
	})
	if runtime.GC(); state.Value() == nil {
		t.Fatal("the state of an open snapshot was freed")
	}
	s.Close()
	if runtime.GC(); state.Value() != nil {
		t.Error("the state of a closed snapshot is still pinned")
	}
	runtime.KeepAlive(&s)
}

// A snapshot may be closed during reads. Each reader gets the state or the error.
func TestSnapshotConcurrentClose(t *testing.T) {
	l := New("rows")
	for range 100 {
		var s Handle[string]
		s.Take(l)
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				for {
					state, err := s.State()
					if errors.Is(err, ErrSnapshotClosed) {
						return
					}
					if state != "rows" || err != nil {
						t.Errorf("State() = %q, %v", state, err)
						return
					}
				}
			})
		}
		s.Close()
		wg.Wait()
	}
}

func TestSnapshotDoesNotAllocate(t *testing.T) {
	l := New("rows")
	var s Handle[string]
	if n := testing.AllocsPerRun(100, func() {
		s.Take(l)
		s.State()
		s.Close()
	}); n > 0 {
		t.Errorf("a snapshot allocates %v times, want 0", n)
	}
}

// Several goroutines take the first snapshots of a root while it is replaced. The root is pinned
// until the last snapshot closes, and is then released.
func TestSnapshotsTakenAtOnce(t *testing.T) {
	l := New(0)
	for n := range 300 {
		var snapshots [3]Handle[int]
		var wg sync.WaitGroup
		for i := range snapshots {
			wg.Go(func() { snapshots[i].Take(l) })
		}
		l.Rewrite(func(current *Root[int]) (next Next[int], ok bool) {
			return Next[int]{State: n + 1, Garbage: []Garbage{{Since: current.Version, Bytes: 1}}}, true
		})
		wg.Wait()
		older := 0
		for i := range snapshots {
			state, err := snapshots[i].State()
			if err != nil || state != n && state != n+1 {
				t.Fatalf("round %d: snapshot %d of state %d, %v", n, i, state, err)
			}
			if state == n {
				older++
			}
		}
		l.Sweep()
		if want := int64(min(older, 1)); l.Pinned() != want {
			t.Fatalf("round %d: %d snapshots are of the root before, %d bytes are pinned, want %d", n, older, l.Pinned(), want)
		}
		for i := range snapshots {
			snapshots[i].Close()
		}
		l.Sweep()
		if l.Pinned() != 0 {
			t.Fatalf("round %d: %d bytes are pinned with all snapshots closed", n, l.Pinned())
		}
	}
}

// A snapshot of a root is taken, and the root replaced, between the two steps in which another
// snapshot of it closes: the count falls to 0, then the root is cleared. The new snapshot keeps
// its root.
func TestSnapshotTakenWhileAnotherCloses(t *testing.T) {
	l := New("old")
	var closing, taken Handle[string]
	closing.Take(l)
	p := closing.at.Swap(nil)
	if left := p.readers.Add(-1); left != 0 {
		t.Fatalf("%d readers are left, want 0", left)
	}
	taken.Take(l)
	mustCommit(t, l.Begin(), set("new"))
	p.clear()
	if state, err := taken.State(); state != "old" || err != nil {
		t.Errorf("State() = %q, %v, want %q", state, err, "old")
	}
	taken.Close()
	if p.root.Load() != nil {
		t.Error("the root is pinned with all snapshots closed")
	}
}

// A root is created in the room that the callback of a commit provides.
func TestRoomForRoot(t *testing.T) {
	l := New("")
	var room Root[string]
	id := mustCommit(t, l.Begin(), func(ID, *Root[string]) (Next[string], error) {
		return Next[string]{State: "rows", Room: &room}, nil
	})
	if l.Root() != &room || room.State != "rows" || room.Commit != id || room.Version != 1 {
		t.Errorf("the root is %+v", l.Root())
	}
	var s Handle[string]
	s.Take(l)
	mustCommit(t, l.Begin(), set("more"))
	if state, err := s.State(); state != "rows" || err != nil {
		t.Errorf("State() = %q, %v", state, err)
	}
}
