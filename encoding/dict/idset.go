package dict

import (
	"math/bits"
	"sync/atomic"

	"github.com/google/uuid"
)

// idSet is an append-only set of 16-byte ids, with codes from 1 up in the order of arrival. It finds the
// elements of lists, and lists by their hash.
//
// find takes no lock and may run beside one add. It returns 0 if it misses an id that is being added, or
// was added while the slots were moved; before adding, the writer repeats the search under its lock.
type idSet struct {
	ids    stable[uuid.UUID]
	n      atomic.Uint32
	shards [idShards]idShard
}

// idShard is an open-addressing table for a sixteenth of the ids. Shards grow at different times: an add
// moves at most a sixteenth of the ids, and the total free space stays about constant.
type idShard struct {
	slots atomic.Pointer[idSlots]
	used  int // slots in use; only writers read it
}

// idSlots is a shard's slots; an id's hash gives the first to probe. A free slot is 0. Otherwise a slot
// holds an id's code, and in the bits above the code the same bits of the id's hash. Most other ids are
// skipped by these bits, without the cache miss of reading the id.
//
//	slot: bits of the hash | code
//
// The codes leave 13 bits for the hash at 200,000 ids, 7 at 10^7.
type idSlots struct {
	codes uint32 // mask of the code's bits, including the bits that choose the shard
	slots []atomic.Uint32
}

const (
	idShards    = 16
	slotsHeader = 32 // bytes of idSlots
)

// find returns the code of an id with the given hash, 0 if it is absent.
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

// next searches from slot i on, which may be one past the last, and returns the next code that an id with
// the hash may have, and its slot. The code is 0 if a free slot comes first.
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

// findAll sets codes to the codes of ids with the given hashes, 0 for absent ids. It makes three passes
// over a batch of ids: the first slots, the codes whose hash bits match, and the ids with these codes.
// Cache misses overlap and no branch waits for one. When the set is larger than the caches, this is twice
// as fast as single look-ups.
func (s *idSet) findAll(codes []uint32, ids []uuid.UUID, hashes []uint64) {
	// Small enough to stay in cache between passes, and large enough to make the end of a pass rare,
	// because nothing is left to overlap there.
	const some = 1024
	for len(hashes) > some {
		s.findSome(codes[:some], ids[:some], hashes[:some])
		codes, ids, hashes = codes[some:], ids[some:], hashes[some:]
	}
	s.findSome(codes, ids, hashes)
}

func (s *idSet) findSome(codes []uint32, ids []uuid.UUID, hashes []uint64) {
	var shards [idShards]*idSlots // all look-ups use the same slots, even if a shard moves
	for i := range shards {
		if shards[i] = s.shards[i].slots.Load(); shards[i] == nil {
			shards[i] = &noSlots
		}
	}
	// The first loop does nothing else, because misses no longer overlap once the instructions that
	// wait for one, and the instructions after them, exceed the processor's window.
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
	directory := s.ids.directory.Load() // loaded after the codes, so that it has all of their pages
	for i, code := range codes {
		if code != 0 && (*directory)[(code-1)/pageLen][(code-1)%pageLen] != ids[i] {
			codes[i] = s.find(&ids[i], hashes[i])
		}
	}
}

// noSlots is a shard's slots before its first id: one free slot.
var noSlots = idSlots{slots: make([]atomic.Uint32, 1)}

// home returns the first slot to probe for a hash.
func home(hash uint64, slots int) int { return int(hash >> 32 * uint64(slots) >> 32) }

// add gives an absent id the next code. Calls must not run concurrently; rehash returns the
// hash of a present id.
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
	// The count rises before the id can be found, so that a reader never finds a code above it.
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

// move moves a shard to a new number of slots, with room for twice its codes. It reads a group of ids
// before it stores their codes, so that the cache misses overlap.
func (s *idSet) move(shard *idShard, slots int, rehash func(*uuid.UUID) uint64) *idSlots {
	old := shard.slots.Load()
	moved := s.newSlots(slots)
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

// newSlots returns free slots with room for twice the set's codes.
func (s *idSet) newSlots(slots int) *idSlots {
	return &idSlots{codes: 1<<bits.Len(2*uint(max(s.len(), idShards))) - 1, slots: make([]atomic.Uint32, slots)}
}

// full reports whether ids exceed the load factor of 0.8.
func (in *idSlots) full(ids int) bool { return 5*ids > 4*len(in.slots) }

// nextSlots returns a shard's next number of slots: twice the present number. The first size differs by
// shard.
func (h *idShard) nextSlots(shard int) int {
	in := h.slots.Load()
	if in == nil {
		return idShards + shard
	}
	return 2 * len(in.slots)
}

// len returns the number of ids; their codes are 1 to len.
func (s *idSet) len() int { return int(s.n.Load()) }

// heap returns the set's heap bytes. Only writers may call it.
func (s *idSet) heap() int {
	size := len(uuid.UUID{}) * pageLen * len(s.ids.all())
	for i := range s.shards {
		if in := s.shards[i].slots.Load(); in != nil {
			size += 4*len(in.slots) + slotsHeader
		}
	}
	return size
}

// need bounds the growth in bytes, temporary growth included, when ids are added. Only writers may call it.
func (s *idSet) need(ids int) int {
	if ids == 0 {
		return 0
	}
	n := s.len()
	need := len(uuid.UUID{}) * (paged(n+ids) - paged(n))
	// Any one shard may get all new ids, but not every shard. The growth for the new ids is bounded by
	// 2 / 0.8 slots with 4 bytes each, and half as many beside them while a shard moves.
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
