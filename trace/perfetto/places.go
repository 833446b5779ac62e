package perfetto

import (
	"cmp"
	"path"
	"strconv"
	"strings"

	"github.com/granarydb/granary/internal/protobuf"
	"github.com/granarydb/granary/internal/tracks"
)

// places has the tracks, processes and threads of a trace. Their names and parents may come after their events, so put
// places them at the end.
type places struct {
	timeline  *tracks.Timeline
	tracks    map[uint64]*track // by uuid
	order     []*track
	processes map[uint64]*process
	global    map[asyncKey]tracks.Nest // asynchronous slices of all processes
	threads   map[threadKey]*thread
	owner     map[uint64]uint64 // process by thread, for the scheduler, which does not know it
}

// track is a track of a descriptor, or one that events name without any.
type track struct {
	uuid, parent uint64
	name         tracks.Text
	first        tracks.Text // the name of its first event
	process      *process
	thread       *thread
	isDelta      bool
	multiplier   int64

	nest, instants, states         tracks.Nest
	hasNest, hasInstant, hasStates bool
	counter                        tracks.Counter
	hasCounter                     bool

	placed  tracks.Track
	isDone  bool
	isBegun bool // place is at it or its parents
}

type process struct {
	pid         uint64
	name, guess tracks.Text // guess is for a process without a name
	placed      tracks.Track
	isDone      bool
	async       map[asyncKey]tracks.Nest
	threads     []*thread // that have a place
}

type threadKey struct{ pid, tid uint64 }

type thread struct {
	of     *process
	tid    uint64
	name   tracks.Text
	track  *track // of events without a track, or nil
	placed tracks.Track
	isDone bool
}

// asyncKey names a nest of asynchronous slices.
type asyncKey struct {
	category, scope tracks.Text
	id              uint64
	isLocal         bool
}

func newPlaces(t *tracks.Timeline) *places {
	return &places{timeline: t, tracks: map[uint64]*track{}, processes: map[uint64]*process{}, threads: map[threadKey]*thread{}, owner: map[uint64]uint64{}, global: map[asyncKey]tracks.Nest{}}
}

// named names a thread, unless the name is empty.
func (th *thread) named(name tracks.Text) {
	if name != 0 {
		th.name = name
	}
}

func (ps *places) track(uuid uint64) *track {
	t := ps.tracks[uuid]
	if t == nil {
		t = &track{uuid: uuid, multiplier: 1}
		ps.tracks[uuid] = t
		ps.order = append(ps.order, t)
	}
	return t
}

func (ps *places) processOf(pid uint64) *process {
	p := ps.processes[pid]
	if p == nil {
		p = &process{pid: pid, async: map[asyncKey]tracks.Nest{}}
		ps.processes[pid] = p
	}
	return p
}

func (ps *places) thread(pid, tid uint64) *thread {
	key := threadKey{pid, tid}
	th := ps.threads[key]
	if th == nil {
		th = &thread{of: ps.processOf(pid), tid: tid}
		ps.threads[key] = th
		ps.owner[tid] = pid
	}
	return th
}

// descriptor reads the descriptor of a track.
func (ps *places) descriptor(data []byte) (bad bool) {
	m := protobuf.Read(data)
	var uuid uint64
	for m.Next() {
		if m.Number == 1 {
			uuid = m.Value
		}
	}
	if m.Bad {
		return true
	}
	t := ps.track(uuid)
	for m = protobuf.Read(data); m.Next(); {
		switch m.Number {
		case 2, 10, 13:
			t.name = ps.timeline.Text(m.Data)
		case 5:
			t.parent = m.Value
		case 3:
			bad = ps.process(m.Data, t) || bad
		case 4:
			var d threadDescriptor
			if d.read(m.Data) {
				return true
			}
			t.thread = ps.thread(d.pid, d.tid)
			t.thread.named(ps.timeline.Text(d.name))
		case 6:
			if t.process != nil {
				t.process.guess = cmp.Or(ps.chromeType(m.Data), t.process.guess)
			}
		case 8:
			bad = t.readCounter(m.Data) || bad
		}
	}
	return bad
}

