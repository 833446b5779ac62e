package dict

import (
	"errors"
	"math"
	"sync"
	"sync/atomic"

	"github.com/zeebo/xxh3"
)

// ErrFull reports a dictionary without a code left, which holds 2^32-2 values, or a value
// longer than 2^31-1 bytes.
var ErrFull = errors.New("dictionary is full")

// Values is an append-only set of byte strings, with codes from 1 up in the order of arrival; the code 0 is
// null. Identity is exact, because values found by hash are compared byte by byte.
//
// Value and Len take no lock. Intern and Find take a short one. All methods are safe for concurrent use.
type Values struct {
	seed    uint64
	entries stable[entry]
	bytes   arena

	mu    sync.RWMutex
	n     atomic.Uint32 // number of values; written under mu
	slots []uint32      // open addressing: a code, or 0
	bare  bool          // read from an image: hashes and slots are made when they are needed
}

// entry is a value's place and hash. The hash ends most probes of other values without reading their bytes.
type entry struct {
	hash, block, offset, length uint32
}

const (
	valueSize  = 16
	firstSlots = 64
)

// maxCodes is the number of codes that a dictionary can give.
const maxCodes = math.MaxUint32 - 1

// NewValues returns an empty dictionary. The seed keys its hash, so that input made to collide
// in one store does not collide in another.
func NewValues(seed uint64) *Values { return &Values{seed: seed} }

// Intern returns the code of value, and gives a new value one. It copies a new value. The only error is
// ErrFull, after which the dictionary is unchanged.
func (d *Values) Intern(value []byte) (uint32, error) {
	hash := d.hash(value)
	d.mu.RLock()
	if d.bare {
		d.hashAll()
	}
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
		return 0, ErrFull
	}
	d.entries.grow(n)
	*d.entries.at(n) = d.keep(hash, value)
	code = d.n.Add(1)
	d.slots[slot] = code
	return code, nil
}

// Find returns the code of value, or 0 if the dictionary does not hold it.
func (d *Values) Find(value []byte) uint32 {
	hash := d.hash(value)
	d.mu.RLock()
	if d.bare {
		d.hashAll()
	}
	defer d.mu.RUnlock()
	code, _ := d.find(hash, value)
	return code
}

// Value returns the bytes for a code, nil for code 0. The dictionary must have returned code. The bytes
// must not be changed and stay valid as long as they are referenced.
func (d *Values) Value(code uint32) []byte {
	if code == 0 {
		return nil
	}
	return d.valueAt(d.entries.at(int(code) - 1))
}

// valueAt returns an entry's bytes.
func (d *Values) valueAt(e *entry) []byte {
	if e.length == 0 {
		return []byte{}
	}
	return d.bytes.from(e.block, e.offset)[:e.length:e.length]
}

// Len returns the number of values; their codes are 1 to Len.
func (d *Values) Len() int { return int(d.n.Load()) }

// Size returns the dictionary's heap bytes.
func (d *Values) Size() int {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.bytes.heap() + 4*len(d.slots) + valueSize*paged(d.Len())
}

// Need bounds the growth in bytes, temporary growth included, when `values` values with `bytes` bytes in
// all are added. Pages, blocks and slots grow in steps.
func (d *Values) Need(values, bytes int) int {
	if values == 0 {
		return 0
	}
	d.mu.RLock()
	defer d.mu.RUnlock()
	n := d.Len()
	need := valueSize * (paged(n+values) - paged(n))
	slots := len(d.slots)
	for 4*(n+values) > 3*slots {
		slots = max(firstSlots, 2*slots)
	}
	if slots > len(d.slots) {
		need += 4 * slots
	}
	return need + d.bytes.need(bytes)
}

// find returns the code of value, or 0 and its free slot. The caller holds mu.
func (d *Values) find(hash uint32, value []byte) (code uint32, slot int) {
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

func (d *Values) hash(value []byte) uint32 {
	h := xxh3.HashSeed(value, d.seed)
	return uint32(h ^ h>>32)
}

// rehash doubles the slots.
func (d *Values) rehash() {
	old := d.slots
	d.slots = make([]uint32, max(firstSlots, 2*len(old)))
	mask := len(d.slots) - 1
	for _, code := range old {
		if code == 0 {
			continue
		}
		slot := int(d.entries.at(int(code)-1).hash) & mask
		for d.slots[slot] != 0 {
			slot = (slot + 1) & mask
		}
		d.slots[slot] = code
	}
}

// keep copies value into the blocks.
func (d *Values) keep(hash uint32, value []byte) entry {
	if len(value) == 0 {
		return entry{hash: hash}
	}
	block, offset := d.bytes.keep(value)
	return entry{hash, block, offset, uint32(len(value))}
}
