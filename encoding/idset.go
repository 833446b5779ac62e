package encoding

import (
	"math/bits"
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
	slots atomic.Pointer[idSlots]
	used  int // for writers
}

// idSlots is slots in a row; a hash says from which on an id is looked for. A slot is 0
// where free, else the code of an id, and above it the bits of the id's hash that lie
// there: so most ids that are not the one looked for are passed over without a look at
// them, which would be a miss of the processor's caches each.
//
//	slot: bits of the hash | code
//
// There are as many bits of the hash as codes leave: 13 of 200,000 ids, 7 of 10^7.
type idSlots struct {
	codes uint32 // the bits that are the code's, those that choose the shard among them
	slots []atomic.Uint32
}

const (
	idShards    = 16
	slotsHeader = 32 // idSlots
)

// find returns the code of an id with the given hash, 0 if it is not there.
func (s *idSet) find(id *uuid.UUID, hash uint64) uint32 {
	in := s.shards[hash%idShards].slots.Load()
	if in == nil {
		return 0
	}
	for i := home(hash, len(in.slots)); ; i++ {
		var code uint32
		if code, i = in.next(i, hash); code == 0 || *s.ids.at(int(code) - 1) == *id {
			return code
		}
	}
}

// next returns the next code, and its slot, that the id with a hash may have, from a slot
// on that may be one behind the last; 0 when there is none before a free slot.
func (in *idSlots) next(i int, hash uint64) (code uint32, slot int) {
	for ; ; i++ {
		if i == len(in.slots) {
			i = 0
		}
		word := in.slots[i].Load()
		if word == 0 {
			return 0, i
		}
		if (word^uint32(hash))&^in.codes == 0 {
			return word & in.codes, i
		}
	}
}

// findAll sets codes to those of ids with the given hashes, 0 where one is not there. It
// goes over some ids several times, first for where looking begins, then for the codes that
// are said to be theirs, then for the ids of these: so the misses of the processor's caches
// overlap, and no guess of the processor waits for one. That is twice as fast as one by
// one when the set is larger than the caches.
func (s *idSet) findAll(codes []uint32, ids []uuid.UUID, hashes []uint64) {
	// So few that what a loop leaves is near when the next one comes, and so many that the
	// end of a loop, where nothing is left to overlap, is seldom.
	const some = 1024
	for len(hashes) > some {
		s.findSome(codes[:some], ids[:some], hashes[:some])
		codes, ids, hashes = codes[some:], ids[some:], hashes[some:]
	}
	s.findSome(codes, ids, hashes)
}

func (s *idSet) findSome(codes []uint32, ids []uuid.UUID, hashes []uint64) {
	var shards [idShards]*idSlots // all looks are into the same slots, whoever moves them
	for i := range shards {
		if shards[i] = s.shards[i].slots.Load(); shards[i] == nil {
			shards[i] = &noSlots
		}
	}
	// Nothing but this belongs into the first loop: as soon as what waits for a miss and
	// what comes after it are more than the processor holds, the misses no longer overlap.
	codes, ids = codes[:len(hashes)], ids[:len(hashes)]
	for i, hash := range hashes {
		slots := shards[hash%idShards].slots
		codes[i] = slots[home(hash, len(slots))].Load()
	}
	for i, word := range codes {
		if word == 0 {
			continue
		}
		hash := hashes[i]
		in := shards[hash%idShards]
		if codes[i] = word & in.codes; (word^uint32(hash))&^in.codes != 0 {
			codes[i], _ = in.next(home(hash, len(in.slots))+1, hash)
		}
	}
	directory := s.ids.directory.Load() // after the codes: it has the pages of them all
	for i, code := range codes {
		if code != 0 && (*directory)[(code-1)/pageLen][(code-1)%pageLen] != ids[i] {
			codes[i] = s.find(&ids[i], hashes[i])
		}
	}
}

// noSlots is what a shard has before its first id: one that stays free.
var noSlots = idSlots{slots: make([]atomic.Uint32, 1)}

// home returns the slot where looking for a hash begins.
func home(hash uint64, slots int) int { return int(hash >> 32 * uint64(slots) >> 32) }

// add gives an id that is not there the next code. One at a time; rehash returns
// the hash of an id that is.
func (s *idSet) add(id uuid.UUID, hash uint64, rehash func(*uuid.UUID) uint64) uint32 {
	n := int(s.n.Load())
	s.ids.grow(n)
	*s.ids.at(n) = id
	shard := &s.shards[hash%idShards]
	code := uint32(n + 1)
	in := shard.slots.Load()
	if in == nil || in.full(shard.used+1) {
		in = s.move(shard, shard.nextSlots(int(hash%idShards)), rehash)
	} else if code > in.codes {
		in = s.move(shard, len(in.slots), rehash)
	}
	// Counted before it can be found: a code that a reader found is one of those there.
	s.n.Store(code)
	in.put(hash, code)
	shard.used++
	return code
}

func (in *idSlots) put(hash uint64, code uint32) {
	i := home(hash, len(in.slots))
	for in.slots[i].Load() != 0 {
		if i++; i == len(in.slots) {
			i = 0
		}
	}
	in.slots[i].Store(uint32(hash)&^in.codes | code)
}

// move moves a shard to so many slots, with room for twice the codes that there are. It
// looks at some ids before it puts their codes, so that the misses of the processor's
// caches overlap.
func (s *idSet) move(shard *idShard, slots int, rehash func(*uuid.UUID) uint64) *idSlots {
	old := shard.slots.Load()
	moved := &idSlots{slots: make([]atomic.Uint32, slots)}
	moved.codes = 1<<bits.Len(2*uint(max(s.len(), idShards))) - 1
	if old != nil {
		var codes [64]uint32
		var hashes [len(codes)]uint64
		for rest := old.slots; len(rest) > 0; {
			n := 0
			for len(rest) > 0 && n < len(codes) {
				if word := rest[0].Load(); word != 0 {
					codes[n] = word & old.codes
					n++
				}
				rest = rest[1:]
			}
			for i, code := range codes[:n] {
				hashes[i] = rehash(s.ids.at(int(code) - 1))
			}
			for i, code := range codes[:n] {
				moved.put(hashes[i], code)
			}
		}
	}
	shard.slots.Store(moved)
	return moved
}

// full says whether so many ids are too many.
func (in *idSlots) full(ids int) bool { return 5*ids > 4*len(in.slots) }

// nextSlots returns how many slots a shard, by number, grows to: twice as many. No two
// shards begin alike.
func (h *idShard) nextSlots(shard int) int {
	in := h.slots.Load()
	if in == nil {
		return idShards + shard
	}
	return 2 * len(in.slots)
}

// len returns the number of ids; their codes are 1 to len.
func (s *idSet) len() int { return int(s.n.Load()) }

// heap returns the bytes that the set holds. For writers.
func (s *idSet) heap() int {
	size := len(uuid.UUID{}) * paged(s.len())
	for i := range s.shards {
		if in := s.shards[i].slots.Load(); in != nil {
			size += 4*len(in.slots) + slotsHeader
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
	// bounds what the ids themselves bring: 2 / 0.8 slots of 4 bytes each, and half as
	// many beside them while they are moved.
	for i := range s.shards {
		shard := &s.shards[i]
		in := shard.slots.Load()
		if in == nil || in.full(shard.used+ids) {
			need += 4*shard.nextSlots(i) + slotsHeader
		} else if n+ids > int(in.codes) {
			need += 4*len(in.slots) + slotsHeader
		}
	}
	return need + 16*ids
}
