package golang

import (
	"strconv"
	"strings"

	"github.com/granarydb/granary/history"
)

// The names of the other top attributes in the history of a trace with details.
const (
	Tasks   = "Tasks"
	Metrics = "Metrics"
	Logs    = "Logs" // of no goroutine
)

// details is what a Follower keeps for what a trace says besides states.
type details struct {
	tasks   map[int64]task
	metrics map[string]history.Attribute
	logs    history.Attribute   // of no goroutine
	hasLogs bool                // the attribute exists
	instant []history.Attribute // have a value at the instant of the last event alone
	leftOut map[string]int      // by kind
}

// task has the attributes of a task that has not ended.
type task struct{ state, parent history.Attribute }

// goroutineDetail has the attributes of a goroutine beside its states, each once it is needed.
type goroutineDetail struct {
	proc  *proc // on which it runs
	named [detailNames]history.Attribute
	has   [detailNames]bool
}

// detailName is an attribute below a goroutine.
type detailName int

const (
	regions detailName = iota
	inRange
	labelled
	logged
	detailNames
)

var detailTexts = [detailNames]string{regions: "regions", inRange: "range", labelled: "label", logged: "log"}

func newDetails() *details {
	return &details{tasks: map[int64]task{}, metrics: map[string]history.Attribute{}, leftOut: map[string]int{}}
}

// after ends the values of the last event's instant, if another instant follows.
func (d *details) after(w *history.Writer, last clocks, next int64) error {
	if len(d.instant) == 0 || next <= last.trace {
		return nil
	}
	for _, a := range d.instant {
		if err := w.Change(last.unix+1, a, history.Value{}); err != nil {
			return err
		}
	}
	d.instant = d.instant[:0]
	return nil
}

// text returns text as a value: of UTF-8, and not longer than a value can be.
func text(s string) history.Value { return history.String(mended(s)) }

// mended returns a text that a history can have, as a name or as a value.
func mended(s string) string {
	const most = 60 << 10
	s = strings.ToValidUTF8(s[:min(len(s), most)], "\ufffd")
	return s[:min(len(s), most+16)]
}

// of returns an attribute below a goroutine.
func (d *details) of(w *history.Writer, p *goroutine, name detailName) (a history.Attribute, err error) {
	if p.detail == nil {
		p.detail = &goroutineDetail{}
	}
	if !p.detail.has[name] {
		if p.detail.named[name], err = w.Child(p.state, detailTexts[name]); err != nil {
			return 0, err
		}
		p.detail.has[name] = true
	}
	return p.detail.named[name], nil
}

// ran writes on which proc a goroutine runs.
func (f *Follower) ran(w *history.Writer, p *goroutine, ev Event) error {
	if err := f.leave(w, p); err != nil || ev.State != Running || ev.On == NoProc {
		return err
	}
	on, err := f.proc(w, ev.On)
	if err != nil {
		return err
	}
	if p.detail == nil {
		p.detail = &goroutineDetail{}
	}
	p.detail.proc = on
	return w.Change(f.at.unix, on.goroutine, history.Int(ev.ID))
}

// leave writes that a goroutine runs on its proc no more.
func (f *Follower) leave(w *history.Writer, p *goroutine) error {
	if p.detail == nil || p.detail.proc == nil {
		return nil
	}
	on := p.detail.proc
	p.detail.proc = nil
	return w.Change(f.at.unix, on.goroutine, history.Value{})
}

// ended ends the details of a goroutine.
func (f *Follower) ended(w *history.Writer, p *goroutine) error {
	if p.detail == nil {
		return nil
	}
	if err := f.leave(w, p); err != nil {
		return err
	}
	for name, a := range p.detail.named {
		if !p.detail.has[name] || detailName(name) == logged { // which has no value but at instants
			continue
		}
		if err := w.Remove(f.at.unix, a); err != nil {
			return err
		}
	}
	return nil
}

