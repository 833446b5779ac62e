package txn

import (
	"errors"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
)

// things is a state for the tests of garbage: the things that a root reaches, each with its
// size and the version that added it.
type things map[int]Garbage

// pinModel drives a publisher and computes the pinned bytes by inspecting all roots in use.
type pinModel struct {
	t     *testing.T
	rng   *rand.Rand
	log   *Publisher[things]
	next  int
	open  []*Handle[things]
	uses  []Use[things]
	known map[int]Garbage
}

// publish adds a thing and drops some others.
func (m *pinModel) publish() {
	m.log.Rewrite(func(current *Root[things]) (Next[things], bool) {
		next := Next[things]{State: maps.Clone(current.State)}
		for _, id := range slices.Sorted(maps.Keys(next.State)) {
			if m.rng.IntN(3) == 0 {
				next.Garbage = append(next.Garbage, next.State[id])
				delete(next.State, id)
			}
		}
		m.next++
		next.State[m.next] = Garbage{Since: current.Version + 1, Bytes: 1 << (m.next % 40)}
		m.known[m.next] = next.State[m.next]
		return next, true
	})
}

// pinned returns the size of all things that a snapshot or a use of a version before v reaches
// and the current root does not.
func (m *pinModel) pinned(v Version) int64 {
	reach := things{}
	for _, s := range m.open {
		if state, err := s.State(); err == nil && s.at.Load().version < v {
			maps.Copy(reach, state)
		}
	}
	for _, u := range m.uses {
		if u.at.version < v {
			maps.Copy(reach, u.State)
		}
	}
	var sum int64
	for id, g := range reach {
		if _, current := m.log.Root().State[id]; !current {
			sum += g.Bytes
		}
	}
	return sum
}

func (m *pinModel) step() {
	switch m.rng.IntN(8) {
	case 0, 1, 2:
		m.publish()
	case 3:
		s := &Handle[things]{}
		s.Take(m.log)
		m.open = append(m.open, s)
	case 4:
		if len(m.open) > 0 {
			i := m.rng.IntN(len(m.open))
			m.open[i].Close()
			m.open = slices.Delete(m.open, i, i+1)
		}
	case 5:
		if len(m.open) > 0 {
			if u, err := m.open[m.rng.IntN(len(m.open))].Use(); err == nil {
				m.uses = append(m.uses, u)
			}
		}
	case 6:
		if len(m.uses) > 0 {
			i := m.rng.IntN(len(m.uses))
			m.uses[i].Done()
			m.uses = slices.Delete(m.uses, i, i+1)
		}
	case 7:
		if m.rng.IntN(4) == 0 {
			m.expire()
		}
	}
}

// expire checks that exactly the snapshots of the oldest replaced root get the error.
func (m *pinModel) expire() {
	current := m.log.Root().Version
	oldest, expiring := current, 0
	for _, s := range m.open {
		if _, err := s.State(); err != nil {
			continue
		}
		switch v := s.at.Load().version; {
		case v < oldest:
			oldest, expiring = v, 1
		case v == oldest && v < current:
			expiring++
		}
	}
	before := m.log.Expired()
	did := m.log.Expire(0, math.MaxUint64)
	if expiring > 0 && !did {
		m.t.Fatalf("Expire(0, math.MaxUint64) = false with %d snapshots of version %d", expiring, oldest)
	}
	// A use without a snapshot holds its root too, and may be the oldest.
	if got := m.log.Expired() - before; did && got != int64(expiring) && got != 0 {
		m.t.Fatalf("%d snapshots expired, want %d", got, expiring)
	}
}

