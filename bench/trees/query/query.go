package query

import (
	"fmt"
	"slices"

	"github.com/granarydb/granary/bench/trees/block"
)

// Nodes returns a node by its number: one that is being built, or one of the file.
type Nodes func(number uint32) (*block.Node, error)

// below returns a child, whose level must be one less.
func (nodes Nodes) below(parent *block.Node, c block.Child) (*block.Node, error) {
	n, err := nodes(c.Number)
	if err == nil && n.Level()+1 != parent.Level() {
		return nil, fmt.Errorf("block %d of level %d is a child of block %d of level %d: %w",
			c.Number, n.Level(), parent.Number(), parent.Level(), block.ErrDamaged)
	}
	return n, err
}

// Single returns the interval of a key at t (the paper's ad-hoc query). It stops when it is
// found; false means that the tree has none.
func (nodes Nodes) Single(n *block.Node, key uint32, t int64) (block.Interval, bool, error) {
	if i := n.Find(key, t); i >= 0 {
		in, err := n.Interval(i)
		return in, err == nil, err
	}
	for i := range n.Children() {
		c := n.Child(i)
		if !c.Holds(key, t) {
			continue
		}
		child, err := nodes.below(n, c)
		if err != nil {
			return block.Interval{}, false, err
		}
		if in, found, err := nodes.Single(child, key, t); found || err != nil {
			return in, found, err
		}
	}
	return block.Interval{}, false, nil
}

// Full calls f for the interval of each key at t, in no order.
func (nodes Nodes) Full(n *block.Node, t int64, f func(block.Interval)) error {
	for i := n.NextAt(0, t); i < n.Records(); i = n.NextAt(i+1, t) {
		in, err := n.Interval(i)
		if err != nil {
			return err
		}
		f(in)
	}
	for i := range n.Children() {
		c := n.Child(i)
		if t < c.Start || c.End < t {
			continue
		}
		child, err := nodes.below(n, c)
		if err == nil {
			err = nodes.Full(child, t, f)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Plane is a 2D question: keys and times. Each interval of one of the keys that is there at
// one of the times is an answer, once.
type Plane struct {
	keys  []uint32
	times []int64
	set   []uint64 // keys as bits
}

// NewPlane returns a question. It takes keys and times in any order.
func NewPlane(keys []uint32, times []int64) *Plane {
	p := &Plane{keys: slices.Clone(keys), times: slices.Clone(times)}
	slices.Sort(p.keys)
	slices.Sort(p.times)
	p.keys = slices.Compact(p.keys)
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
	return p.has(key) && meets(p.times, start, end)
}

func (p *Plane) has(key uint32) bool {
	return int(key/64) < len(p.set) && p.set[key/64]>>(key%64)&1 != 0
}

func meets(times []int64, start, end int64) bool {
	i, _ := slices.BinarySearch(times, start)
	return i < len(times) && times[i] <= end
}

// between returns the keys from low to high.
func (p *Plane) between(low, high uint32) []uint32 {
	i, _ := slices.BinarySearch(p.keys, low)
	j, is := slices.BinarySearch(p.keys[i:], high)
	if is {
		j++
	}
	return p.keys[i : i+j]
}

// Ask calls f for each answer below a node, in no order.
func (p *Plane) Ask(nodes Nodes, n *block.Node, f func(block.Interval)) error {
	if len(p.keys) == 0 || len(p.times) == 0 {
		return nil
	}
	if err := p.records(n, f); err != nil {
		return err
	}
	for i := range n.Children() {
		c := n.Child(i)
		if !meets(p.times, c.Start, c.End) || c.High < c.Low || len(p.between(c.Low, c.High)) == 0 {
			continue
		}
		child, err := nodes.below(n, c)
		if err == nil {
			err = p.Ask(nodes, child, f)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// records asks the node's own intervals. A sorted node is searched key by key if the keys are
// few.
func (p *Plane) records(n *block.Node, f func(block.Interval)) error {
	if n.Sorted() {
		if keys := p.between(n.Box().Low, n.Box().High); len(keys) < n.Records()/16 {
			return p.search(n, keys, f)
		}
	}
	for i := n.NextOf(0, p.set); i < n.Records(); i = n.NextOf(i+1, p.set) {
		if err := p.record(n, i, f); err != nil {
			return err
		}
	}
	return nil
}

func (p *Plane) search(n *block.Node, keys []uint32, f func(block.Interval)) error {
	for _, key := range keys {
		for i := n.First(key, p.times[0]); i < n.Records(); i++ {
			if k, start, _ := n.Record(i); k != key || start > p.times[len(p.times)-1] {
				break
			}
			if err := p.record(n, i, f); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *Plane) record(n *block.Node, i int, f func(block.Interval)) error {
	if _, start, end := n.Record(i); !meets(p.times, start, end) {
		return nil
	}
	in, err := n.Interval(i)
	if err == nil {
		f(in)
	}
	return err
}
