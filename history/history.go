package history

import (
	"cmp"
	"fmt"
	"math"
	"sync/atomic"

	"github.com/granarydb/granary/internal/names"
	"github.com/granarydb/granary/internal/tile"
)

// Options configure a history. The zero value is a history that begins at 0.
type Options struct {
	// Start is the history's first instant. Every attribute is null from Start until its first change.
	// The caller chooses the unit of times; with Unix nanoseconds, samples can be joined with states.
	Start int64
	// MaxAttributes bounds the number of attributes; 0 means 1<<26.
	MaxAttributes int
	// Reserve, if not nil, is called before a write takes memory, for at least 64 KiB at a time. If it
	// returns an error, the write returns it and does nothing. Reserved bytes are not given back,
	// because Size is up to date after each transaction.
	Reserve func(bytes int64) error
	// Journal makes each transaction keep a journal (Draft.Journal), at 7 ns and 5 bytes an operation.
	// Its memory is reserved.
	Journal bool
	// Seed keys the hash of names and values, so that input made to collide in one history does not
	// collide in another.
	Seed uint64
	// Pages, if not nil, has the tiles in a file (package history/file). Views of such a history return
	// read errors. Its images have the places of tiles instead of their bytes, and must not be made
	// beside a writer. A history opened from such an image takes no writes. Dropped texts and tiles
	// stay in the file.
	Pages *tile.Pages
}

const defaultMaxAttributes = 1 << 26

// History is the states of one system over time. One Writer at a time writes it, while any number of
// goroutines read it through Views.
type History struct {
	opts  Options
	tree  *names.Tree
	texts *names.Interner // string and bytes values
	lanes []*lane         // the writer's; views have a prefix
	slots []atomic.Uint32 // by attribute: 1 + lane*laneWidth + slot, or 0 before its first use; replaced when it grows
	works []*laneWork     // the writer's, by lane, to save the way through the lane; nil when the history is closed
	busy  atomic.Bool     // a writer has not ended
	era   *era

	// The writer's, kept between commits.
	shapes    shapes
	recent    *names.Recent // nil before the first text
	numbers   numbers
	ops       []byte   // memory for the next journal
	replayed  []string // texts from the journals that Replay repeated, by number
	chunks    tile.Chunks
	inPages   textMarks // texts of tiles in pages
	gone      int       // tiles dropped since texts were last dropped
	start     int64     // tiles before it were dropped
	final     int64     // ends up to here are committed
	barred    int64     // changes up to here are committed
	last      int64     // the latest committed instant
	written   bool      // there is a committed instant
	closed    bool
	directory int64 // bytes of all lanes' directories
	buffers   int64 // bytes of their unsealed entries
	size      atomic.Int64
	droppable atomic.Int64
	// Bounds on the ends of all parts that can be dropped (oldPart): a lower bound on the least, and
	// the greatest.
	oldest, newest atomic.Int64
}

// New returns an empty history. Errors wrap ErrLimit.
func New(opts Options) (*History, error) {
	if opts.MaxAttributes < 0 || opts.MaxAttributes > math.MaxUint32/2 {
		return nil, fmt.Errorf("%w: at most %d attributes", ErrLimit, opts.MaxAttributes)
	}
	opts.MaxAttributes = cmp.Or(opts.MaxAttributes, defaultMaxAttributes)
	h := &History{
		opts:   opts,
		start:  opts.Start,
		tree:   names.New(opts.Seed, opts.MaxAttributes),
		texts:  names.NewInterner(opts.Seed),
		chunks: tile.Chunks{Tiles: map[*tile.Chunk]int{}, Pages: opts.Pages},
		shapes: newShapes(),
	}
	h.newEra()
	h.numbers.floor = opts.Start
	h.oldest.Store(math.MaxInt64)
	h.newest.Store(math.MinInt64)
	return h, nil
}

// newEra begins an era, to which later views belong.
func (h *History) newEra() { h.era = &era{history: h, texts: &h.texts.Texts} }

// view returns a view of the committed state.
func (h *History) view() *View {
	return &View{
		Names: h.tree.Names(), lanes: h.lanes, slots: h.slots,
		start: h.start, end: h.last, final: h.final, barred: h.barred, written: h.written, closed: h.closed,
		dropped: h.start > h.opts.Start, era: h.era, numbered: h.numbers.Committed(),
		paged: h.opts.Pages != nil,
	}
}

// Empty returns the view before the first commit, which has no attribute and no instant.
func (h *History) Empty() *View {
	return &View{era: &era{history: h}, start: h.opts.Start}
}

// Size returns the history's heap bytes, as of the last commit.
func (h *History) Size() int64 { return h.size.Load() }

// Droppable returns the bytes that DropBytes can free at most, in tiles and texts, and an instant before
// which none of their intervals ends. The bytes are 0 if there is nothing to drop, because DropBytes keeps
// the latest. It costs nothing.
func (h *History) Droppable() (bytes, oldest int64) {
	if oldest = h.oldest.Load(); oldest < h.newest.Load() {
		bytes = h.droppable.Load()
	}
	return bytes, oldest
}

// addPart records the latest end of a part that can be dropped.
func (h *History) addPart(end int64) {
	h.oldest.Store(min(h.oldest.Load(), end))
	h.newest.Store(max(h.newest.Load(), end))
}

// Begin starts a transaction, which the caller must end with Commit, with Publish and Seal, or with Abort. The
// errors are ErrBusy while another transaction has not ended, and ErrClosed for a closed history.
func (h *History) Begin() (*Draft, error) {
	if !h.busy.CompareAndSwap(false, true) {
		return nil, ErrBusy
	}
	if h.closed {
		h.busy.Store(false)
		return nil, ErrClosed
	}
	d := h.draft()
	if h.opts.Journal {
		d.journal = &journal{ops: h.ops[:0], at: h.last, numbers: &h.numbers}
		h.ops = nil
	}
	return d, nil
}

// BeginDrop starts a transaction that drops old states and writes nothing: its writes return ErrDone. It
// works on closed histories too. The caller must end the transaction as after Begin. The error is ErrBusy
// while another transaction has not ended.
func (h *History) BeginDrop() (*Draft, error) {
	if !h.busy.CompareAndSwap(false, true) {
		return nil, ErrBusy
	}
	d := h.draft()
	d.done = true
	return d, nil
}

// draft allocates a draft and its writer together, because each commit needs both.
func (h *History) draft() *Draft {
	d := new(struct {
		Draft
		writer Writer
	})
	d.writer = Writer{
		Names: h.tree.Names(), h: h,
		undo: undos.Get().(*undo), names: h.tree.Names().Len(), laneCount: len(h.lanes),
		written: h.written, last: h.last, final: h.final, barred: h.barred,
	}
	d.Writer = &d.writer
	return &d.Draft
}

// valueOfWord returns the value for word.
func valueOfWord(texts *names.Texts, k Kind, word uint64) Value {
	switch {
	case k == KindNull:
		return Value{} // because the word may belong to a later value
	case k >= KindString:
		return Value{kind: k, text: textOf(texts.At(uint32(word)))}
	}
	return Value{kind: k, word: word}
}
