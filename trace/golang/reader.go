package golang

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"golang.org/x/exp/trace"
)

// Errors of a Reader.
var (
	// ErrFormat is returned for bytes that are not an execution trace of Go 1.11 or later.
	ErrFormat = errors.New("invalid Go execution trace")
	// ErrEmpty is the ErrFormat of a trace without events.
	ErrEmpty = fmt.Errorf("%w: it has no events", ErrFormat)
	// ErrLimit is returned for a trace with more bytes than NewReader allows.
	ErrLimit = errors.New("limit exceeded")
)

// Magic reports whether data begins like an execution trace of any version.
func Magic(data []byte) bool {
	text := string(data[:min(len(data), headerBytes)])
	return len(text) == headerBytes && strings.HasPrefix(text, "go 1.") && strings.HasSuffix(text, " trace\x00\x00\x00")
}

const (
	headerBytes = 16
	readBytes   = 64 << 10 // at a time
)

// Reader reads an execution trace as a stream, one generation at a time. It belongs to one goroutine.
type Reader struct {
	in     *countedReader
	parts  *generations
	events *trace.Reader // of one generation; nil before Next
	clock  Clock
	dated  bool // clock is set
	syncs  int  // the begin of the trace, and ends of generations so far
	begin  int64
	last   int64
	order  int64 // time of the last event, or of the begin of a generation
	err    error // from the last Next
	broken error // why the trace ends before its end

	stacks  map[trace.Stack][]StackFrame // stacks of the generation
	first   []Event                      // what Next returns first
	isAhead bool                         // found events are among them, and are not returned later
	details bool
	isNew   bool // the next event is the begin of a generation
	alone   bool // the first generation is read alone
	skims   bool // Next returns found events alone
}

// countedReader counts a trace's bytes, and keeps the error of reading them.
type countedReader struct {
	r     io.Reader
	left  int64
	err   error
	again io.Seeker // r, if it can be read twice
	begin int64     // of the trace in again
}

func newCountedReader(r io.Reader, most int64) *countedReader {
	in := &countedReader{r: r, left: most}
	if s, is := r.(io.Seeker); is {
		if at, err := s.Seek(0, io.SeekCurrent); err == nil {
			in.again, in.begin = s, at
		}
	}
	return in
}

func (in *countedReader) Read(p []byte) (int, error) {
	if in.left < 0 {
		return 0, in.err
	}
	n, err := in.r.Read(p)
	if in.left -= int64(n); in.left < 0 {
		in.err = fmt.Errorf("%w: the trace has more bytes than are read of it", ErrLimit)
		return 0, in.err
	}
	if err != nil && !errors.Is(err, io.EOF) {
		in.err = err
	}
	return n, err
}

// The versions in the first bytes of the oldest traces that are read, and of the first that are read as a stream.
const (
	oldest      = "go 1.11 "
	firstStream = "go 1.22 "
)

// NewReader returns a reader of a trace of at most `most` bytes. It refuses traces before Go 1.11. The errors are as
// for Next.
func NewReader(r io.Reader, most int64) (*Reader, error) {
	in := newCountedReader(r, most)
	b := bufio.NewReaderSize(in, readBytes)
	head, err := b.Peek(headerBytes)
	switch {
	case in.err != nil:
		return nil, in.err
	case err != nil || !Magic(head):
		return nil, fmt.Errorf("%w: it does not begin as one", ErrFormat)
	case string(head[:len(oldest)]) < oldest:
		return nil, fmt.Errorf("%w: it is of %s, want 1.11 or later", ErrFormat, head[:len(oldest)-1])
	}
	return newReader(in, b), nil
}

func newReader(in *countedReader, b *bufio.Reader) *Reader {
	return &Reader{in: in, parts: newGenerations(b), stacks: map[trace.Stack][]StackFrame{}}
}

// ReadDetails lets Next return the kinds of events from Range on. Call it before Next and ReadAhead.
func (r *Reader) ReadDetails() { r.details = true }

