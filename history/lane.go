package history

import (
	"math/bits"
	"sync/atomic"

	"github.com/granarydb/granary/internal/tile"
)

// lane has up to 64 attributes in slots, in the order of their first use. They have one shape, or rare
// shapes. It has one writer and any number of readers. Readers see sealed, fed and now through atomics, and
// a kind only after they have seen a value with it. A lane is two cache lines, so that writers of one lane
// do not invalidate its neighbours.
type lane struct {
	sealed   atomic.Pointer[sealed]
	fed      atomic.Uint64           // slots that Add feeds
	used     atomic.Uint64           // slots whose attribute is committed, and so has its place for ever
	kinded   atomic.Uint64           // slots whose kind is committed
	now      atomic.Pointer[ongoing] // for slots that Change feeds; nil when all are closed
	kinds    [laneWidth]Kind         // by slot, from its first value that is not null
	work     *laneWork               // the writer's; nil when the history is closed
	starts   *[laneWidth]int64       // the writer's: starts of ongoing intervals after tiles were dropped; nil: never dropped
	buffered int32                   // the writer's: blocks of entries, as counted
	slots    uint8                   // the writer's: slots in use
	texts    uint8                   // the writer's: slots with texts as values
}

// publish lets readers use the lane's new entries. Ends come before the values that follow them: see
// ongoing.
func (l *lane) publish() {
	work := l.work
	if used := tile.Ones(uint(l.slots)); used != l.used.Load() {
		l.kinded.Store(used & l.slotsFrom(KindNull+1))
		l.used.Store(used)
	}
	if work.entries.n > 0 {
		s := l.sealed.Load()
		if s.open != nil && len(s.open.blocks) == len(work.entries.blocks) {
			s.open.n.Store(int64(work.entries.n))
		} else {
			l.sealed.Store(&sealed{s.tiles, s.groups, newBuffer(work.entries)})
		}
	}
	changed := work.changed &^ l.fed.Load()
	if changed == 0 {
		return
	}
	now := l.now.Load()
	if now == nil {
		now = new(ongoing)
		defer l.now.Store(now) // after it has the values
	}
	for rest := changed; rest != 0; rest &= rest - 1 {
		slot := bits.TrailingZeros64(rest)
		now.words[slot].Store(work.slots[slot].word)
	}
	now.has.Store(now.has.Load()&^changed | work.has&changed)
}

func (l *lane) setKind(slot uint, k Kind) {
	l.texts += uint8(tile.One(k >= KindString) - tile.One(l.kinds[slot] >= KindString))
	l.kinds[slot] = k
}

// slotsFrom returns the slots whose kind is least or greater.
func (l *lane) slotsFrom(least Kind) (slots uint64) {
	for slot, k := range l.kinds {
		slots |= tile.One(k >= least) << slot
	}
	return slots
}

// find is sealed.find, and adds the ongoing value if the interval has no end and Change feeds the slot.
func (l *lane) find(f *found, slot uint, t, from int64) {
	if l.sealed.Load().find(f, slot, t, from); f.ended {
		return
	}
	word, null := l.ongoing(slot)
	// The interval may have ended since, and word would be the next interval's value.
	if l.sealed.Load().find(f, slot, t, from); !f.ended {
		f.word, f.null = word, null
	}
}

// ongoing returns a slot's value after its last end.
func (l *lane) ongoing(slot uint) (word uint64, null bool) {
	now := l.now.Load()
	if now == nil || now.has.Load()>>slot&1 == 0 {
		return 0, true
	}
	return now.words[slot].Load(), false
}

// ongoing holds the values that a lane's attributes have after their last ends. A writer publishes the ends
// before the values. So a reader that reads a value here first, and then finds no end in the lane, has the
// right value.
type ongoing struct {
	has   atomic.Uint64 // slots whose value is not null
	words [laneWidth]atomic.Uint64
}

func (o *ongoing) clone() *ongoing {
	next := new(ongoing)
	next.has.Store(o.has.Load())
	for i := range o.words {
		next.words[i].Store(o.words[i].Load())
	}
	return next
}
