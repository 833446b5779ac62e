package summary

import (
	"math/bits"
	"sort"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/internal/tile"
)

// Pyramid is a view's nodes. It never changes, and any goroutines may read it, while the history is
// written.
type Pyramid struct {
	view    *history.View
	lanes   []*lane     // nil for lanes without nodes; may be shorter than the view's lanes
	taken   atomic.Bool // another pyramid appends to its columns
	walkers *sync.Pool
}

// Of returns a view's pyramid. It reads each interval of attributes that get nodes once, and the counts of
// the others: some 6 ns an interval. It reads a file entirely. The error comes from reading it.
func Of(v *history.View) (*Pyramid, error) { return Bare(v).Extend(v) }

// Bare returns a pyramid without nodes, so that queries read all intervals. It costs nothing.
func Bare(v *history.View) *Pyramid {
	return &Pyramid{view: v, walkers: &sync.Pool{New: func() any { return new(walker) }}}
}

// Extend returns the pyramid of v, which must be a later view of the same history. It costs as much as the
// new intervals, and some 20 ns a lane. The old pyramid stays unchanged. Its first extension shares its
// memory, others copy what they append to. The error comes from reading a file.
func (p *Pyramid) Extend(v *history.View) (next *Pyramid, err error) {
	defer tile.Catch(&err)
	b := builder{view: v, copies: !p.taken.CompareAndSwap(false, true)}
	lanes := make([]*lane, v.Lanes())
	for i := range lanes {
		var old *lane
		gone := 0
		if i < len(p.lanes) && p.lanes[i] != nil {
			old = p.lanes[i]
			gone = goneTiles(p.view, v, i)
		}
		lanes[i] = b.begin(i, old, gone)
	}
	b.addAll()
	return &Pyramid{view: v, lanes: lanes, walkers: p.walkers}, nil
}

// goneTiles returns how many of a lane's tiles in old v lacks.
func goneTiles(old, v *history.View, lane int) int {
	was, is := old.Tiles(lane), v.Tiles(lane)
	if len(is) == 0 {
		return len(was)
	}
	return sort.Search(len(was), func(j int) bool { return was[j].Last >= is[0].Last })
}

// View returns the nodes' view.
func (p *Pyramid) View() *history.View { return p.view }

// Size returns the nodes' heap bytes, at most 5 % of the history's bytes.
func (p *Pyramid) Size() int64 {
	n := int64(unsafe.Sizeof(*p)) + 8*int64(cap(p.lanes))
	for _, l := range p.lanes {
		if l == nil {
			continue
		}
		n += int64(unsafe.Sizeof(*l)) + 8*int64(cap(l.groups))
		for _, c := range l.columns {
			if c != nil {
				n += int64(c.size())
			}
		}
	}
	return n
}

// slotOf returns the lowest slot in set.
func slotOf(set uint64) int { return bits.TrailingZeros64(set) & (tile.Slots - 1) }
