package linux

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/granarydb/granary/trace"
)

// ErrFormat is returned for text that is not of a form that the package reads. Its message says in which line, and what
// is wrong there.
var ErrFormat = errors.New("not an event of the Linux kernel")

// Options are the settings of an import. The zero value gives states names.
type Options struct {
	// Numbers gives the states of threads, CPUs and soft interrupts as the numbers that Trace Compass has for them,
	// instead of as names.
	Numbers bool
}

// form reads the lines of a tracer.
type form interface {
	// parse reads a line into an event, of which it sets what the kind needs.
	parse(line []byte, e *event) error
}

// Import reads events as text into a target, and closes its history at the last event. The text is of a form that IsLTTng
// or IsFtrace knows by its first bytes. Memory is that of a line and of the threads, CPUs and interrupts that the text
// names.
//
// Text that breaks off within a line is imported up to that line, and the outcome has the error. Events that are of no
// state are left out, and so are events of a second host. Other errors are ErrFormat, with the number of the line, and
// the errors of the target, of r and of ctx. An event that is earlier than the one before by at most 10 ms counts as of
// the same time; more is ErrFormat.
func (o Options) Import(ctx context.Context, r io.Reader, to trace.Target) (outcome trace.Outcome, err error) {
	text := newLines(r)
	i := importer{ctx: ctx, to: to, options: o, form: formOf(text.r), other: map[string]int{}}
	for {
		line, err := text.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = i.line(line)
		}
		if err == nil {
			continue
		}
		err = fmt.Errorf("line %d: %w", text.number, err)
		if !text.cut || i.changes == nil || !errors.Is(err, ErrFormat) {
			return outcome, err
		}
		outcome.Lost = err // the next line is the end
	}
	if i.changes == nil {
		return outcome, fmt.Errorf("%w: the text has none", ErrFormat)
	}
	i.leaveOut(&outcome)
	outcome.End = i.last
	return outcome, i.changes.Close(i.last)
}

// formOf returns the form of a text by its begin.
func formOf(r *bufio.Reader) form {
	if head, _ := r.Peek(4 << 10); IsLTTng(head) { // what there is
		return &lttng{}
	}
	return ftrace{}
}

// importer reads lines into a target.
type importer struct {
	ctx      context.Context
	to       trace.Target
	options  Options
	form     form
	event    event
	changes  *trace.Changes // nil before the first event
	provider *provider
	last     int64 // the time of the last event
	lines    int

	other map[string]int // events of no state, by name; "" for other names
	hosts int            // events of other hosts
	lost  int            // places where the tracer lost events
	early int            // events that were earlier than the one before
}

// line reads a line.
func (i *importer) line(line []byte) error {
	if i.lines++; i.lines%10_000 == 0 {
		if err := i.ctx.Err(); err != nil {
			return err
		}
	}
	e := &i.event
	if err := i.form.parse(line, e); err != nil {
		return err
	}
	switch e.kind {
	case kindNone:
		return nil
	case kindLost:
		i.lost++
		return nil
	}
	if err := i.time(e); err != nil {
		return err
	}
	switch e.kind {
	case kindHost:
		i.hosts++
		return nil
	case kindOther:
		i.countOther(e.name)
		return nil
	}
	return i.provider.take(e)
}

// time begins the history at the first event, and has the times of the others not go back.
func (i *importer) time(e *event) (err error) {
	if i.changes == nil {
		if i.changes, err = trace.NewChanges(i.to, e.at); err != nil {
			return err
		}
		i.provider, i.last = newProvider(i.ctx, i.changes, i.options.Numbers), e.at
	}
	if back := i.last - e.at; back > int64(maxBack) || back < 0 && e.at < i.last {
		return fmt.Errorf("%w: its time is %s before that of the event before", ErrFormat, time.Duration(back))
	} else if back > 0 {
		i.early++
		e.at = i.last
	}
	i.last = e.at
	return nil
}

// countOther counts an event of no state.
func (i *importer) countOther(name []byte) {
	n, known := i.other[string(name)]
	if !known && (len(i.other) == maxKinds || len(name) > maxKindName) {
		n, name = i.other[""], nil
	}
	i.other[string(name)] = n + 1
}

// leaveOut tells which events were left out, the most frequent names first.
func (i *importer) leaveOut(outcome *trace.Outcome) {
	outcome.LeaveOut("events of other hosts", i.hosts)
	outcome.LeaveOut("places where the tracer lost events", i.lost)
	outcome.LeaveOut("times that are earlier than the one before, which counts instead", i.early)
	names := slices.SortedFunc(maps.Keys(i.other), func(a, b string) int {
		return cmp.Or(cmp.Compare(i.other[b], i.other[a]), cmp.Compare(a, b))
	})
	for n, name := range names {
		what := strings.ToValidUTF8(name, "\ufffd") + " events, which are of no state"
		if n >= namedKinds || name == "" {
			what = "other events, which are of no state"
		}
		outcome.LeaveOut(what, i.other[name])
	}
}
