package perfetto

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"github.com/granarydb/granary/internal/protobuf"
	"github.com/granarydb/granary/internal/tracks"
)

// schedEvent is an event of the scheduler: a CPU goes on with another thread, or a thread becomes runnable.
type schedEvent struct {
	t        int64
	cpu      uint32
	thread   uint32 // that runs from now on, or is woken; 0 is idle
	prev     uint32 // that ran, if it is known
	name     tracks.Text
	became   uint8 // the state of the thread that ran
	isWaking bool
	hasPrev  bool
}

// The states of a thread.
const (
	unknownState = iota
	running
	runnable
	sleeping
	uninterruptible
	stopped
	traced
	dead
	parked
	idle
	stateCount
)

// stateNames are the states' values: those of package linux where it has them, and reasons to wait that its texts do not tell apart.
var stateNames = [stateCount]string{
	"", "running", "waiting (CPU)", "waiting (blocked)", "waiting (uninterruptible)", "waiting (stopped)", "waiting (traced)",
	"dead", "waiting (parked)", "waiting (idle)",
}

// stateOf returns the state of a thread that a CPU leaves, by the kernel's bits. A thread without them could go on.
func stateOf(bits uint64) uint8 {
	switch {
	case bits&0x402 == 0x402: // uninterruptible, and not counted as load
		return idle
	case bits&1 != 0:
		return sleeping
	case bits&2 != 0:
		return uninterruptible
	case bits&4 != 0:
		return stopped
	case bits&8 != 0:
		return traced
	case bits&0x30 != 0:
		return dead
	case bits&0x40 != 0:
		return parked
	}
	return runnable
}

// ftrace reads the events of a CPU.
func (im *importer) ftrace(data []byte) (bad bool) {
	b := bundle{importer: im}
	var ftraceTime, bootTime int64
	m := protobuf.Read(data)
	for m.Next() {
		switch m.Number {
		case 1:
			b.cpu = uint32(m.Value)
		case 5:
			b.isLocal = m.Value != 0
		case 6:
			ftraceTime = int64(m.Value)
		case 7:
			bootTime = int64(m.Value)
		}
	}
	if b.isLocal && ftraceTime != 0 && bootTime != 0 {
		b.offset = bootTime - ftraceTime
	}
	for m = protobuf.Read(data); m.Next(); {
		switch {
		case m.Number == 2 && m.Wire == protobuf.Bytes:
			bad = b.event(m.Data) || bad
		case m.Number == 4 && m.Wire == protobuf.Bytes:
			bad = b.compact(m.Data) || bad
		case m.Number == 3 && m.Value != 0:
			im.Outcome.LeaveOut("times at which a CPU lost events", 1)
		}
	}
	return m.Bad || bad
}

// bundle reads the events of a CPU.
type bundle struct {
	*importer
	cpu     uint32
	isLocal bool // times are of a clock of ftrace
	offset  int64
}

func (b *bundle) add(t uint64, e schedEvent) {
	nanos, ok := add(int64(min(t, math.MaxInt64/2)), b.offset)
	if ok {
		nanos, ok = b.clocks.toMain(0, boottime, nanos)
	}
	if !ok {
		b.Outcome.LeaveOut("events without a time, or of clocks that nothing relates", 1)
		return
	}
	e.t, e.cpu = nanos, b.cpu
	b.sched = append(b.sched, e)
}

// event reads an event of the kernel.
func (b *bundle) event(data []byte) (bad bool) {
	var at uint64
	var of []byte
	kind := uint64(0)
	m := protobuf.Read(data)
	for m.Next() {
		switch m.Number {
		case 1:
			at = m.Value
		case 4, 20, 114:
			kind, of = m.Number, m.Data
		case 2, 3, 5:
		default:
			b.Outcome.LeaveOut("kernel events but the scheduler's", 1)
		}
	}
	if m.Bad || of == nil {
		return m.Bad
	}
	e := schedEvent{isWaking: kind != 4, hasPrev: true}
	var prevName tracks.Text
	for m = protobuf.Read(of); m.Next(); {
		switch {
		case e.isWaking && m.Number == 1, !e.isWaking && m.Number == 5:
			e.name = b.Text(m.Data)
		case e.isWaking && m.Number == 2, !e.isWaking && m.Number == 6:
			e.thread = uint32(m.Value)
		case m.Number == 2:
			e.prev = uint32(m.Value)
		case m.Number == 4 && !e.isWaking:
			e.became = stateOf(m.Value)
		case m.Number == 1:
			prevName = b.Text(m.Data)
		}
	}
	if prevName != 0 {
		b.comms[uint64(e.prev)] = prevName
	}
	if !e.isWaking && e.became == unknownState {
		e.became = runnable
	}
	b.add(at, e)
	return m.Bad
}

