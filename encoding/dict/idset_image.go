package dict

import (
	"iter"

	"github.com/google/uuid"
)

// addImage adds ids; they cannot be found before fill.
func (s *idSet) addImage(ids iter.Seq[uuid.UUID]) {
	n := s.len()
	for id := range ids {
		s.ids.grow(n)
		*s.ids.at(n) = id
		n++
	}
	s.n.Store(uint32(n))
	for i := range s.shards {
		s.shards[i].slots.Store(nil)
		s.shards[i].used = 0
	}
}

// fill makes the slots of all ids. They are as many as if the ids had been added one by one. If ids are
// equal, which happens only in a damaged image, the first gets a slot, because slots for all would be
// probed in a row.
func (s *idSet) fill(hash func(*uuid.UUID) uint64) {
	for i := range s.len() {
		s.shards[hash(s.ids.at(i))%idShards].used++
	}
	for i := range s.shards {
		shard := &s.shards[i]
		if shard.used == 0 {
			continue
		}
		slots := shard.nextSlots(i)
		for 5*shard.used > 4*slots {
			slots *= 2
		}
		shard.slots.Store(s.newSlots(slots))
	}
	for i := range s.len() {
		id := s.ids.at(i)
		h := hash(id)
		shard := &s.shards[h%idShards]
		in := shard.slots.Load()
		code, slot := in.next(home(h, len(in.slots)), h)
		for code != 0 && *s.ids.at(int(code) - 1) != *id {
			code, slot = in.next(slot+1, h)
		}
		if code == 0 {
			in.slots[slot].Store(uint32(h)&^in.codes | uint32(i+1))
		} else {
			shard.used--
		}
	}
}