// detail writes an event of a kind that is read with details.
func (f *Follower) detail(w *history.Writer, ev Event) error {
	d := f.details
	switch ev.Kind {
	case Range:
		return f.inRange(w, ev)
	case Task:
		return f.task(w, ev)
	case Region:
		a, err := f.below(w, ev, regions)
		switch {
		case err != nil || a == history.Top:
		case ev.State == Running:
			err = w.Push(f.at.unix, a, text(ev.Detail.Name))
		default:
			_, err = w.Pop(f.at.unix, a) // nothing for a region from before the trace
		}
		return err
	case Labelled:
		a, err := f.below(w, ev, labelled)
		if err != nil || a == history.Top {
			return err
		}
		return w.Change(f.at.unix, a, text(ev.Detail.Name))
	case Logged:
		return f.log(w, ev)
	case Metric:
		a, known := d.metrics[ev.Detail.Name]
		if !known {
			var err error
			if a, err = w.Attribute(Metrics, mended(metricName(ev.Detail.Name))); err != nil {
				return err
			}
			d.metrics[ev.Detail.Name] = a
		}
		return w.Change(f.at.unix, a, history.Int(int64(ev.Detail.Value)))
	case Omitted:
		d.leftOut[ev.Detail.Name]++
	}
	return nil
}

// below returns an attribute below the goroutine of an event, or history.Top, after it counted the event, if the trace has
// no state of the goroutine.
func (f *Follower) below(w *history.Writer, ev Event, name detailName) (history.Attribute, error) {
	p := f.goroutines[ev.ID]
	if p == nil {
		f.details.leftOut["regions, ranges and labels of goroutines without a state"]++
		return history.Top, nil
	}
	return f.details.of(w, p, name)
}

// metricName returns the name of a metric's attribute: that of runtime/metrics, or a short one for the three that Go
// traces have.
func metricName(name string) string {
	switch name {
	case "/memory/classes/heap/objects:bytes":
		return "heap bytes"
	case "/gc/heap/goal:bytes":
		return "heap goal bytes"
	case "/sched/gomaxprocs:threads":
		return "GOMAXPROCS"
	}
	return name
}

// inRange writes in which range of the collector a goroutine or a proc is.
func (f *Follower) inRange(w *history.Writer, ev Event) (err error) {
	var a history.Attribute
	if ev.Detail.OnProc {
		on, err := f.proc(w, ev.ID)
		if err != nil {
			return err
		}
		if a, err = w.Child(on.state, detailTexts[inRange]); err != nil {
			return err
		}
	} else if a, err = f.below(w, ev, inRange); err != nil || a == history.Top {
		return err
	}
	v := history.Value{}
	if ev.State == Running {
		v = text(ev.Detail.Name)
	}
	return w.Change(f.at.unix, a, v)
}

// task writes the begin or the end of a task. One that ends and has no begin is from before the trace.
func (f *Follower) task(w *history.Writer, ev Event) (err error) {
	t, known := f.details.tasks[ev.ID]
	if !known {
		name := ev.Detail.Name
		if name == "" {
			name = "task"
		}
		if t.state, err = w.Attribute(Tasks, mended(name), strconv.FormatInt(ev.ID, 10)); err != nil {
			return err
		}
		since := f.at.unix
		if ev.State == None {
			since = f.open
		}
		if err = w.Change(since, t.state, history.String("running")); err != nil {
			return err
		}
		if ev.Detail.Parent != 0 {
			if t.parent, err = w.Child(t.state, "parent"); err != nil {
				return err
			}
			if err = w.Change(since, t.parent, history.Int(ev.Detail.Parent)); err != nil {
				return err
			}
		}
		f.details.tasks[ev.ID] = t
	}
	if ev.State == Running {
		return nil
	}
	delete(f.details.tasks, ev.ID)
	return w.Remove(f.at.unix, t.state)
}

// log writes a log at its instant alone.
func (f *Follower) log(w *history.Writer, ev Event) (err error) {
	d := f.details
	a := d.logs
	if p := f.goroutines[ev.ID]; p != nil {
		a, err = d.of(w, p, logged)
	} else if !d.hasLogs {
		a, err = w.Attribute(Logs)
		d.logs, d.hasLogs = a, err == nil
	}
	if err != nil {
		return err
	}
	line := ev.Detail.Text
	if ev.Detail.Name != "" {
		line = ev.Detail.Name + ": " + line
	}
	d.instant = append(d.instant, a)
	return w.Change(f.at.unix, a, text(line))
}
