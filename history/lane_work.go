package history

import "github.com/granarydb/granary/internal/tile"

// laneWork is the writer's state for a lane.
type laneWork struct {
	// The fields that every entry needs share a cache line.
	entries entries
	latest  int64  // the entries' latest end
	changed uint64 // slots with uncommitted writes
	plain   uint64 // slots that Add feeds and that can go on, with null or values of one kind other than bytes

	has   uint64 // slots whose ongoing value is not null
	ended uint64 // slots with an end at the last possible instant: no interval can follow
	mixed bool   // the entries are not ordered by end
	lane  *lane
	slots [laneWidth]slotWork
}

// slotWork is the writer's state for an attribute.
type slotWork struct {
	start int64  // start of the ongoing interval
	word  uint64 // word of its value; for plain slots, the kind of values, or null if there are none
}

func (work *laneWork) add(end int64, word uint64, slot uint, null bool) {
	if work.entries.n == 0 || end >= work.latest {
		work.latest = end
	} else {
		work.mixed = true
	}
	at := uint8(slot)
	if null {
		at |= tile.Null
	}
	work.entries.add(end, word, at)
}

func (work *laneWork) set(slot uint, word uint64, has bool) {
	work.slots[slot].word = word
	if has {
		work.has |= 1 << slot
	} else {
		work.has &^= 1 << slot
	}
}
