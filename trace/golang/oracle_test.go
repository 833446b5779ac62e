package golang

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"golang.org/x/exp/trace"
)

// slow is the oracle: the states of all goroutines, as golang.org/x/exp/trace tells of them. It finds a state by
// going through them.
type slow struct {
	spans   []span
	samples []sampled
	at      []int64 // the date of each event, so that a test can keep away from it
	from    int64   // dates of the begin of the trace and of its end, exclusive
	to      int64
}

// sampled is a CPU sample.
type sampled struct{ goroutine, date int64 }

// span is a state with the dates at which it begins and ends, exclusive.
type span struct {
	goroutine int64
	state     string
	from, to  int64
}

// replayed reads a trace, at least to the end of its first generation.
func replayed(t testing.TB, data []byte) slow {
	t.Helper()
	r, err := trace.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	var s slow
	var zero int64 // from the trace's clock to dates, by the first snapshot
	last := map[trace.GoID]int{}
	for syncs := 0; ; {
		ev, err := r.ReadEvent()
		if errors.Is(err, io.EOF) || err != nil && syncs > 1 {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if ev.Kind() == trace.EventSync {
			if syncs++; syncs == 1 {
				if c := ev.Sync().ClockSnapshot; c != nil {
					zero = c.Wall.UnixNano() - int64(c.Trace)
				}
				s.from = max(0, int64(ev.Time())) + zero
			}
		}
		date := int64(ev.Time()) + zero
		s.at, s.to = append(s.at, date), date
		if ev.Kind() == trace.EventStackSample {
			s.samples = append(s.samples, sampled{int64(ev.Goroutine()), date})
		}
		if ev.Kind() != trace.EventStateTransition {
			continue
		}
		change := ev.StateTransition()
		if change.Resource.Kind != trace.ResourceGoroutine {
			continue
		}
		from, to := change.Goroutine()
		if from == to {
			continue
		}
		id := change.Resource.Goroutine()
		if i, known := last[id]; known {
			s.spans[i].to = date
			delete(last, id)
		}
		if to == trace.GoNotExist {
			continue
		}
		state := strings.ToLower(to.String())
		if to == trace.GoWaiting && change.Reason != "" {
			state = fmt.Sprintf("waiting (%s)", change.Reason)
		}
		if from == trace.GoUndetermined {
			date = s.from // the trace has seen no other state of it
		}
		last[id] = len(s.spans)
		s.spans = append(s.spans, span{int64(id), state, date, 0})
	}
	for _, i := range last {
		s.spans[i].to = s.to
	}
	return s
}

// states returns the states of all goroutines at an instant, by their numbers.
func (s slow) states(t int64) map[int64]string {
	states := map[int64]string{}
	for _, in := range s.spans {
		if in.from <= t && t < in.to {
			states[in.goroutine] = in.state
		}
	}
	return states
}

// near reports whether an event is within a microsecond of an instant. Events of one time get times of
// their own by the reader, which can differ by where it began.
func (s slow) near(t int64) bool {
	i, _ := slices.BinarySearch(s.at, t)
	return i > 0 && t-s.at[i-1] < 1000 || i < len(s.at) && s.at[i]-t < 1000
}

// total is a goroutine in a state.
type total struct {
	goroutine int64
	state     string
}

// samplesTo returns the goroutines of the samples up to a date.
func (s slow) samplesTo(date int64) (goroutines []int64) {
	for _, sample := range s.samples {
		if sample.date <= date {
			goroutines = append(goroutines, sample.goroutine)
		}
	}
	return goroutines
}

// totals returns the nanoseconds of each goroutine in each state.
func (s slow) totals() map[total]int64 {
	of := map[total]int64{}
	for _, in := range s.spans {
		of[total{in.goroutine, in.state}] += in.to - in.from
	}
	return of
}