// chromeTypes are the kinds of Chromium's processes, by their numbers.
var chromeTypes = []string{"", "Browser", "Renderer", "Utility", "Zygote", "Sandbox helper", "GPU", "PPAPI plugin", "PPAPI broker", "Network service", "Tracing service", "Storage service", "Audio service"}

func (ps *places) chromeType(data []byte) tracks.Text {
	m := protobuf.Read(data)
	for m.Next() {
		if m.Number == 1 && m.Value < uint64(len(chromeTypes)) {
			return ps.timeline.Text([]byte(chromeTypes[m.Value]))
		}
	}
	return 0
}

func (t *track) readCounter(data []byte) (bad bool) {
	m := protobuf.Read(data)
	for m.Next() {
		switch m.Number {
		case 4:
			if m.Value > 0 && m.Value < 1<<53 {
				t.multiplier = int64(m.Value)
			}
		case 5:
			t.isDelta = m.Value != 0
		}
	}
	return m.Bad
}

// process reads the descriptor of a process, and of its track if there is one.
func (ps *places) process(data []byte, of *track) (bad bool) {
	var pid uint64
	var name, command []byte
	m := protobuf.Read(data)
	for m.Next() {
		switch m.Number {
		case 1:
			pid = m.Value
		case 2:
			if command == nil {
				command = m.Data
			}
		case 6:
			name = m.Data
		}
	}
	if m.Bad {
		return true
	}
	p := ps.processOf(pid)
	if of != nil {
		of.process = p
	}
	ps.nameProcess(p, name, command)
	return false
}

// nameProcess names a process, or guesses its name from the command, which Chromium gives as a name too.
func (ps *places) nameProcess(p *process, name, command []byte) {
	if len(name) > 0 && name[0] == '/' {
		command, name = name, nil
	}
	if len(name) > 0 {
		p.name = ps.timeline.Text(name)
	}
	if words := strings.Fields(string(command[:min(len(command), 4096)])); len(words) > 0 && p.guess == 0 {
		p.guess = ps.timeline.Text([]byte(path.Base(words[0])))
	}
}

// threadDescriptor is the descriptor of a thread.
type threadDescriptor struct {
	pid, tid uint64
	micros   uint64
	name     []byte
}

func (d *threadDescriptor) read(data []byte) (bad bool) {
	m := protobuf.Read(data)
	for m.Next() {
		switch m.Number {
		case 1:
			d.pid = m.Value
		case 2:
			d.tid = m.Value
		case 5:
			d.name = m.Data
		case 6:
			d.micros = m.Value
		}
	}
	return m.Bad
}

// processTree reads which processes and threads there are.
func (ps *places) processTree(data []byte) (bad bool) {
	m := protobuf.Read(data)
	for m.Next() {
		if m.Wire != protobuf.Bytes || m.Number != 1 && m.Number != 2 {
			continue
		}
		var id, group uint64
		var name, command []byte
		of := protobuf.Read(m.Data)
		for of.Next() {
			switch {
			case of.Number == 1:
				id = of.Value
			case of.Number == 2:
				name = of.Data
			case of.Number == 3 && of.Wire == protobuf.Varint:
				group = of.Value
			case of.Number == 3 && command == nil:
				command = of.Data
			}
		}
		if of.Bad {
			bad = true
		} else if m.Number == 1 {
			ps.nameProcess(ps.processOf(id), nil, command)
			ps.thread(id, id)
		} else {
			ps.thread(group, id).named(ps.timeline.Text(name))
		}
	}
	return m.Bad || bad
}

// nestOf returns the nest of a track's slices.
func (ps *places) nestOf(t *track, name tracks.Text) tracks.Nest {
	if !t.hasNest {
		t.nest, t.hasNest = ps.timeline.Nest(tracks.Outermost), true
	}
	if t.first == 0 {
		t.first = name
	}
	return t.nest
}

func (ps *places) instantsOf(t *track, name tracks.Text) tracks.Nest {
	if !t.hasInstant {
		t.instants, t.hasInstant = ps.timeline.Nest(tracks.Outermost), true
	}
	if t.first == 0 {
		t.first = name
	}
	return t.instants
}

