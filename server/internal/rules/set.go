package rules

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/internal/means"
	"github.com/granarydb/granary/profile"
)

// Limits bounds a Set.
type Limits struct {
	Series     int           // of a rule
	Values     int           // kept values of past intervals, of a set
	Keep       time.Duration // for which late rows are counted
	QueryBytes int64         // of a read
}

// Set has the rules of a tenant, and their values. Step belongs to one goroutine; the others are safe for concurrent use.
type Set struct {
	limits   Limits
	interval int64 // nanoseconds

	units  []columnstore.Unit // of the last whole step
	upTo   int64              // the end of its last interval
	counts map[int64]int64    // rows of the intervals that were read, by their start

	mu      sync.Mutex
	rules   []*ruleState
	kept    int   // values of all rules
	floor   int64 // intervals before it are not read
	tooLate int64
	read    int64 // intervals
}

// ruleState is a rule with its values.
type ruleState struct {
	Rule
	begin  int64 // start of the first interval that counts
	unit   string
	series map[string]*ruleSeries
	slots  map[int64][]slotValue // values of the intervals that were read, by their start; only the last for gauges
	err    error

	failed    map[int64]bool // intervals that it could not read, by their start
	isSkipped bool           // for the rest of this step
}

// ruleSeries is a combination of labels.
type ruleSeries struct {
	labels []profile.Label // by the names of Rule.By, sorted
	total  int64           // of a counter
	last   int64           // the newest interval with a value
	value  int64           // there
}

// slotValue is a value of an interval.
type slotValue struct {
	of    *ruleSeries
	value int64
}

// NewSet returns the rules of a list at a time, all of one tenant. Rules that `before` has too, which may be nil, go on with their
// values if the interval is equal. before must not be used later.
func NewSet(l List, limits Limits, now time.Time, before *Set) *Set {
	s := &Set{limits: limits, interval: int64(l.Interval), counts: map[int64]int64{}}
	slot := floorTo(now.UnixNano(), s.interval)
	s.floor = slot - s.interval
	if before != nil && before.interval == s.interval {
		s.units, s.upTo, s.counts, s.tooLate, s.read, s.floor = before.units, before.upTo, before.counts, before.tooLate, before.read, before.floor
	} else {
		before = nil
	}
	for _, r := range l.Rules {
		state := &ruleState{Rule: r, begin: slot, series: map[string]*ruleSeries{}, slots: map[int64][]slotValue{}, failed: map[int64]bool{}}
		if before != nil {
			if i := slices.IndexFunc(before.rules, func(old *ruleState) bool { return old.isEqual(&r) }); i >= 0 {
				state = before.rules[i]
				state.Rule = r
			}
		}
		for _, cells := range state.slots {
			s.kept += len(cells)
		}
		s.rules = append(s.rules, state)
	}
	return s
}

// floorTo returns the start of the interval of a time.
func floorTo(at, interval int64) int64 {
	return at - ((at%interval)+interval)%interval
}

// Interval returns the length of the intervals.
func (s *Set) Interval() time.Duration { return time.Duration(s.interval) }

// put sets the values of an interval, and adds what they grew by to counters. It returns false, and does nothing, if the rule would
// have too many series.
func (r *ruleState) put(s *Set, slot int64, totals []profile.LabelTotal) bool {
	fresh := 0
	keys := make([]string, len(totals))
	for i, t := range totals {
		keys[i] = keyOf(t.Labels)
		if r.series[keys[i]] == nil {
			fresh++
		}
	}
	if len(r.series)+fresh > s.limits.Series {
		return false
	}
	if r.isGauge {
		for old := range r.slots {
			if old < slot {
				r.drop(s, old)
			}
		}
	}
	before := map[*ruleSeries]int64{}
	for _, c := range r.slots[slot] {
		before[c.of] = c.value
	}
	cells := make([]slotValue, 0, len(totals))
	for i, t := range totals {
		one := r.series[keys[i]]
		if one == nil {
			one = &ruleSeries{labels: t.Labels}
			r.series[keys[i]] = one
		}
		value := t.Value
		if old, has := before[one]; has {
			if !r.isGauge {
				value = max(value, old) // rows were deleted, and stay counted
			}
			delete(before, one)
			one.total += value - old
		} else {
			one.total += value
		}
		if slot >= one.last {
			one.last, one.value = slot, value
		}
		cells = append(cells, slotValue{one, value})
	}
	if !r.isGauge {
		for one, value := range before { // whose rows were deleted
			cells = append(cells, slotValue{one, value})
		}
	}
	s.kept += len(cells) - len(r.slots[slot])
	r.slots[slot] = cells
	return true
}

