package columnstore

import (
	"errors"
	"maps"
	"math"
	"strconv"
	"strings"

	"github.com/granarydb/granary/history"
)

// simChange is the oracle's record of one change of an attribute.
type simChange struct {
	attribute string
	at        int64
	value     history.Value
}

// simState is a reader's result from the history: the state of every attribute at an instant,
// alone and in a slice.
type simState struct {
	commit uint64
	view   *history.View
	at     int64
	states map[string]history.Interval
}

// writeStates writes to the history within a transaction, and returns its changes. Now and
// then they exceed a tile, with many ends at one instant.
func (h *simRun) writeStates(tx *Tx) []simChange {
	w, err := tx.History(h.states)
	if errors.Is(err, history.ErrBusy) {
		h.note("history has a writer")
		return nil
	}
	if err != nil {
		h.expectClosed(err)
		return nil
	}
	h.yieldPoint("history is written")
	var changes []simChange
	n := 1 + h.rng.IntN(6)
	if h.rng.IntN(4) == 0 {
		n = 100 + h.rng.IntN(500)
	}
	at := h.stateTime
	for range n {
		if h.rng.IntN(40) > 0 && len(changes) > 0 {
			at += int64(h.rng.IntN(2))
		} else {
			at += 1 + int64(h.rng.IntN(3))
		}
		c := simChange{"a" + strconv.Itoa(h.rng.IntN(24)), at, history.Int(int64(h.rng.IntN(3)))}
		if h.rng.IntN(8) == 0 {
			c.value = history.Value{}
		}
		if h.crashing != nil && strings.HasSuffix(c.attribute, "1") && !c.value.IsNull() { // every eighth is of texts
			c.value = history.String("state " + strconv.FormatInt(at/3, 10))
		}
		a, err := w.Attribute("sim", c.attribute)
		if err == nil {
			err = w.Change(c.at, a, c.value)
		}
		if h.refused(err) {
			return changes
		}
		if err != nil {
			h.fail("change of %s at %d: %v", c.attribute, c.at, err)
			return nil
		}
		changes = append(changes, c)
	}
	if h.rng.IntN(6) == 0 {
		h.replaceCommitted(w, changes[0].attribute)
	}
	return changes
}

// replaceCommitted tries to change final states, which must be refused.
func (h *simRun) replaceCommitted(w *history.Writer, attribute string) {
	if len(h.statesOf(math.MaxUint64)) == 0 {
		return
	}
	a, err := w.Lookup("sim", attribute)
	if err == nil {
		err = w.Change(h.stateTime, a, history.Int(99))
	}
	if !errors.Is(err, history.ErrTime) {
		h.fail("a change at %d, which is committed, got %v", h.stateTime, err)
	}
	h.note("change of what is committed refused")
}

// committedStates records the changes of a commit that was published.
func (h *simRun) committedStates(changes []simChange) {
	for _, c := range changes {
		h.stateTime = max(h.stateTime, c.at)
	}
	if len(changes) > 0 {
		h.note("commit of states")
	}
}

// lookAtStates reads a snapshot's history, at once and again at the end.
func (h *simRun) lookAtStates(snap *Snapshot) {
	view, err := snap.History(h.states)
	if h.expired(err, "snapshot expired") {
		return
	}
	if err != nil {
		h.fail("history of a snapshot at commit %d: %v", snap.Commit(), err)
		return
	}
	s := simState{commit: uint64(snap.Commit()), view: view}
	if view.Instants() {
		s.at = view.End()
		if h.rng.IntN(3) > 0 {
			s.at = view.Start() + int64(h.rng.IntN(int(view.End()-view.Start())+1))
		}
	}
	if s.states = h.readStates(s); s.states != nil {
		h.note("read of states")
		h.kept = append(h.kept, s)
	}
}

// readStates asks a view for the state of every attribute, in two ways.
func (h *simRun) readStates(s simState) map[string]history.Interval {
	states := map[string]history.Interval{}
	if !s.view.Instants() {
		return states
	}
	slice, err := s.view.Slice(s.at)
	if err != nil {
		h.fail("slice at %d of %d: %v", s.at, s.view.End(), err)
		return nil
	}
	for i := range 24 {
		name := "a" + strconv.Itoa(i)
		a, err := s.view.Lookup("sim", name)
		if err != nil {
			continue
		}
		in, err := s.view.At(a, s.at)
		same, sliced := slice.Of(a)
		if err != nil || sliced != nil || in != same {
			h.fail("attribute %s at %d of commit %d: %+v %v, in a slice %+v %v", name, s.at, s.commit, in, err, same, sliced)
			return nil
		}
		states[name] = in
	}
	return states
}