// TestPinned compares the publisher's count of pinned bytes with the model over random histories.
func TestPinned(t *testing.T) {
	for seed := range uint64(300) {
		m := &pinModel{t: t, rng: rand.New(rand.NewPCG(seed, 1)), log: New(things{}), known: map[int]Garbage{}}
		for range 200 {
			m.step()
			if m.rng.IntN(3) == 0 {
				m.log.Sweep()
				if got, want := m.log.Pinned(), m.pinned(math.MaxUint64); got != want {
					t.Fatalf("seed %d: Pinned() = %d, %d can be reached", seed, got, want)
				}
				v := Version(m.rng.Uint64N(1 + uint64(m.log.Root().Version)))
				if got, _, _ := m.log.PinnedBefore(v); got != m.pinned(v) {
					t.Fatalf("seed %d: PinnedBefore(%d) = %d, %d can be reached", seed, v, got, m.pinned(v))
				}
			} else if got, want := m.log.Pinned(), m.pinned(math.MaxUint64); got < want {
				t.Fatalf("seed %d: Pinned() = %d before a sweep, %d can be reached", seed, got, want)
			}
		}
		for _, s := range m.open {
			s.Close()
		}
		for _, u := range m.uses {
			u.Done()
		}
		m.log.Sweep()
		if got := m.log.Pinned(); got != 0 || len(m.log.pins) != 0 {
			t.Fatalf("seed %d: %d bytes pinned by %d roots, and nobody reads", seed, got, len(m.log.pins))
		}
	}
}

// An expired snapshot returns the error, and a read in progress is told to stop. A snapshot of
// the current root does not expire.
func TestExpire(t *testing.T) {
	l := New("first")
	var old, now Handle[string]
	old.Take(l)
	if l.Expire(0, math.MaxUint64) {
		t.Error("a snapshot of the current root expired: nothing is gained by it")
	}
	mustCommit(t, l.Begin(), set("second"))
	now.Take(l)
	read, err := old.Use()
	if err != nil {
		t.Fatal(err)
	}
	if _, v, ok := l.PinnedBefore(2); !ok || v != 0 {
		t.Errorf("PinnedBefore(2): version %d, %v: version 0 is read", v, ok)
	}
	if l.Expire(1, math.MaxUint64) || l.Expire(0, 0) {
		t.Error("a snapshot of version 0 is not of version 1 or later")
	}
	if !l.Expire(0, math.MaxUint64) || l.Expire(0, math.MaxUint64) {
		t.Error("one snapshot can expire, and once")
	}
	if _, err := old.State(); !errors.Is(err, ErrSnapshotExpired) {
		t.Errorf("state of an expired snapshot: %v", err)
	}
	if _, err := old.Use(); !errors.Is(err, ErrSnapshotExpired) {
		t.Errorf("use of an expired snapshot: %v", err)
	}
	if !errors.Is(read.Err(), ErrSnapshotExpired) || read.State != "first" {
		t.Errorf("a read of an expired snapshot: %v, state %q", read.Err(), read.State)
	}
	read.Done()
	if state, err := now.State(); state != "second" || err != nil {
		t.Errorf("the other snapshot: %q, %v", state, err)
	}
	old.Close()
	if _, err := old.State(); !errors.Is(err, ErrSnapshotClosed) {
		t.Errorf("an expired snapshot after its close: %v", err)
	}
	if l.Expired() != 1 {
		t.Errorf("%d snapshots expired, want 1", l.Expired())
	}
}

// The last reader of a replaced root releases it, without a sweep.
func TestCloseFreesReplacedRoot(t *testing.T) {
	l := New("first")
	var a, b Handle[string]
	a.Take(l)
	b.Take(l)
	root := a.at.Load()
	read, err := a.Use()
	if err != nil {
		t.Fatal(err)
	}
	mustCommit(t, l.Begin(), set("second"))
	a.Close()
	b.Close()
	if root.root.Load() == nil {
		t.Error("the root of a read under way was let go of")
	}
	read.Done()
	if root.root.Load() != nil {
		t.Error("nobody reads the root that was replaced, and it is still pinned")
	}
	var now Handle[string]
	now.Take(l)
	now.Close()
	if l.Root().State != "second" {
		t.Error("a close let go of the current root")
	}
}

