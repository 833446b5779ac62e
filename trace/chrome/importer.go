package chrome

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"strconv"

	"github.com/granarydb/granary/internal/tracks"
)

// importer turns events into tracks.
type importer struct {
	*tracks.Timeline
	events    int
	offset    int64 // added to all times
	processes map[tracks.Text]*process
	order     []*process
	global    map[asyncKey]tracks.Nest     // of ids of all processes
	instants  map[tracks.Track]tracks.Nest // of threads and categories

	// The thread of the last event, because the next is often of the same.
	last             *thread
	lastPID, lastTID []byte
}

// process is a process with its parts, by their names and numbers.
type process struct {
	track, inThreads tracks.Track
	id, name         tracks.Text
	threads          map[tracks.Text]*thread
	order            []*thread
	async            map[asyncKey]tracks.Nest
	counters         map[counterKey]tracks.Counter
}

type thread struct {
	of       *process
	track    tracks.Track
	nest     tracks.Nest
	id, name tracks.Text
}

// asyncKey names a nest of asynchronous slices.
type asyncKey struct{ category, scope, id tracks.Text }

// counterKey names a series of a counter.
type counterKey struct{ name, id, series tracks.Text }

func newImporter() *importer {
	return &importer{
		Timeline: tracks.New(), processes: map[tracks.Text]*process{}, global: map[asyncKey]tracks.Nest{}, instants: map[tracks.Track]tracks.Nest{},
	}
}

// byteOrderMark is what some editors write before a text.
const byteOrderMark = "\ufeff"

// read reads a trace. After a fault the scanner has the error, and the reader what is before.
func (r *importer) read(ctx context.Context, s *scanner) error {
	for _, c := range []byte(byteOrderMark) {
		if s.next() == c {
			s.at++
		}
	}
	switch s.next() {
	case '[':
		return r.list(ctx, s)
	case '{':
		return r.object(ctx, s)
	}
	s.fault("neither a list nor an object")
	return nil
}

func (r *importer) object(ctx context.Context, s *scanner) error {
	s.at++
	for s.more('}') {
		switch string(s.key()) {
		case "traceEvents":
			if s.next() == '[' {
				if err := r.list(ctx, s); err != nil {
					return err
				}
				continue
			}
		case "baseTimeNanoseconds":
			r.offset, _ = strconv.ParseInt(string(s.text()), 10, 64) // 0 if it is none
			continue
		}
		s.skip()
		if s.err != nil {
			break
		}
	}
	return nil
}

// list reads a list of events, of which the next byte is the bracket.
func (r *importer) list(ctx context.Context, s *scanner) error {
	s.at++
	var e event
	for n := 0; s.more(']'); n++ {
		if n%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if s.next() != '{' {
			s.skip()
			continue
		}
		if !e.read(s) {
			break
		}
		r.events++
		r.add(&e)
	}
	return nil
}

// leftOut are the phases that a history cannot have, or that say nothing about states.
var leftOut = map[byte]string{
	's': "flow events", 't': "flow events", 'f': "flow events",
	'P': "samples", 'N': "events of objects", 'O': "events of objects", 'D': "events of objects",
	'v': "memory dumps", 'V': "memory dumps", 'T': "steps of asynchronous slices", 'p': "steps of asynchronous slices",
	'c': "clock events", '(': "context events", ')': "context events", 0: "events without a phase",
}

func (r *importer) add(e *event) {
	switch e.phase {
	case 'M':
		r.metadata(e)
		return
	case 'B', 'E', 'X', 'b', 'e', 'n', 'S', 'F', 'I', 'i', 'R', 'C':
	default:
		r.Outcome.LeaveOut(cmp.Or(leftOut[e.phase], "events of unknown phases"), 1)
		return
	}
	if !e.isTimed {
		r.Outcome.LeaveOut("events without a time", 1)
		return
	}
	th := r.thread(e)
	switch e.phase {
	case 'B':
		r.Begin(th.nest, r.Text(e.name), e.ts.nanos)
	case 'E':
		r.End(th.nest, r.Text(e.name), e.ts.nanos)
	case 'X':
		if !e.hasDur {
			r.Outcome.LeaveOut("slices without a duration or an end", 1)
			return
		}
		r.Slice(th.nest, r.Text(e.name), e.ts.nanos, e.ts.plus(e.dur))
	case 'b', 'S':
		r.Begin(r.async(th.of, e), r.Text(e.name), e.ts.nanos)
	case 'e', 'F':
		r.End(r.async(th.of, e), r.Text(e.name), e.ts.nanos)
	case 'n':
		r.instant(r.category(th.of, e), e)
	case 'I', 'i', 'R':
		r.instant(th.track, e)
	case 'C':
		r.count(th.of, e)
	}
}

