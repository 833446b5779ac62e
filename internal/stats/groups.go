package stats

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"sort"

	"github.com/granarydb/granary/history"
)

// Group has the sums of some intervals. Durations are in nanoseconds, more than 0.
type Group struct {
	// Keys has a value for each key of the question: a state, or the number of an attribute.
	Keys                     []history.Value
	Total                    uint64
	Count                    int
	Min, Mean, P50, P99, Max uint64 // Mean is rounded down
	Longest                  Span   // the first of the longest ones
}

// Span is the part of an interval in the range.
type Span struct {
	Attribute  history.Attribute
	Start, End int64 // both included
	Value      history.Value
}

// Length returns the duration in nanoseconds, or 0 for 2^64.
func (s Span) Length() uint64 { return uint64(s.End) - uint64(s.Start) + 1 }

// clipped returns the part of an interval in a range that it overlaps.
func clipped(a history.Attribute, in history.Interval, from, to int64) Span {
	return Span{a, max(in.Start, from), min(in.End, to), in.Value}
}

// Of returns the groups, the greatest total first. The errors are ErrLimit, history.ErrAttribute, and those
// of the source. It costs about 0.1 us an interval.
func Of(ctx context.Context, names history.Names, from Ranger, q Question) ([]Group, error) {
	s := scan{q: q, groups: map[[MaxCriteria]history.Value]*group{}, left: cmp.Or(q.MaxBytes, math.MaxInt64)}
	if err := s.readOthers(ctx, names, from); err != nil {
		return nil, err
	}
	err := from.RangeAll(ctx, q.Attributes, q.From, q.last(), func(a history.Attribute, in history.Interval) error {
		if of := s.whole; a == of.Attribute && in.Start == of.End+1 {
			s.next = in.Value
		}
		err := s.addWhole()
		if s.whole, s.next = (Span{}), (history.Value{}); in.Start <= q.To {
			s.whole = clipped(a, in, q.From, q.To)
		}
		return err
	})
	if err == nil {
		err = s.addWhole()
	}
	if err != nil {
		return nil, err
	}
	return s.finish(), ctx.Err()
}

// last returns the last instant that is read: for wakers the one behind the range, which tells what ended a wait at its end.
func (q *Question) last() int64 {
	if q.To < q.End && slices.ContainsFunc(q.By, func(k Criterion) bool { return k.is == byWaker }) {
		return q.To + 1
	}
	return q.To
}

// scan is a question on its way.
type scan struct {
	q      Question
	groups map[[MaxCriteria]history.Value]*group
	all    uint64 // time of all groups
	left   int64  // bytes

	// whole is an interval that waits for the next one, because what ends a wait is known then. next is the value behind it, null for none.
	whole Span
	next  history.Value

	others    [MaxCriteria]map[history.Attribute]history.Attribute // by key: the attribute whose state is the key
	intervals map[history.Attribute][]history.Interval             // of these attributes, in the order of time
}

// group is a Group with its durations.
type group struct {
	Group
	durations []uint64
}

// take takes memory.
func (s *scan) take(bytes int64) error {
	if s.left -= bytes; s.left < 0 {
		return fmt.Errorf("%w: the answer takes more than %d bytes of memory", ErrLimit, s.q.MaxBytes)
	}
	return nil
}

// readOthers reads the intervals of the attributes whose states are keys.
func (s *scan) readOthers(ctx context.Context, names history.Names, from Ranger) error {
	const perAttribute, perInterval = 64, 64
	s.intervals = map[history.Attribute][]history.Interval{}
	for i, key := range s.q.By {
		if key.is != byOther && key.is != byWaker {
			continue
		}
		s.others[i] = map[history.Attribute]history.Attribute{}
		for _, a := range s.q.Attributes {
			found, err := key.pattern.Match(ctx, names, a)
			if err == nil {
				err = s.take(perAttribute)
			}
			if err != nil {
				return err
			}
			if len(found) > 0 && found[0] != history.Top {
				s.others[i][a], s.intervals[found[0]] = found[0], nil
			}
		}
	}
	attributes := make([]history.Attribute, 0, len(s.intervals))
	for a := range s.intervals {
		attributes = append(attributes, a)
	}
	if len(attributes) == 0 {
		return nil // no attribute at all would mean all
	}
	slices.Sort(attributes)
	return from.RangeAll(ctx, attributes, s.q.From, s.q.last(), func(a history.Attribute, in history.Interval) error {
		s.intervals[a] = append(s.intervals[a], in)
		return s.take(perInterval)
	})
}

