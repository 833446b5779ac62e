package encoding

import (
	"sync/atomic"

	"github.com/google/uuid"
)

// idSet is an append-only set of 16-byte ids, each with a code from 1 up in the
// order of arrival: what finds the elements of lists, and lists by their hash.
//
// find takes no lock and may run beside one add. A find that does not see an id
// whose add is under way, or went on while the slots were moved, answers 0: whoever
// adds looks again under the writers' lock.
type idSet struct {
	ids    stable[uuid.UUID]
	n      atomic.Uint32
	shards [idShards]idShard
}

// idShard is the open addressing of a sixteenth of the ids. Shards grow at
// different times: no add has to move more than a sixteenth, and what is free in
// them all together is always about the same.
type idShard struct {
	slots atomic.Pointer[[]atomic.Uint32] // codes, 0 where free
	used  int                             // for writers
}

const (
	idShards   = 16
	slotHeader = 24 // of a slice
)

// find returns the code of an id with the given hash, 0 if it is not there.
func (s *idSet) find(id *uuid.UUID, hash uint64) uint32 {
	slots := s.shards[hash%idShards].slots.Load()
	if slots == nil {
		return 0
	}
	for i := home(hash, len(*slots)); ; {
		code := (*slots)[i].Load()
		if code == 0 || *s.ids.at(int(code) - 1) == *id {
			return code
		}
		if i++; i == len(*slots) {
			i = 0
		}
	}
}

// findAll sets codes to those of ids with the given hashes, 0 where one is not there.
// It goes over them twice, first for where looking begins, then for what is there: so
// the misses of the processor's caches overlap. That is twice as fast as one by one
// when the set is larger than the caches.
func (s *idSet) findAll(codes []uint32, ids []uuid.UUID, hashes []uint64) {
	for i, hash := range hashes {
		codes[i] = 0
		if slots := s.shards[hash%idShards].slots.Load(); slots != nil {
			codes[i] = (*slots)[home(hash, len(*slots))].Load()
		}
	}
	for i, code := range codes {
		if code != 0 && *s.ids.at(int(code) - 1) != ids[i] {
			codes[i] = s.find(&ids[i], hashes[i])
		}
	}
}

// home returns the slot where looking for a hash begins.
func home(hash uint64, slots int) int { return int(hash >> 32 * uint64(slots) >> 32) }

// add gives an id that is not there the next code. One at a time; rehash returns
// the hash of an id that is.
func (s *idSet) add(id uuid.UUID, hash uint64, rehash func(*uuid.UUID) uint64) uint32 {
	n := int(s.n.Load())
	s.ids.grow(n)
	*s.ids.at(n) = id
	shard := &s.shards[hash%idShards]
	if old := shard.slots.Load(); old == nil || 4*(shard.used+1) > 3*len(*old) {
		s.regrow(int(hash%idShards), rehash)
	}
	// Counted before it can be found: a code that a reader found is one of those there.
	s.n.Store(uint32(n + 1))
	put(*shard.slots.Load(), hash, uint32(n+1))
	shard.used++
	return uint32(n + 1)
}

func put(slots []atomic.Uint32, hash uint64, code uint32) {
	i := home(hash, len(slots))
	for slots[i].Load() != 0 {
		if i++; i == len(slots) {
			i = 0
		}
	}
	slots[i].Store(code)
}

// regrow moves a shard to half as many slots again.
func (s *idSet) regrow(shard int, rehash func(*uuid.UUID) uint64) {
	h := &s.shards[shard]
	old := h.slots.Load()
	grown := make([]atomic.Uint32, nextSlots(old, shard))
	if old != nil {
		for i := range *old {
			if code := (*old)[i].Load(); code != 0 {
				put(grown, rehash(s.ids.at(int(code)-1)), code)
			}
		}
	}
	h.slots.Store(&grown)
}

// nextSlots returns how many slots a shard grows to. No two shards begin alike.
func nextSlots(old *[]atomic.Uint32, shard int) int {
	if old == nil {
		return idShards + shard
	}
	return len(*old) + len(*old)/2
}

// len returns the number of ids; their codes are 1 to len.
func (s *idSet) len() int { return int(s.n.Load()) }

// heap returns the bytes that the set holds. For writers.
func (s *idSet) heap() int {
	size := len(uuid.UUID{}) * paged(s.len())
	for i := range s.shards {
		if slots := s.shards[i].slots.Load(); slots != nil {
			size += 4*len(*slots) + slotHeader
		}
	}
	return size
}

// need returns at most how many bytes the set grows by, for good or while it does,
// when so many ids are added. For writers.
func (s *idSet) need(ids int) int {
	if ids == 0 {
		return 0
	}
	n := s.len()
	need := len(uuid.UUID{}) * (paged(n+ids) - paged(n))
	// Any shard may get them all, but not each of them: what they have together
	// bounds what the ids themselves bring, 1.5 / 0.75 slots of 4 bytes each.
	for i := range s.shards {
		slots := s.shards[i].slots.Load()
		if slots == nil {
			need += 4*nextSlots(nil, i) + slotHeader
		} else if 4*(s.shards[i].used+ids) > 3*len(*slots) {
			need += 4*nextSlots(slots, i) + slotHeader
		}
	}
	return need + 16*ids
}
