package encoding

import (
	"errors"
	"math"
	"sync"
	"sync/atomic"

	"github.com/zeebo/xxh3"
)

// ErrDictFull says that a dictionary has no code left to give: it holds
// 2^32-2 values, or a value is longer than 2^31 bytes.
var ErrDictFull = errors.New("dictionary is full")

// Dict is an append-only set of byte strings, each with a code from 1 up in
// the order of arrival; 0 is null and no value's code. Identity is exact: a
// hash finds a value, its bytes decide.
//
// Value and Len take no lock. Intern and Find take a short one. All are safe
// for concurrent use.
type Dict struct {
	seed    uint64
	entries stable[dictEntry]
	bytes   arena

	mu    sync.RWMutex
	n     atomic.Uint32 // values; written under mu
	slots []uint32      // open addressing: a code, or 0
}

// dictEntry says where a value lies, and its hash so that most probes of other
// values end without a look at their bytes.
type dictEntry struct {
	hash, block, offset, length uint32
}

const (
	entrySize  = 16
	firstSlots = 64
)

// maxCodes is how many codes a dictionary can give.
const maxCodes = math.MaxUint32 - 1

// NewDict returns an empty dictionary. The seed keys its hash, so that input
// made to collide in one store does not in another.
func NewDict(seed uint64) *Dict { return &Dict{seed: seed} }

// Intern returns the code of value, giving it one if it is new. It copies what
// it keeps. The only error is ErrDictFull, and then nothing was added.
func (d *Dict) Intern(value []byte) (uint32, error) {
	hash := d.hash(value)
	d.mu.RLock()
	code, _ := d.find(hash, value)
	d.mu.RUnlock()
	if code != 0 {
		return code, nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	n := int(d.n.Load())
	if 4*(n+1) > 3*len(d.slots) {
		d.rehash()
	}
	code, slot := d.find(hash, value)
	if code != 0 {
		return code, nil
	}
	if n >= maxCodes || len(value) > math.MaxInt32 {
		return 0, ErrDictFull
	}
	d.entries.grow(n)
	*d.entries.at(n) = d.keep(hash, value)
	code = d.n.Add(1)
	d.slots[slot] = code
	return code, nil
}

// Find returns the code of value, or 0 if the dictionary does not hold it.
func (d *Dict) Find(value []byte) uint32 {
	hash := d.hash(value)
	d.mu.RLock()
	defer d.mu.RUnlock()
	code, _ := d.find(hash, value)
	return code
}

// Value returns the bytes that code stands for. They must not be changed and
// stay valid for as long as they are referred to. The code must be one that
// the dictionary gave; 0 gives nil.
func (d *Dict) Value(code uint32) []byte {
	if code == 0 {
		return nil
	}
	return d.valueAt(d.entries.at(int(code) - 1))
}

// valueAt returns the bytes of an entry.
func (d *Dict) valueAt(e *dictEntry) []byte {
	if e.length == 0 {
		return []byte{}
	}
	return d.bytes.from(e.block, e.offset)[:e.length:e.length]
}

// Len returns the number of values; their codes are 1 to Len.
func (d *Dict) Len() int { return int(d.n.Load()) }

// Size returns the bytes that the dictionary holds on the heap.
func (d *Dict) Size() int {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.bytes.heap() + 4*len(d.slots) + entrySize*paged(d.Len())
}

// Need returns at most how many bytes the dictionary grows by, for good or while
// it does, when so many values with so many bytes in all are added. Pages, blocks
// and slots come in steps.
func (d *Dict) Need(values, bytes int) int {
	if values == 0 {
		return 0
	}
	d.mu.RLock()
	defer d.mu.RUnlock()
	n := d.Len()
	need := entrySize * (paged(n+values) - paged(n))
	slots := len(d.slots)
	for 4*(n+values) > 3*slots {
		slots = max(firstSlots, 2*slots)
	}
	if slots > len(d.slots) {
		need += 4 * slots
	}
	return need + d.bytes.need(bytes)
}

// find returns the code of value, or 0 and the slot where it would go. The
// caller holds mu.
func (d *Dict) find(hash uint32, value []byte) (code uint32, slot int) {
	if len(d.slots) == 0 {
		return 0, 0
	}
	mask := len(d.slots) - 1
	for slot = int(hash) & mask; ; slot = (slot + 1) & mask {
		code = d.slots[slot]
		if code == 0 {
			return 0, slot
		}
		e := d.entries.at(int(code) - 1)
		if e.hash == hash && string(d.Value(code)) == string(value) {
			return code, slot
		}
	}
}

func (d *Dict) hash(value []byte) uint32 {
	h := xxh3.HashSeed(value, d.seed)
	return uint32(h ^ h>>32)
}

// rehash doubles the slots.
func (d *Dict) rehash() {
	d.slots = make([]uint32, max(firstSlots, 2*len(d.slots)))
	mask := len(d.slots) - 1
	for i := range d.Len() {
		slot := int(d.entries.at(i).hash) & mask
		for d.slots[slot] != 0 {
			slot = (slot + 1) & mask
		}
		d.slots[slot] = uint32(i + 1)
	}
}

// keep copies value into the blocks.
func (d *Dict) keep(hash uint32, value []byte) dictEntry {
	if len(value) == 0 {
		return dictEntry{hash: hash}
	}
	block, offset := d.bytes.keep(value)
	return dictEntry{hash, block, offset, uint32(len(value))}
}
