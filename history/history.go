package history

import (
	"fmt"
	"math"
	"sync/atomic"

	"github.com/granarydb/granary/encoding"
)

// Attribute is a place of a system that has a state at every instant: a thread, a
// register of a CPU, a queue's length. Attributes are numbered from 0 in the order in
// which they were created.
type Attribute uint32

// Root is the parent of the attributes at the top. It is no attribute itself.
const Root Attribute = math.MaxUint32

// Interval is a state and when it held, both ends included.
type Interval struct {
	Start, End int64
	Value      Value
	// Open says that the interval has not ended in this view: End is that of the view.
	// The state may go on, and, where it was fed by Add, become known later.
	Open bool
}

// Options say what a history is like. The zero value is one that begins at 0.
type Options struct {
	// Start is the first instant of the history: every attribute is null from here on
	// until its first change. The unit of times is the caller's; Unix nanoseconds let
	// samples be joined with states.
	Start int64
	// MaxAttributes bounds the number of attributes; 0 means 1<<26.
	MaxAttributes int
	// Reserve, if not nil, is asked before memory is taken for what is written: at least
	// 64 KiB at a time. Its error is that of the write, which then does nothing. What was
	// asked for is not given back: after each transaction, Size says what is held.
	Reserve func(bytes int64) error
	// Seed keys the hash of names and values, so that input made to collide in one
	// history does not in another.
	Seed uint64
}

const defaultMaxAttributes = 1 << 26

// History is the states of one system over time. It is written by one Writer at a time
// and read through Views by any number of goroutines at every moment meanwhile.
type History struct {
	opts  Options
	tree  *tree
	texts *encoding.Dict            // string and bytes values
	lanes []*lane                   // the writer's; views have the first of them
	slots []atomic.Uint32           // of each attribute: 1 + lane*laneWidth + slot, 0 before its first use; replaced when it grows
	works []*laneWork               // the writer's, of each lane: the way there without the lane; nil when the history is closed
	busy  atomic.Bool               // a writer has not ended
	all   atomic.Pointer[directory] // of the closed history; nil before

	// The writer's, from commit to commit.
	shapes    shapes
	recent    *recent // nil before the first text
	chunks    chunks
	start     int64 // what was before it has been dropped
	final     int64 // ends up to here are committed
	barred    int64 // changes up to here are
	last      int64 // the latest instant that is
	written   bool  // else there is no such instant
	closed    bool
	directory int64 // bytes of all lanes' directories
	buffers   int64 // and of what they have not sealed
	size      atomic.Int64
}

// New returns an empty history. Errors wrap ErrLimit.
func New(opts Options) (*History, error) {
	if opts.MaxAttributes < 0 || opts.MaxAttributes > math.MaxUint32/2 {
		return nil, fmt.Errorf("%w: at most %d attributes", ErrLimit, opts.MaxAttributes)
	}
	if opts.MaxAttributes == 0 {
		opts.MaxAttributes = defaultMaxAttributes
	}
	t := newTree(opts.Seed)
	t.limit = uint32(min(opts.MaxAttributes, maxAttributes))
	return &History{
		opts:   opts,
		start:  opts.Start,
		tree:   t,
		texts:  encoding.NewDict(opts.Seed),
		chunks: chunks{tiles: map[*chunk]int{}},
		shapes: newShapes(),
	}, nil
}

// view returns the view of what is committed.
func (h *History) view() *View {
	return &View{
		Names: Names{t: h.tree, n: h.tree.names().n}, history: h, lanes: h.lanes, slots: h.slots,
		start: h.start, end: h.last, final: h.final, written: h.written, closed: h.closed,
		dropped: h.start > h.opts.Start,
	}
}

// Empty returns the view of the history before its first commit: no attribute, no
// instant.
func (h *History) Empty() *View {
	return &View{Names: Names{t: h.tree}, history: h, start: h.opts.Start}
}

// Size returns the bytes that the history holds on the heap, as of the last commit.
func (h *History) Size() int64 { return h.size.Load() }

// Start returns the first instant of the history, as the options said.
func (h *History) Start() int64 { return h.opts.Start }

// Begin starts a transaction, which must be ended with Commit or Abort. ErrBusy says that
// another has not ended, ErrClosed that the history is closed.
func (h *History) Begin() (*Tx, error) {
	if !h.busy.CompareAndSwap(false, true) {
		return nil, ErrBusy
	}
	if h.closed {
		h.busy.Store(false)
		return nil, ErrClosed
	}
	return &Tx{Writer: &Writer{
		Names: h.tree.names(), h: h,
		undo: undos.Get().(*undo), names: h.tree.names().n, laneCount: len(h.lanes),
		written: h.written, last: h.last, final: h.final, barred: h.barred,
	}}, nil
}