// addWhole adds the interval that waits, if there is one.
func (s *scan) addWhole() error {
	if s.whole.Value.IsNull() {
		return nil
	}
	return s.add(0, [MaxCriteria]history.Value{}, s.whole)
}

// add adds a part of an interval, whose keys before i are known.
func (s *scan) add(i int, keys [MaxCriteria]history.Value, of Span) error {
	if i == len(s.q.By) {
		return s.count(keys, of)
	}
	switch s.q.By[i].is {
	case byState:
		keys[i] = of.Value
		return s.add(i+1, keys, of)
	case byAttribute:
		keys[i] = history.Int(int64(of.Attribute))
		return s.add(i+1, keys, of)
	case byWaker:
		keys[i] = s.waker(i)
		return s.add(i+1, keys, of)
	}
	other, known := s.others[i][of.Attribute]
	if !known {
		return s.add(i+1, keys, of)
	}
	all := s.intervals[other]
	at := sort.Search(len(all), func(k int) bool { return all[k].End >= of.Start })
	for rest := of; ; at++ {
		part := rest
		keys[i] = history.Value{} // if no interval has this instant
		if at < len(all) && all[at].Start <= rest.Start {
			part.End, keys[i] = min(all[at].End, rest.End), all[at].Value
		} else if at < len(all) && all[at].Start <= rest.End {
			part.End = all[at].Start - 1
			at--
		}
		if err := s.add(i+1, keys, part); err != nil || part.End == rest.End {
			return err
		}
		rest.Start = part.End + 1
	}
}

// NoWaker is the key of waits that a timer, the network or the system ended.
const NoWaker = "timer or system"

// waker returns the key of what ended the whole interval.
func (s *scan) waker(i int) history.Value {
	other, known := s.others[i][s.whole.Attribute]
	if !known || !IsWait(s.whole.Value) || s.next.IsNull() || IsWait(s.next) {
		return history.Value{}
	}
	all, after := s.intervals[other], s.whole.End+1
	at := sort.Search(len(all), func(k int) bool { return all[k].End >= after })
	if at == len(all) || all[at].Start > after || all[at].Value.IsNull() {
		return history.String(NoWaker)
	}
	return all[at].Value
}

// count adds a part of an interval to its group.
func (s *scan) count(keys [MaxCriteria]history.Value, of Span) error {
	const perGroup, perInterval = 400, 16
	g := s.groups[keys]
	if g == nil {
		if err := s.take(perGroup); err != nil {
			return err
		}
		g = &group{Group: Group{Keys: slices.Clone(keys[:len(s.q.By)])}}
		s.groups[keys] = g
	}
	n := of.Length()
	var more uint64
	if s.all, more = bits.Add64(s.all, n, 0); more != 0 || n == 0 {
		return fmt.Errorf("%w: the time of all states together exceeds 2^64 ns", ErrLimit)
	}
	g.Total += n
	if n > g.Max {
		g.Max, g.Longest = n, of
	}
	g.durations = append(g.durations, n)
	return s.take(perInterval)
}

// finish finds the quantiles.
func (s *scan) finish() []Group {
	out := make([]Group, 0, len(s.groups))
	for _, g := range s.groups {
		slices.Sort(g.durations)
		g.Count, g.Min = len(g.durations), g.durations[0]
		g.Mean = g.Total / uint64(g.Count)
		g.P50, g.P99 = quantile(g.durations, 50), quantile(g.durations, 99)
		out = append(out, g.Group)
	}
	slices.SortFunc(out, func(a, b Group) int {
		return cmp.Or(cmp.Compare(b.Total, a.Total), slices.CompareFunc(a.Keys, b.Keys, history.Value.Compare))
	})
	return out
}

// quantile returns a quantile of sorted values, by percent.
func quantile(sorted []uint64, percent int) uint64 {
	return sorted[(len(sorted)*percent+99)/100-1]
}