// compact reads events in columns: times are differences, and names are numbers of a table.
func (b *bundle) compact(data []byte) (bad bool) {
	var names []tracks.Text
	var columns [13][]uint64
	m := protobuf.Read(data)
	for m.Next() {
		switch {
		case m.Number == 5:
			names = append(names, b.Text(m.Data))
		case m.Number < uint64(len(columns)):
			columns[m.Number] = m.Numbers(columns[m.Number], protobuf.Varint)
		}
	}
	if m.Bad {
		return true
	}
	nameAt := func(column []uint64, i int) tracks.Text {
		if i < len(column) && column[i] < uint64(len(names)) {
			return names[column[i]]
		}
		return 0
	}
	var at uint64
	for i, delta := range columns[1] {
		at += delta
		if i < len(columns[2]) && i < len(columns[3]) {
			b.add(at, schedEvent{thread: uint32(columns[3][i]), became: stateOf(columns[2][i]), name: nameAt(columns[6], i)})
		}
	}
	at = 0
	for i, delta := range columns[7] {
		at += delta
		if i < len(columns[8]) {
			b.add(at, schedEvent{isWaking: true, thread: uint32(columns[8][i]), name: nameAt(columns[11], i)})
		}
	}
	return false
}

// current is what a CPU or a thread does since a time.
type current struct {
	nest  tracks.Nest
	since int64
	what  tracks.Text // 0: nothing
	state uint8
	id    uint32 // of a CPU's thread
	isNew bool
}

// schedule makes the states of CPUs and threads of the scheduler's events.
func (im *importer) schedule() {
	slices.SortStableFunc(im.sched, func(a, b schedEvent) int { return cmp.Compare(a.t, b.t) })
	for _, e := range im.sched {
		if e.name != 0 {
			im.comms[uint64(e.thread)] = e.name
		}
	}
	s := scheduler{importer: im, cpus: map[uint32]*current{}, of: map[uint32]*current{}}
	for i := range s.states {
		s.states[i] = im.Text([]byte(stateNames[i]))
	}
	for _, e := range im.sched {
		if e.isWaking {
			if th := s.thread(e.thread); th != nil && th.state != running && th.state != runnable {
				s.become(th, runnable, e.t)
			}
			continue
		}
		s.change(e)
	}
	for _, c := range s.cpus {
		s.finish(c)
	}
	for _, th := range s.of {
		if th != nil {
			s.finish(th)
		}
	}
	im.sched = nil
}

// scheduler follows the scheduler's events in the order of time.
type scheduler struct {
	*importer
	cpus   map[uint32]*current
	of     map[uint32]*current // by thread
	states [stateCount]tracks.Text
}

// change goes on with another thread on a CPU.
func (s *scheduler) change(e schedEvent) {
	cpu := s.cpus[e.cpu]
	if cpu == nil {
		cpu = &current{nest: s.Nest(s.Flat(s.Child(tracks.Outermost, "CPUs"), strconv.FormatUint(uint64(e.cpu), 10))), isNew: true}
		s.cpus[e.cpu] = cpu
	}
	prev := cpu.id
	if e.hasPrev {
		prev = e.prev
	}
	if e.hasPrev || !cpu.isNew {
		if th := s.thread(prev); th != nil {
			s.become(th, e.became, e.t)
		}
	}
	cpu.id, cpu.isNew = e.thread, false
	what := tracks.Text(0)
	if e.thread != 0 {
		name := e.name
		if name == 0 {
			name = s.comms[uint64(e.thread)]
		}
		what = s.Text([]byte(called(s.String(name), uint64(e.thread))))
		s.become(s.thread(e.thread), running, e.t)
	}
	s.set(cpu, what, e.t)
}

// thread returns the state of a thread, nil for the idle one.
func (s *scheduler) thread(id uint32) *current {
	if id == 0 {
		return nil
	}
	th := s.of[id]
	if th == nil {
		th = &current{nest: s.Nest(s.Flat(s.placeByID(id), "state"))}
		s.of[id] = th
	}
	return th
}

// placeByID returns the track of a thread of which the scheduler knows the number alone.
func (s *scheduler) placeByID(id uint32) tracks.Track {
	comm := s.comms[uint64(id)]
	pid, known := s.owner[uint64(id)]
	if !known {
		track := s.Add(s.Child(tracks.Outermost, "Threads"))
		s.Rename(track, called(s.String(comm), uint64(id)))
		return track
	}
	th := s.importer.thread(pid, uint64(id))
	if th.name == 0 {
		th.name = comm
	}
	return s.placeThread(th)
}

func (s *scheduler) become(th *current, state uint8, t int64) {
	th.state = state
	s.set(th, s.states[state], t)
}

// set changes what is done.
func (s *scheduler) set(c *current, what tracks.Text, t int64) {
	if c.what == what {
		return
	}
	if c.what != 0 && t > c.since {
		s.Slice(c.nest, c.what, c.since, t)
	}
	c.what, c.since = what, t
}

// finish lets the last state hold up to the end.
func (s *scheduler) finish(c *current) {
	if c.what != 0 {
		s.Begin(c.nest, c.what, c.since)
	}
}
