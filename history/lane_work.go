package history

import "github.com/granarydb/granary/internal/tile"

// laneWork is the writer's state of a lane.
type laneWork struct {
	// The fields that each entry needs share a cache line.
	entries entries
	latest  int64  // end of those
	changed uint64 // slots with writes that are not committed
	plain   uint64 // slots that Add feeds with values of one kind, not bytes, or only null yet, which can go on

	has   uint64 // slots whose ongoing value is not null
	ended uint64 // slots that have an end at the last instant of all: no interval can follow
	mixed bool   // the entries are not in the order of their ends
	lane  *lane
	slots [laneWidth]slotWork
}

// slotWork is the writer's state of an attribute.
type slotWork struct {
	start int64  // of the ongoing interval
	word  uint64 // of its value; of plain slots, the kind of values, null if there are none
}

// add appends an entry.
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