// ReadAhead reads the first generation, and lets Next return the states from before the trace first, at its begin. It
// costs 0.1 us an event, and memory for the generation, and for its bytes, compressed, if the input is no io.Seeker. It
// does nothing after Next, and for a trace that begins up to an instant of its clock, because a caller knows the states of
// then.
func (r *Reader) ReadAhead(unless int64) {
	if r.isAhead || r.events != nil {
		return
	}
	var head echo
	most, bytes := r.in.left, io.Reader(r.parts.in)
	if r.in.again == nil {
		bytes = io.TeeReader(bytes, &head)
	} else {
		most += int64(r.parts.in.Buffered())
	}
	scan := newReader(r.in, bufio.NewReaderSize(bytes, readBytes))
	scan.details, scan.alone = r.details, true
	for {
		ev, err := scan.Next()
		if err != nil {
			break // Next meets it again
		}
		if scan.begin <= unless {
			head = echo{isOff: true}
			*r, r.first, r.alone = *scan, []Event{ev}, false
			return
		}
		scan.skims = true // the begin is known
		if ev.IsFound {
			ev.Time = scan.begin
			r.first = append(r.first, ev)
		}
	}
	r.isAhead = true
	if r.in.again == nil {
		r.parts = newGenerations(bufio.NewReaderSize(io.MultiReader(&head, r.parts.in), readBytes))
	} else if r.in.err == nil {
		_, r.in.err = r.in.again.Seek(r.in.begin, io.SeekStart)
		r.in.left = most
		r.parts = newGenerations(bufio.NewReaderSize(r.in, readBytes))
	}
}

// Next returns the next event, and io.EOF after the last, which is at a fault if a generation before it is
// whole (Broken). The errors are ErrFormat, ErrLimit and those of the input. They are final. An event costs
// about 0.1 us.
func (r *Reader) Next() (ev Event, err error) {
	// The begin of the trace and its clock are known only behind its first event.
	if r.syncs > 0 && len(r.first) > 0 {
		return r.takeFirst(), nil
	}
	if r.err != nil {
		return Event{}, r.err
	}
	// A panic of the other reader becomes an error, because a trace can come from anyone, and that reader may
	// miss a fault.
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %s", ErrFormat, short(fmt.Sprint(p)))
		}
		if errors.Is(err, ErrFormat) && r.syncs > 1 {
			err, r.broken = io.EOF, err
		}
		r.err = err
	}()
	for {
		if r.events == nil {
			if err := r.nextGeneration(); err != nil {
				return Event{}, err
			}
		}
		e, err := r.events.ReadEvent()
		if errors.Is(err, io.EOF) && r.in.err == nil {
			r.events = nil
			continue
		}
		if err != nil {
			return Event{}, r.wrap(err)
		}
		ev, ok := r.event(&e)
		if ok = ok && (!r.isAhead || !ev.IsFound); len(r.first) == 0 && ok {
			return ev, nil
		}
		if len(r.first) > 0 { // this is the first of all events, which is none itself
			return r.takeFirst(), nil
		}
	}
}

// nextGeneration opens the next generation, or returns io.EOF. The reader of the last one is dropped before, because it has
// its bytes in memory.
func (r *Reader) nextGeneration() (err error) {
	clear(r.stacks) // they keep the tables of the last one
	if !r.parts.next() || r.alone && r.syncs > 0 {
		if r.in.err != nil {
			return r.in.err
		}
		return io.EOF
	}
	if r.events, err = trace.NewReader(r.parts.reader()); err != nil {
		return r.wrap(err)
	}
	r.isNew = true
	return nil
}

func (r *Reader) takeFirst() Event {
	ev := r.first[0]
	r.first = r.first[1:]
	return ev
}

// Broken returns the fault at which a trace ends, as that of a killed program does. What is behind it is lost.
// It returns nil before Next has returned io.EOF, and for a whole trace.
func (r *Reader) Broken() error { return r.broken }

// Peek reads the first event, so that Begin and Clock are known, and Next returns it again. The errors are ErrEmpty and
// those of Next. ReadAhead does nothing after it.
func (r *Reader) Peek() error {
	ev, err := r.Next()
	if errors.Is(err, io.EOF) {
		return ErrEmpty
	}
	if err == nil {
		r.first = slices.Insert(r.first, 0, ev)
	}
	return err
}

// Clock returns the first clock snapshot, because the system's clock can be set within a trace. It returns
// false before it, and for traces without one.
func (r *Reader) Clock() (Clock, bool) { return r.clock, r.dated }

// Begin returns the time at which the trace begins, or 0 before Next has read it.
func (r *Reader) Begin() int64 { return r.begin }

// End returns the time of the last event of any kind so far. After io.EOF it is the trace's end.
func (r *Reader) End() int64 { return r.last }

func (r *Reader) wrap(err error) error {
	if r.in.err != nil {
		return r.in.err
	}
	return fmt.Errorf("%w: %s", ErrFormat, short(err.Error()))
}

// short cuts an error's text, because it can include the whole state of the other reader.
func short(text string) string {
	const most = 200
	text, _, _ = strings.Cut(text, "\n")
	return text[:min(len(text), most)]
}

