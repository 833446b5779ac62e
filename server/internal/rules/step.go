package rules

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
)

// mostAtOnce bounds the intervals that a step reads. The others are read with the next.
const mostAtOnce = 30

// Step reads the intervals that have ended by now and got rows since they were read, of a snapshot. After an error, which is none of a
// rule, the intervals that were not read are read with the next step.
func (s *Set) Step(ctx context.Context, db *profile.DB, snap *columnstore.Snapshot, now time.Time) error {
	s.mu.Lock()
	s.forget(now.UnixNano())
	s.mu.Unlock()
	units, _, err := db.Table().Units(snap)
	if err != nil {
		return err
	}
	to := floorTo(now.UnixNano(), s.interval)
	s.countLate(units)
	counts, err := s.count(ctx, db, snap, s.changed(units, to))
	if err != nil {
		return err
	}
	slots := s.due(counts)
	isWhole := len(slots) <= mostAtOnce
	if !isWhole {
		slots = slots[:mostAtOnce]
	}
	for _, r := range s.rules {
		r.isSkipped = false
	}
	for _, slot := range slots {
		if err := s.readSlot(ctx, db, snap, slot, counts[slot] > s.counts[slot], to); err != nil {
			return err
		}
		if n, has := counts[slot]; has {
			s.counts[slot] = n
		}
	}
	if isWhole {
		s.units, s.upTo = units, to
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire(to)
	return nil
}

// countLate counts the rows that came for intervals which are not read any more.
func (s *Set) countLate(units []columnstore.Unit) {
	if s.units == nil {
		return // the first step
	}
	known := map[int64]int64{} // rows by the end of their bucket
	for _, u := range s.units {
		known[u.Last] += u.Rows
	}
	now := map[int64]int64{}
	for _, u := range units {
		if u.Last < s.floor {
			now[u.Last] += u.Rows
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for last, rows := range now {
		s.tooLate += max(0, rows-known[last])
	}
}

// span is a range of time, [from, to).
type span struct{ from, to int64 }

// changed returns the times that can have new rows since the last whole step, from the floor up to an end: those of buckets that are
// not as they were, and those after the end of that step.
func (s *Set) changed(units []columnstore.Unit, to int64) (all []span) {
	known := map[columnstore.Unit]bool{}
	for _, u := range s.units {
		u.ID = 0
		known[u] = true
	}
	for _, u := range units {
		one := span{max(u.First, s.floor), min(u.Last+1, to)}
		if u.ID = 0; known[u] {
			one.from = max(one.from, s.upTo)
		}
		if one.from < one.to { // whole intervals, because a bucket can begin amid one
			all = append(all, span{floorTo(one.from, s.interval), floorTo(one.to+s.interval-1, s.interval)})
		}
	}
	slices.SortFunc(all, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	joined := all[:0]
	for _, one := range all {
		if n := len(joined); n > 0 && one.from <= joined[n-1].to {
			joined[n-1].to = max(joined[n-1].to, one.to)
		} else {
			joined = append(joined, one)
		}
	}
	return joined
}

// count returns the numbers of rows of the intervals in some times, by their start.
func (s *Set) count(ctx context.Context, db *profile.DB, snap *columnstore.Snapshot, times []span) (map[int64]int64, error) {
	counts := map[int64]int64{}
	for _, of := range times {
		groups, err := db.Table().Aggregate(ctx, snap, columnstore.AggregateOptions{
			By: []string{profile.ColumnTimestamp}, Time: profile.ColumnTimestamp, Step: s.interval, MaxBytes: s.limits.QueryBytes,
			Where: columnstore.And(columnstore.AtLeast(profile.ColumnTimestamp, of.from), columnstore.Less(profile.ColumnTimestamp, of.to)),
		})
		if err != nil {
			return nil, err
		}
		for row, slot := range groups.Columns[0].Values.Int64s {
			counts[slot] += groups.Counts[row]
		}
	}
	return counts, nil
}

// due returns the starts of the intervals that have more rows than when they were read, or that a rule could not read. The newest are
// first.
func (s *Set) due(counts map[int64]int64) (slots []int64) {
	for slot, n := range counts {
		if slot >= s.floor && n > s.counts[slot] {
			slots = append(slots, slot)
		}
	}
	for _, r := range s.rules {
		for slot := range r.failed {
			slots = append(slots, slot)
		}
	}
	slices.SortFunc(slots, func(a, b int64) int { return cmp.Compare(b, a) })
	return slices.Compact(slots)
}

// readSlot reads the values of an interval: of all rules if it has grown, or else of the rules that failed to read it.
func (s *Set) readSlot(ctx context.Context, db *profile.DB, snap *columnstore.Snapshot, slot int64, hasGrown bool, to int64) error {
	isLast := slot >= to-s.interval
	q := profile.Query{From: slot, To: slot + s.interval, MaxBytes: s.limits.QueryBytes}
	byType := map[profile.Type][]*ruleState{}
	var types []profile.Type
	known := typesOf{db: db, snap: snap, q: q, found: map[string]foundType{}}
	for _, r := range s.rules {
		switch {
		case slot < r.begin && !r.isGauge, r.isGauge && !isLast:
			delete(r.failed, slot)
			continue
		case !hasGrown && !r.failed[slot]:
			continue
		case r.isSkipped: // it has failed in this step, so that it costs no more
			r.failed[slot] = true
			continue
		}
		t, err := known.of(ctx, r)
		if err != nil {
			if err := s.set(ctx, r, slot, "", nil, err); err != nil {
				return err
			}
			continue
		}
		if byType[t] == nil {
			types = append(types, t)
		}
		byType[t] = append(byType[t], r)
	}
	for _, t := range types {
		rules := byType[t]
		sums := make([]profile.SumChoice, len(rules))
		for i, r := range rules {
			sums[i] = r.sum
		}
		totals, err := db.Sums(ctx, snap, t, q, sums)
		if err != nil {
			totals = make([]profile.SumTotals, len(rules))
		}
		for i, r := range rules {
			if err := s.set(ctx, r, slot, t.SampleUnit, totals[i].Totals, cmp.Or(err, totals[i].Err)); err != nil {
				return err
			}
		}
	}
	s.mu.Lock()
	s.read++
	s.mu.Unlock()
	return nil
}

// typesOf finds the types of an interval by the names that rules have for them, each once.
type typesOf struct {
	db    *profile.DB
	snap  *columnstore.Snapshot
	q     profile.Query
	found map[string]foundType
}

type foundType struct {
	profile.Type
	err error
}

func (o *typesOf) of(ctx context.Context, r *ruleState) (profile.Type, error) {
	found, has := o.found[r.Type]
	if !has {
		found.Type, found.err = o.db.FindTypeIn(ctx, o.snap, o.q, r.Type)
		o.found[r.Type] = found
	}
	if found.err == nil || errors.Is(found.err, profile.ErrUnknownType) {
		return found.Type, found.err
	}
	q := o.q
	q.Selector = r.sum.Selector // which may choose one of several
	return o.db.FindTypeIn(ctx, o.snap, q, r.Type)
}

// set gives a rule its values in an interval, or an error. Profiles without the type have none. It returns an error that is not the
// rule's.
func (s *Set) set(ctx context.Context, r *ruleState, slot int64, unit string, totals []profile.LabelTotal, err error) error {
	if err != nil && ctx.Err() != nil || errors.Is(err, columnstore.ErrSnapshotExpired) {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if errors.Is(err, profile.ErrUnknownType) {
		err = nil
	}
	if unit != "" {
		r.unit = unit
	}
	for i := range totals { // copies, because names and values can share the memory of an answer
		for k := range totals[i].Labels {
			l := &totals[i].Labels[k]
			l.Name, l.Value = strings.Clone(l.Name), strings.Clone(l.Value)
		}
	}
	if err == nil && !r.put(s, slot, totals) {
		err = fmt.Errorf("more than %d series: want fewer labels in by, or fewer profiles by the selector", s.limits.Series)
	}
	if r.err = err; err == nil {
		delete(r.failed, slot)
	} else {
		r.failed[slot], r.isSkipped = true, true
	}
	return nil
}

// expire drops the values of gauges before the last interval, which ends at `to`. The caller holds mu.
func (s *Set) expire(to int64) {
	for _, r := range s.rules {
		for slot := range r.slots {
			if r.isGauge && slot < to-s.interval {
				r.drop(s, slot)
			}
		}
	}
}
