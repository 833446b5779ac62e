package query

import (
	"cmp"
	"math"
	"slices"

	"github.com/granarydb/granary/bench/trees/block"
)

// Plane is a 2D question: keys, and a list of times or a range of them. Each interval of one of the keys
// that is there at one of the times is an answer, once.
type Plane struct {
	keys       []uint32 // in order
	times      []int64  // in order; nil of a range
	start, end int64    // of the range, or of the list
	set        []uint64 // keys as bits
}

// NewPlane returns a question about a list of times. It takes keys and times in any order.
func NewPlane(keys []uint32, times []int64) *Plane {
	p := NewRange(keys, math.MaxInt64, math.MinInt64)
	if len(times) > 0 {
		p.times = slices.Sorted(slices.Values(times))
		p.start, p.end = p.times[0], p.times[len(p.times)-1]
	}
	return p
}

// NewRange returns a question about all times from start to end, both inclusive.
func NewRange(keys []uint32, start, end int64) *Plane {
	p := &Plane{keys: slices.Compact(slices.Sorted(slices.Values(keys))), start: start, end: end}
	if n := len(p.keys); n > 0 {
		p.set = make([]uint64, p.keys[n-1]/64+1)
	}
	for _, k := range p.keys {
		p.set[k/64] |= 1 << (k % 64)
	}
	return p
}

// At tells whether an interval is an answer.
func (p *Plane) At(key uint32, start, end int64) bool {
	return int(key/64) < len(p.set) && p.set[key/64]>>(key%64)&1 != 0 && p.meets(start, end)
}

// meets tells whether one of the times is from start to end.
func (p *Plane) meets(start, end int64) bool {
	if p.times == nil || start > p.end || end < p.start {
		return start <= p.end && end >= p.start
	}
	i, _ := slices.BinarySearch(p.times, start)
	return i < len(p.times) && p.times[i] <= end
}

// narrow returns the part of the question that is about what a child can have, and whether there is one:
// both lists are cut to the child's bounds by binary searches (R-SHT 5.4).
func (p *Plane) narrow(c block.Child) (Plane, bool) {
	low, _ := slices.BinarySearch(p.keys, c.Low)
	high, is := slices.BinarySearch(p.keys, c.High)
	if is {
		high++
	}
	q := Plane{set: p.set, start: max(p.start, c.Start), end: min(p.end, c.End)}
	if low >= high || q.start > q.end {
		return q, false
	}
	q.keys = p.keys[low:high]
	if p.times == nil {
		return q, true
	}
	first, _ := slices.BinarySearch(p.times, q.start)
	last, is := slices.BinarySearch(p.times, q.end)
	for ; is && last < len(p.times) && p.times[last] == q.end; last++ {
	}
	if first >= last {
		return q, false
	}
	q.times = p.times[first:last]
	q.start, q.end = q.times[0], q.times[len(q.times)-1]
	return q, true
}

// Ask calls f for each answer below a node, in no order. It opens no node twice.
func (p *Plane) Ask(nodes Nodes, n *block.Node, f func(block.Interval)) error {
	if len(p.keys) == 0 || p.start > p.end {
		return nil
	}
	if err := p.records(n, f); err != nil {
		return err
	}
	var q Plane
	meets := func(c block.Child) (is bool) {
		q, is = p.narrow(c)
		return is
	}
	return nodes.below(n, meets, func(child *block.Node) error { return q.Ask(nodes, child, f) })
}

// records asks the node's own intervals.
func (p *Plane) records(n *block.Node, f func(block.Interval)) error {
	n.RLock()
	defer n.RUnlock()
	for i := n.NextOf(n.First(p.start), p.set); i < int(n.Records); i = n.NextOf(i+1, p.set) {
		if _, start, end := n.Record(i); !p.meets(start, end) {
			continue
		}
		in, err := n.Interval(i)
		if err != nil {
			return err
		}
		f(in)
	}
	return nil
}

// Lists returns the answers of a 2D question as R-SHT 5.4 does: the intervals of each key in their order.
// The texts must not be changed.
func Lists(ask func(f func(block.Interval)) error) (map[uint32][]block.Interval, error) {
	all := map[uint32][]block.Interval{}
	err := ask(func(in block.Interval) { all[in.Key] = append(all[in.Key], in) })
	for _, list := range all {
		slices.SortFunc(list, func(a, b block.Interval) int { return cmp.Compare(a.Start, b.Start) })
	}
	return all, err
}
