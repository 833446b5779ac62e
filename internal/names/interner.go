package names

import (
	"slices"
	"sync/atomic"

	"github.com/zeebo/xxh3"
)

// Interner gives each distinct text a code: the strings and bytes that are values in a history. One
// goroutine at a time uses it, while any number read the texts that were published to them ([Texts.At]).
//
// Texts added since the last Settle can be taken back. Unused texts are dropped when Keep makes another
// interner from the rest. A text keeps its code as long as it is present, and has no other. A dropped
// text's code can be reused, so a code has its meaning only with the Texts of the same interner.
type Interner struct {
	writer
	slots []uint32 // by hash: a code, or 0
	supply
	settled struct {
		supply
		slots int // number of slots
		tail  textEnd
	}
	fresh []uint32 // codes given since the last Settle
	begun []int    // blocks begun since
	pages []int    // pages of codes begun since
}

// supply is the available codes: the last of free, then the rest of the newest page.
type supply struct {
	free  []uint32
	next  uint32 // the code before the page's next
	last  uint32 // the page's last code
	inUse int    // codes in use
	held  int    // pages in use
}

const (
	// valueBlock is the size of a block of values, in bytes. An abort copies at most as many.
	valueBlock = 16 << 10
	// maxPages bounds the pages of codes, so that a code is a uint32.
	maxPages = 1<<24 - 1
	// keptCodes bounds the list of codes that is kept for the next transaction.
	keptCodes = 1 << 12
)

// NewInterner returns an interner without texts. The seed keys its hash, so that texts made to collide in
// one interner do not collide in another.
func NewInterner(seed uint64) *Interner {
	return &Interner{writer: writer{seed: seed, largest: valueBlock}}
}

// Find returns a text's code, or 0 if it has none, and its hash for Add. It costs a hash and a search.
func (t *Interner) Find(text string) (code, hash uint32) {
	hash = t.hash(text)
	if len(t.slots) == 0 {
		return 0, hash
	}
	for slot := home(uint64(hash), len(t.slots)); ; slot = after(slot, len(t.slots)) {
		code = t.slots[slot]
		if code == 0 || t.states.at(code-1).hash == hash && string(t.At(code)) == text {
			return code, hash
		}
	}
}

// Add gives a code to a text that has none, given its hash, and keeps a copy of the text, which has at most
// 64 KiB. ok is false if all codes, nearly 2^32, are in use. Sometimes the index grows.
func (t *Interner) Add(text string, hash uint32) (code uint32, ok bool) {
	if code, ok = t.give(); !ok {
		return 0, false
	}
	before := t.tail
	t.put(code, text, hash, 1)
	if t.tail.block != before.block || t.tail.size > before.size {
		t.begun = append(t.begun, t.tail.block)
	}
	t.inUse++
	t.fresh = append(t.fresh, code)
	if 4*t.inUse > 3*len(t.slots) {
		t.index(max(firstCells, 2*len(t.slots)))
	} else {
		t.setSlot(code, hash)
	}
	return code, true
}

// Need bounds the bytes that adding a text of `length` bytes takes, except for growth of the index. If the
// rest of a block is shorter than the text, it stays empty.
func Need(length int) int {
	const code = 64
	return code + length + min(length, valueBlock)
}

// give takes a code from the supply.
func (t *Interner) give() (code uint32, ok bool) {
	if n := len(t.free); n > 0 {
		code = t.free[n-1]
		t.free = t.free[:n-1]
		return code, true
	}
	if t.next == t.last && !t.addPage() {
		return 0, false
	}
	t.next++
	return t.next, true
}

// addPage adds a page of codes, in place of a dropped page if there is any.
func (t *Interner) addPage() bool {
	places, states := t.places.list(), t.states.list()
	at := slices.Index(places, nil)
	if at < 0 {
		if at = len(places); at == maxPages {
			return false
		}
		places, states = append(places, nil), append(states, nil)
	}
	places[at], states[at] = new([pageLen]atomic.Uint64), new([pageLen]textState)
	t.places.pages.Store(&places)
	t.states.pages.Store(&states)
	t.pages = append(t.pages, at)
	t.held++
	t.next, t.last = uint32(at*pageLen), uint32((at+1)*pageLen)
	return true
}