// statesOf returns the nest of a track's states, which the end of a slice does not end.
func (ps *places) statesOf(t *track, name tracks.Text) tracks.Nest {
	if !t.hasStates {
		t.states, t.hasStates = ps.timeline.Nest(tracks.Outermost), true
	}
	if t.first == 0 {
		t.first = name
	}
	return t.states
}

func (ps *places) counterOf(t *track) tracks.Counter {
	if !t.hasCounter {
		t.counter, t.hasCounter = ps.timeline.Counter(tracks.Outermost), true
	}
	return t.counter
}

// put gives the tracks of events their places.
func (ps *places) put() {
	for _, t := range ps.order {
		if t.hasNest {
			ps.timeline.Put(t.nest, ps.place(t, 0))
		}
		if t.hasStates {
			ps.timeline.Put(t.states, ps.place(t, 0))
		}
		if t.hasInstant {
			ps.timeline.Put(t.instants, ps.timeline.Instants(ps.place(t, 0)))
		}
		if t.hasCounter {
			ps.timeline.PutCounter(t.counter, ps.placeCounter(t))
		}
	}
	for _, p := range ps.processes {
		if p.isDone {
			ps.timeline.Rename(p.placed, called(ps.timeline.String(cmp.Or(p.name, p.guess)), p.pid))
		}
		for _, th := range p.threads {
			ps.timeline.Rename(th.placed, called(ps.timeline.String(th.name), th.tid))
		}
	}
}

// maxDepth bounds how deep tracks are in each other.
const maxDepth = 64

// place returns the place of a track. A track that is its own parent by any way, or is too deep, is at the top.
func (ps *places) place(t *track, depth int) tracks.Track {
	switch {
	case t.isDone:
		return t.placed
	case t.thread != nil:
		t.placed = ps.placeThread(t.thread)
	case t.process != nil:
		t.placed = ps.placeProcess(t.process)
	default:
		parent := ps.placeParent(t, depth)
		name := ps.timeline.String(cmp.Or(t.name, t.first))
		t.placed = ps.timeline.Child(ps.timeline.Child(parent, "Tracks"), cmp.Or(name, "unnamed"))
	}
	t.isDone = true
	return t.placed
}

func (ps *places) placeParent(t *track, depth int) tracks.Track {
	parent := ps.tracks[t.parent]
	if t.parent == 0 || parent == nil || parent == t || parent.isBegun || depth > maxDepth {
		return tracks.Outermost
	}
	t.isBegun = true
	placed := ps.place(parent, depth+1)
	t.isBegun = false
	return placed
}

func (ps *places) placeCounter(t *track) tracks.Track {
	parent := ps.placeParent(t, 0)
	switch {
	case t.thread != nil:
		parent = ps.placeThread(t.thread)
	case t.process != nil:
		parent = ps.placeProcess(t.process)
	}
	placed := ps.timeline.Add(ps.timeline.Child(parent, "Counters"))
	ps.timeline.Rename(placed, cmp.Or(ps.timeline.String(t.name), "unnamed"))
	return placed
}

// called returns the name of a process or thread with its number.
func called(name string, number uint64) string {
	text := strconv.FormatInt(int64(number), 10)
	if name == "" {
		return text
	}
	return name + " " + text
}

func (ps *places) placeProcess(p *process) tracks.Track {
	if !p.isDone {
		p.placed = ps.timeline.Add(ps.timeline.Child(tracks.Outermost, "Processes"))
		p.isDone = true
	}
	return p.placed
}

func (ps *places) placeThread(th *thread) tracks.Track {
	if !th.isDone {
		th.placed = ps.timeline.Add(ps.timeline.Child(ps.placeProcess(th.of), "Threads"))
		th.isDone = true
		th.of.threads = append(th.of.threads, th)
	}
	return th.placed
}

// processOfTrack returns the process of a track or of its parents, and nil if there is none.
func (ps *places) processOfTrack(t *track) *process {
	for range maxDepth {
		switch {
		case t.thread != nil:
			return t.thread.of
		case t.process != nil:
			return t.process
		}
		parent := ps.tracks[t.parent]
		if t.parent == 0 || parent == nil {
			return nil
		}
		t = parent
	}
	return nil
}