// event converts an event. It returns false for events that Next does not return.
func (r *Reader) event(e *trace.Event) (ev Event, ok bool) {
	at, kind := int64(e.Time()), e.Kind()
	isEnd := kind == trace.EventSync && !r.isNew
	if r.syncs > 1 && !isEnd { // a thread's clock can be behind those of the generation before
		at = max(at, r.order+1)
	}
	if kind == trace.EventSync {
		r.sync(at, e.Sync().ClockSnapshot)
		return ev, false
	}
	r.last, r.order = at, at
	ev.Time = at
	if r.skims && kind != trace.EventStateTransition && kind != trace.EventRangeActive {
		return ev, false
	}
	switch kind {
	case trace.EventStackSample:
		ev.Kind, ev.ID, ev.Stack = Sample, int64(e.Goroutine()), r.stack(e.Stack())
		return ev, true
	case trace.EventStateTransition:
		ok = r.transition(&ev, e)
		return ev, ok
	case trace.EventRangeActive, trace.EventRangeBegin, trace.EventRangeEnd:
		if kind != trace.EventRangeEnd {
			ev.State = Running
		}
		ev.IsFound = kind == trace.EventRangeActive && r.syncs == 1
		ok = r.ranged(&ev, e.Range())
		return ev, ok
	}
	ok = r.details && detailed(&ev, e)
	return ev, ok
}

// sync begins a generation, or ends it. Its time is no event's.
func (r *Reader) sync(at int64, c *trace.ClockSnapshot) {
	if r.isNew {
		r.isNew, r.order = false, at
	} else {
		r.syncs++
	}
	if r.syncs == 0 {
		r.syncs = 1
		r.begin = max(at, 0) // -1 in a trace before Go 1.22, whose first event is at 0
		r.last = r.begin
	}
	if c != nil && !r.dated {
		r.clock, r.dated = Clock{int64(c.Trace), c.Wall.UnixNano()}, true
	}
}

// transition converts a state change. Each generation has the state of each goroutine and proc again, which is
// no change.
func (r *Reader) transition(ev *Event, e *trace.Event) bool {
	t := e.StateTransition()
	switch t.Resource.Kind {
	case trace.ResourceGoroutine:
		from, to := t.Goroutine()
		if from == to || r.skims && from != trace.GoUndetermined {
			return false
		}
		ev.IsFound = from == trace.GoUndetermined
		ev.IsWake = from == trace.GoWaiting && to == trace.GoRunnable
		ev.Kind, ev.ID, ev.Stack = Goroutine, int64(t.Resource.Goroutine()), r.stack(t.Stack)
		ev.By, ev.On = int64(e.Goroutine()), int64(e.Proc())
		ev.State = goState(to)
		if ev.State == Waiting {
			ev.Reason = t.Reason
		}
		return true
	case trace.ResourceProc:
		from, to := t.Proc()
		ev.IsFound = from == trace.ProcUndetermined
		ev.Kind, ev.ID = Proc, int64(t.Resource.Proc())
		switch to {
		case trace.ProcRunning:
			ev.State = Running
		case trace.ProcIdle:
			ev.State = Waiting
		}
		// A proc that another thread took over between generations ends once more than the reader of one generation knows.
		return from != to || to == trace.ProcIdle && r.syncs > 1
	}
	return false
}

func goState(s trace.GoState) State {
	switch s {
	case trace.GoRunnable:
		return Runnable
	case trace.GoRunning:
		return Running
	case trace.GoWaiting:
		return Waiting
	case trace.GoSyscall:
		return Syscall
	}
	return None
}

// ranged converts the begin or end of a range of the collector.
func (r *Reader) ranged(ev *Event, of trace.Range) bool {
	if of.Name == "GC concurrent mark phase" {
		ev.Kind = Collector
		return true
	}
	if reason, stops := strings.CutPrefix(of.Name, "stop-the-world ("); stops {
		ev.Kind = Stopped
		if ev.State == Running {
			ev.Reason = strings.TrimSuffix(reason, ")")
		}
		return true
	}
	if !r.details {
		return false
	}
	ev.Kind, ev.Detail = Range, &Detail{Name: of.Name}
	switch of.Scope.Kind {
	case trace.ResourceGoroutine:
		ev.ID = int64(of.Scope.Goroutine())
	case trace.ResourceProc:
		ev.ID, ev.Detail.OnProc = int64(of.Scope.Proc()), true
	default:
		ev.Kind, ev.Detail.Name = Omitted, "ranges of neither a goroutine nor a proc"
	}
	return true
}

// stack returns a stack's frames. It makes them once in a generation.
func (r *Reader) stack(s trace.Stack) []StackFrame {
	if s == trace.NoStack {
		return nil
	}
	frames, known := r.stacks[s]
	if !known {
		for f := range s.Frames() {
			frames = append(frames, StackFrame{PC: f.PC, Func: f.Func, File: f.File, Line: int64(f.Line)})
		}
		frames = slices.Clip(frames)
		r.stacks[s] = frames
	}
	return frames
}
