package history

import (
	"sync/atomic"

	"github.com/granarydb/granary/internal/tile"
)

// lane is up to 64 attributes of one shape, or of rare ones, in slots, in the order of their
// first use. It has one writer and any number of readers. Readers see sealed, fed and now through atomics,
// and a kind only after they have seen a value of it. A lane is two cache lines, so writers of one
// do not take lines of its neighbours.
type lane struct {
	sealed   atomic.Pointer[sealed]
	fed      atomic.Uint64           // slots that Add feeds
	used     atomic.Uint64           // slots whose attribute has its place for ever, as it is committed
	kinded   atomic.Uint64           // slots of which the same holds for the kind
	now      atomic.Pointer[ongoing] // of slots that Change feeds; nil when all are closed
	kinds    [laneWidth]Kind         // of a slot's values, from its first that is not null
	work     *laneWork               // the writer's; nil when the history is closed
	starts   *[laneWidth]int64       // the writer's: of the ongoing intervals when tiles were dropped; nil: never
	buffered int32                   // the writer's: blocks of entries, as counted
	slots    uint8                   // the writer's: how many are used
	texts    uint8                   // the writer's: how many slots have texts as values
}

// publish lets readers look at the new entries of the lane. The ends come before the
// values from them on: see ongoing.
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
		defer l.now.Store(now) // when it has the values
	}
	for rest := changed; rest != 0; {
		var slot int
		slot, rest = nextSlot(rest)
		now.words[slot].Store(work.slots[slot].word)
	}
	now.has.Store(now.has.Load()&^changed | work.has&changed)
}

// setKind sets the kind of a slot's values.
func (l *lane) setKind(slot uint, k Kind) {
	l.texts += uint8(tile.One(k >= KindString) - tile.One(l.kinds[slot] >= KindString))
	l.kinds[slot] = k
}

// slotsFrom returns the slots whose values are of kind least, or of one after it.
func (l *lane) slotsFrom(least Kind) (slots uint64) {
	for slot, k := range l.kinds {
		slots |= tile.One(k >= least) << slot
	}
	return slots
}

// find is sealed.find, with the ongoing value of a slot that Change feeds.
func (l *lane) find(f *found, slot uint, t, from int64) {
	if l.sealed.Load().find(f, slot, t, from); f.ended {
		return
	}
	word, null := l.ongoing(slot)
	// The interval may have ended since. Then the value is that of the next one.
	if l.sealed.Load().find(f, slot, t, from); !f.ended {
		f.word, f.null = word, null
	}
}

// ongoing returns the value that a slot has from its last end on.
func (l *lane) ongoing(slot uint) (word uint64, null bool) {
	now := l.now.Load()
	if now == nil || now.has.Load()>>slot&1 == 0 {
		return 0, true
	}
	return now.words[slot].Load(), false
}

// ongoing is the values that the attributes of a lane have from their last ends on.
// A writer publishes the ends before the values. So a reader that reads a value here first,
// and finds no end in the lane after that, has the right value.
type ongoing struct {
	has   atomic.Uint64 // slots whose value is not null
	words [laneWidth]atomic.Uint64
}

// clone returns a copy.
func (o *ongoing) clone() *ongoing {
	next := new(ongoing)
	next.has.Store(o.has.Load())
	for i := range o.words {
		next.words[i].Store(o.words[i].Load())
	}
	return next
}