// Most returns the greatest code that a text can have.
func (t *Texts) Most() uint32 { return uint32(len(t.places.list()) * pageLen) }

// setSlot puts a code into the first empty slot from its hash on.
func (t *Interner) setSlot(code, hash uint32) {
	slot := home(uint64(hash), len(t.slots))
	for t.slots[slot] != 0 {
		slot = after(slot, len(t.slots))
	}
	t.slots[slot] = code
}

// index puts all codes in use into new slots.
func (t *Interner) index(slots int) {
	t.slots = make([]uint32, slots)
	for p, states := range t.states.list() {
		if states == nil {
			continue
		}
		for k := range states {
			if states[k].user != 0 {
				t.setSlot(uint32(p*pageLen+k+1), states[k].hash)
			}
		}
	}
}

// Settle keeps all present texts: a later TakeBack leaves them.
func (t *Interner) Settle() {
	t.settled.supply, t.settled.slots, t.settled.tail = t.supply, len(t.slots), t.tail
	t.begun, t.pages = t.begun[:0], t.pages[:0]
	if t.fresh = t.fresh[:0]; cap(t.fresh) > keptCodes {
		t.fresh = nil
	}
}

// TakeBack removes the texts added since the last Settle, and frees their memory. Texts that readers know
// stay unchanged. It reports whether there were any texts to remove. The cost is a search for each text, and
// a copy of up to 16 KiB.
func (t *Interner) TakeBack() bool {
	if len(t.fresh) == 0 {
		return false
	}
	for _, code := range slices.Backward(t.fresh) {
		if len(t.slots) == t.settled.slots {
			slot := home(uint64(t.states.at(code-1).hash), len(t.slots))
			for t.slots[slot] != code {
				slot = after(slot, len(t.slots))
			}
			t.slots[slot] = 0 // no search passes it, because the texts behind it were added later
		}
		t.places.at(code - 1).Store(0)
		*t.states.at(code - 1) = textState{}
	}
	places, states := t.places.list(), t.states.list()
	for _, at := range t.pages {
		places[at], states[at] = nil, nil
	}
	t.setPages(places, states)
	t.supply = t.settled.supply
	if len(t.slots) != t.settled.slots {
		t.index(t.settled.slots)
	}
	t.rewind(t.settled.tail, t.begun)
	t.Settle()
	return true
}

// setPages sets the pages, without the dropped pages at the end.
func (t *Interner) setPages(places []*[pageLen]atomic.Uint64, states []*[pageLen]textState) {
	n := len(places)
	for n > 0 && places[n-1] == nil {
		n--
	}
	places, states = places[:n], states[:n]
	t.places.pages.Store(&places)
	t.states.pages.Store(&states)
}

// Retire drops everything that no reader needs, once another interner has taken over.
func (t *Interner) Retire() {
	t.slots = nil
	t.states.pages.Store(nil)
	t.supply, t.settled.supply, t.fresh = supply{}, supply{}, nil
}

// Size returns the bytes on the heap.
func (t *Interner) Size() int {
	return t.size() + 4*len(t.slots) + t.held*pageLen*(placeSize+stateSize) + 16*cap(t.places.list()) + 4*(cap(t.free)+cap(t.fresh))
}

// Shapes is the shape of each attribute. Two attributes have the same shape if their paths differ only in
// digits, like Threads/17/Status and Threads/4/Status. It belongs to one writer.
type Shapes struct {
	Of   []uint32 // by attribute
	text []byte
}

// Add records the shape of the next attribute.
func (s *Shapes) Add(parent Attribute, name string) {
	seed := uint64(0)
	if parent != Top {
		seed = uint64(s.Of[parent]) + 1
	}
	s.text = s.text[:0]
	for i := range len(name) {
		c := name[i]
		if c < '0' || c > '9' {
			s.text = append(s.text, c)
		} else if n := len(s.text); n == 0 || s.text[n-1] != '0' {
			s.text = append(s.text, '0')
		}
	}
	s.Of = append(s.Of, uint32(xxh3.HashSeed(s.text, seed)))
}
