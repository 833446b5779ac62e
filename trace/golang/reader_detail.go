package golang

import "golang.org/x/exp/trace"

// detailed converts an event of a kind that is read with details. It returns false for events that say nothing.
func detailed(ev *Event, e *trace.Event) bool {
	d := &Detail{}
	ev.Detail = d
	switch e.Kind() {
	case trace.EventTaskBegin, trace.EventTaskEnd:
		of := e.Task()
		ev.Kind, ev.ID, d.Name = Task, int64(of.ID), of.Type
		if e.Kind() == trace.EventTaskBegin {
			ev.State = Running
		}
		if of.Parent != trace.NoTask && of.Parent != trace.BackgroundTask {
			d.Parent = int64(of.Parent)
		}
	case trace.EventRegionBegin, trace.EventRegionEnd:
		ev.Kind, ev.ID, d.Name = Region, int64(e.Goroutine()), e.Region().Type
		if e.Kind() == trace.EventRegionBegin {
			ev.State = Running
		}
	case trace.EventLog:
		of := e.Log()
		ev.Kind, ev.ID, d.Name, d.Text = Logged, int64(e.Goroutine()), of.Category, of.Message
	case trace.EventMetric:
		of := e.Metric()
		ev.Kind, d.Name = Metric, of.Name
		if of.Value.Kind() != trace.ValueUint64 {
			ev.Kind, d.Name = Omitted, "metrics that are no numbers"
			return true
		}
		d.Value = of.Value.Uint64()
	case trace.EventLabel:
		of := e.Label()
		ev.Kind, d.Name = Labelled, of.Label
		if of.Resource.Kind != trace.ResourceGoroutine {
			ev.Kind, d.Name = Omitted, "labels of others than goroutines"
			return true
		}
		ev.ID = int64(of.Resource.Goroutine())
	case trace.EventExperimental:
		ev.Kind, d.Name = Omitted, "experimental events"
	default:
		return false
	}
	return true
}