// statesOf returns the changes of all commits up to commit, in their order.
func (h *simRun) statesOf(commit uint64) (changes []simChange) {
	for _, c := range h.commits.Until(commit) {
		changes = append(changes, c.states...)
	}
	return changes
}

// checkStates compares a view's earlier answers with the oracle, and with its answers now.
func (h *simRun) checkStates(s simState) {
	begins, end := h.beginsOf(s.commit)
	want := map[string]history.Interval{}
	for name, of := range begins {
		in := stateAt(of, s.at, end)
		in.Start = max(in.Start, s.view.Start()) // dropped states are gone
		want[name] = in
	}
	if s.view.Instants() != (len(begins) > 0) || s.view.Instants() && s.view.End() != end {
		h.fail("the history at commit %d ends at %d, the oracle's at %d", s.commit, s.view.End(), end)
	}
	if !maps.Equal(s.states, want) {
		h.fail("the history at %d of commit %d is\n%v, the oracle's\n%v", s.at, s.commit, s.states, want)
	}
	if now := h.readStates(s); !maps.Equal(s.states, now) {
		h.fail("the history at %d of commit %d was\n%v, and is now\n%v", s.at, s.commit, s.states, now)
	}
}

// evictStates drops old states outside a commit, as a store that makes room does.
func (h *simRun) evictStates() {
	if h.states == nil {
		return
	}
	start := func() int64 { return h.store.roots.Root().State.Histories[h.states.ordinal].Start() }
	before := start()
	if h.states.evict(before + h.rng.Int64N(40)); start() > before {
		h.note("states evicted outside of a commit")
		h.evicted[start()] = true
	}
}

// checkRecovered compares the history after a crash with the oracle. Its start comes from the last commit
// with its writer, or from a later eviction that a file has, because the log has no evictions.
func (h *simRun) checkRecovered(snap *Snapshot) {
	view, err := snap.History(h.states)
	if err != nil {
		h.fail("history after recovery: %v", err)
		return
	}
	floor := int64(0)
	for _, c := range h.commits.Until(math.MaxUint64) {
		if c.hasWriter {
			floor = c.floor
		}
	}
	if view.Start() != floor && (view.Start() < floor || !h.evicted[view.Start()]) {
		h.fail("the history starts at %d after recovery, the oracle's at %d", view.Start(), floor)
	}
	if floor > 0 {
		h.note("states dropped before a crash")
	}
	if view.Instants() {
		h.note("states after a crash")
	}
	for range 4 {
		h.lookAtStates(snap)
	}
}

// simBegin is where an attribute gets a value.
type simBegin struct {
	at    int64
	value history.Value
}

// beginsOf returns the values of each attribute that the commits up to commit changed, oldest first, and
// the time of the last change.
func (h *simRun) beginsOf(commit uint64) (begins map[string][]simBegin, end int64) {
	begins = map[string][]simBegin{}
	for _, commit := range h.commits.Until(commit) {
		for _, c := range commit.states {
			of := begins[c.attribute]
			if of == nil {
				of = make([]simBegin, 1, 16)
			}
			switch last := &of[len(of)-1]; {
			case last.value == c.value:
			case last.at == c.at:
				last.value = c.value
			default:
				of = append(of, simBegin{c.at, c.value})
			}
			begins[c.attribute], end = of, c.at
		}
	}
	return begins, end
}

// stateAt is the oracle: the interval of an attribute that contains an instant.
func stateAt(begins []simBegin, at, end int64) history.Interval {
	i := len(begins) - 1
	for begins[i].at > at {
		i--
	}
	in := history.Interval{Start: begins[i].at, End: end, Value: begins[i].value, Open: true}
	if i+1 < len(begins) {
		in.End, in.Open = begins[i+1].at-1, false
	}
	return in
}

// checkKeptStates checks the results of all readers, and reads again at the end.
func (h *simRun) checkKeptStates() {
	for _, s := range h.kept {
		h.checkStates(s)
	}
}