// Snapshots are counted correctly across goroutines: in the end nothing is pinned.
func TestPinnedConcurrently(t *testing.T) {
	l := New(things{})
	var wg sync.WaitGroup
	for reader := range 4 {
		wg.Go(func() {
			for range 3000 {
				var s Handle[things]
				s.Take(l)
				if u, err := s.Use(); err == nil {
					if reader == 0 {
						s.Close()
					}
					u.Done()
				} else if !errors.Is(err, ErrSnapshotExpired) {
					t.Error(err)
				}
				s.Close()
			}
		})
	}
	wg.Go(func() {
		for i := range 3000 {
			l.Rewrite(func(current *Root[things]) (Next[things], bool) {
				return Next[things]{Garbage: []Garbage{{Since: current.Version, Bytes: 1}}}, true
			})
			if i%10 == 0 {
				l.Expire(0, math.MaxUint64)
			}
		}
	})
	wg.Wait()
	l.Sweep()
	if l.Pinned() != 0 || len(l.pins) != 0 {
		t.Errorf("%d bytes pinned by %d roots, and nobody reads", l.Pinned(), len(l.pins))
	}
}

// Oldest is the commit of the oldest replaced root that a snapshot reads.
func TestOldest(t *testing.T) {
	log := New(things{})
	if commit, ok := log.Oldest(); ok {
		t.Errorf("commit %d is read by nobody", commit)
	}
	var held []*Handle[things]
	var commits []ID
	for range 3 {
		commit, err := log.Begin().Commit(func(ID, *Root[things]) (Next[things], error) { return Next[things]{State: things{}}, nil })
		if err != nil {
			t.Fatal(err)
		}
		h := new(Handle[things])
		h.Take(log)
		held, commits = append(held, h), append(commits, commit)
	}
	for i := range 2 {
		if got, ok := log.Oldest(); !ok || got != commits[i] {
			t.Errorf("Oldest() = %d, %t, want %d", got, ok, commits[i])
		}
		held[i].Close()
		log.Sweep()
	}
	if commit, ok := log.Oldest(); ok { // the root of the last commit is not replaced
		t.Errorf("commit %d is read by nobody", commit)
	}
	held[2].Close()
}

// Roots that nobody reads any more leave the list when it is twice as long as after the last time, without a call of Sweep.
func TestPinsAreSwept(t *testing.T) {
	log := New(things{})
	longest := 0
	for range 200 {
		h := new(Handle[things])
		h.Take(log)
		log.Rewrite(func(*Root[things]) (Next[things], bool) { return Next[things]{State: things{}}, true })
		longest = max(longest, len(log.pins))
		h.Close()
	}
	if longest > 16 {
		t.Errorf("%d roots are listed, and none is read", longest)
	}
	log.Sweep()
	for _, p := range log.pins[len(log.pins):cap(log.pins)] {
		if p.rootReaders != nil {
			t.Error("the list holds a root that left it")
		}
	}
}

// PinnedBefore and Expire count what is read now, although nobody called Sweep since a snapshot was closed or expired.
func TestPinned_WithoutSweep(t *testing.T) {
	log := New(things{})
	pin := func() *Handle[things] {
		h := new(Handle[things])
		h.Take(log)
		log.Rewrite(func(*Root[things]) (Next[things], bool) {
			return Next[things]{State: things{}, Garbage: []Garbage{{Bytes: 5}}}, true
		})
		if got := log.Pinned(); got != 5 {
			t.Errorf("a snapshot pins %d bytes", got)
		}
		return h
	}
	pin().Close()
	if bytes, _, ok := log.PinnedBefore(math.MaxUint64); ok || bytes != 0 {
		t.Errorf("a closed snapshot pins %d bytes", bytes)
	}
	h := pin()
	if !log.Expire(0, math.MaxUint64) || log.Pinned() != 0 {
		t.Errorf("an expired snapshot pins %d bytes", log.Pinned())
	}
	h.Close()
}