// drop forgets the values of an interval.
func (r *ruleState) drop(s *Set, slot int64) {
	s.kept -= len(r.slots[slot])
	delete(r.slots, slot)
}

// forget drops what is too old, and the oldest values beyond the limit. If the clock was ahead and was set back, so that the present
// intervals are too old, the rules begin anew with the present one: which rows of earlier ones they counted is forgotten.
func (s *Set) forget(now int64) {
	if slot := floorTo(now, s.interval); s.floor > slot {
		s.floor = slot
		clear(s.counts)
		for _, r := range s.rules {
			r.begin = min(r.begin, slot)
		}
	}
	s.floor = max(s.floor, floorTo(now-int64(s.limits.Keep), s.interval))
	if s.kept > s.limits.Values {
		slots := map[int64]int{}
		for _, r := range s.rules {
			for slot, cells := range r.slots {
				slots[slot] += len(cells)
			}
		}
		var order []int64
		for slot := range slots {
			order = append(order, slot)
		}
		slices.Sort(order)
		over := s.kept - s.limits.Values
		for _, slot := range order {
			if over <= 0 {
				break
			}
			over -= slots[slot]
			s.floor = max(s.floor, slot+s.interval)
		}
	}
	maps.DeleteFunc(s.counts, func(slot, _ int64) bool { return slot < s.floor })
	for _, r := range s.rules {
		for slot := range r.slots {
			if slot < s.floor {
				r.drop(s, slot)
			}
		}
		maps.DeleteFunc(r.failed, func(slot int64, _ bool) bool { return slot < s.floor })
		for key, one := range r.series {
			if one.last < now-int64(s.limits.Keep) {
				delete(r.series, key)
			}
		}
	}
}

// keyOf returns labels as one text.
func keyOf(labels []profile.Label) string {
	var key []byte
	for _, l := range labels {
		key = means.AppendText(means.AppendText(key, l.Name), l.Value)
	}
	return string(key)
}

// Status is what a set did so far.
type Status struct {
	Interval string       `json:"interval"`
	Read     int64        `json:"intervals_read"`
	TooLate  int64        `json:"too_late_rows"` // were not counted
	Values   int          `json:"kept_values"`
	Rules    []RuleStatus `json:"rules"`
}

// RuleStatus is a rule, and what came of it.
type RuleStatus struct {
	Rule
	Kind   string `json:"kind"` // counter or gauge
	Series int    `json:"series"`
	Error  string `json:"error,omitempty"`
}

// Status returns what the set did so far.
func (s *Set) Status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := Status{Interval: s.Interval().String(), Read: s.read, TooLate: s.tooLate, Values: s.kept, Rules: []RuleStatus{}}
	for _, r := range s.rules {
		one := RuleStatus{Rule: r.Rule, Kind: "counter", Series: len(r.series)}
		if r.isGauge {
			one.Kind = "gauge"
		}
		if r.err != nil {
			one.Error = r.err.Error()
		}
		st.Rules = append(st.Rules, one)
	}
	slices.SortStableFunc(st.Rules, func(a, b RuleStatus) int { return cmp.Compare(a.Name, b.Name) })
	return st
}