// id returns the number of a process or a thread, or another text that stands in its place.
func (r *importer) id(b []byte) tracks.Text {
	if len(b) == 0 || string(b) == "null" {
		return r.Text([]byte("0"))
	}
	return r.Text(bytes.TrimSuffix(b, []byte(".0")))
}

// thread returns the thread of an event.
func (r *importer) thread(e *event) *thread {
	if r.last != nil && bytes.Equal(e.pid, r.lastPID) && bytes.Equal(e.tid, r.lastTID) {
		return r.last
	}
	p := r.process(r.id(e.pid))
	id := r.id(e.tid)
	th := p.threads[id]
	if th == nil {
		th = &thread{of: p, track: r.Add(p.inThreads), id: id}
		th.nest = r.Nest(th.track)
		p.threads[id] = th
		p.order = append(p.order, th)
	}
	r.last, r.lastPID, r.lastTID = th, append(r.lastPID[:0], e.pid...), append(r.lastTID[:0], e.tid...)
	return th
}

func (r *importer) process(id tracks.Text) *process {
	p := r.processes[id]
	if p == nil {
		p = &process{
			track: r.Add(r.Child(tracks.Outermost, "Processes")), id: id, threads: map[tracks.Text]*thread{},
			async: map[asyncKey]tracks.Nest{}, counters: map[counterKey]tracks.Counter{},
		}
		p.inThreads = r.Child(p.track, "Threads")
		r.processes[id] = p
		r.order = append(r.order, p)
	}
	return p
}

// category returns the track of a category of asynchronous slices.
func (r *importer) category(p *process, e *event) tracks.Track {
	name := "no category"
	if len(e.category) > 0 {
		name = r.String(r.Text(e.category))
	}
	return r.Child(r.Child(p.track, "Async"), name)
}

// async returns the nest of an asynchronous slice. A nest of all processes is shown where it begins.
func (r *importer) async(p *process, e *event) tracks.Nest {
	key := asyncKey{r.Text(e.category), r.Text(e.scope), r.Text(e.id)}
	nests := p.async
	if e.isGlobal {
		nests = r.global
	}
	nest, ok := nests[key]
	if !ok {
		nest = r.Nest(r.category(p, e))
		nests[key] = nest
	}
	return nest
}

// instant takes an event without a duration below a track.
func (r *importer) instant(of tracks.Track, e *event) {
	nest, ok := r.instants[of]
	if !ok {
		nest = r.Nest(r.Instants(of))
		r.instants[of] = nest
	}
	r.Instant(nest, r.Text(e.name), e.ts.nanos)
}

// metadata takes the name of a process or a thread.
func (r *importer) metadata(e *event) {
	var name *tracks.Text
	switch string(e.name) {
	case "process_name":
		name = &r.process(r.id(e.pid)).name
	case "thread_name":
		name = &r.thread(e).name
	default:
		return
	}
	s := scanBytes(e.args)
	s.each(func(key []byte) {
		if string(key) == "name" {
			*name = r.Text(s.text())
			return
		}
		s.skip()
	})
}

// count takes the values of a counter's series.
func (r *importer) count(p *process, e *event) {
	if e.isLong {
		r.Outcome.LeaveOut("counters with more than 64 KiB of arguments", 1)
		return
	}
	key := counterKey{name: r.Text(e.name), id: r.Text(e.id)}
	s := scanBytes(e.args)
	s.each(func(series []byte) {
		key.series = r.Text(s.unescape(series))
		b := s.text()
		if n, err := strconv.ParseInt(string(b), 10, 64); err == nil {
			r.Count(r.counter(p, key), e.ts.nanos, n)
		} else if f, err := strconv.ParseFloat(string(b), 64); err == nil {
			r.CountFloat(r.counter(p, key), e.ts.nanos, f)
		} else {
			r.Outcome.LeaveOut("values of counters that are no numbers", 1)
		}
	})
}

func (r *importer) counter(p *process, key counterKey) tracks.Counter {
	c, ok := p.counters[key]
	if !ok {
		name := cmp.Or(r.String(key.name), "unnamed")
		if key.id != 0 {
			name += " " + r.String(key.id)
		}
		c = r.Counter(r.Child(r.Child(r.Child(p.track, "Counters"), name), cmp.Or(r.String(key.series), "value")))
		p.counters[key] = c
	}
	return c
}

// name names processes and threads, which may be named by the last event.
func (r *importer) name() {
	called := func(name, id tracks.Text) string {
		if name == 0 {
			return r.String(id)
		}
		return fmt.Sprintf("%s %s", r.String(name), r.String(id))
	}
	for _, p := range r.order {
		r.Rename(p.track, called(p.name, p.id))
		for _, th := range p.order {
			r.Rename(th.track, called(th.name, th.id))
		}
	}
}
