package names

import (
	"slices"
	"sync/atomic"

	"github.com/zeebo/xxh3"
)

// Texts is texts by number, from 1, for readers. A reader can read the texts that were published to it
// without a lock, whatever the one goroutine that adds texts does meanwhile.
//
//	place   block 30 bits | offset 17 bits | length 17 bits    of each text
//	block   bytes, end to end; 512 B the first, twice that the next, up to a limit
type Texts struct {
	places paged[atomic.Uint64] // by number-1
	blocks atomic.Pointer[[][]byte]
}

// At returns a text's bytes, which never change and must not be changed. They stay valid as long as they
// are referenced. For a text that was taken back At returns another's bytes, or none. For a code that was
// never used it returns none. About 5 ns.
func (t *Texts) At(i uint32) []byte {
	blocks := t.blocks.Load() // before the place: see rewind
	pages, page := t.places.list(), (i-1)/pageLen
	if blocks == nil || page >= uint32(len(pages)) || pages[page] == nil {
		return nil
	}
	block, offset, end := splitPlace(pages[page][(i-1)%pageLen].Load())
	if block < len(*blocks) && end <= len((*blocks)[block]) {
		return (*blocks)[block][offset:end:end]
	}
	return nil
}

func splitPlace(place uint64) (block, offset, end int) {
	const mask = 1<<17 - 1
	offset = int(place >> 17 & mask)
	return int(place >> 34), offset, offset + int(place&mask)
}

// firstBlock is the size of the first block, in bytes. A text that is longer than a block has its own.
const firstBlock = 512

// writer adds texts, each once. One goroutine at a time uses it. It is not a dict.Values, because texts can
// be taken back: failures and aborts must leave nothing behind, however often.
type writer struct {
	Texts
	seed    uint64
	largest int              // size of the largest block, in bytes
	states  paged[textState] // by number-1
	tail    textEnd
	bytes   int // bytes of all blocks
}

// textState is the writer's state for a text.
type textState struct {
	hash uint32 // kept, so that growing need not read the text again
	user uint32 // for a name, the node that used it first; for a value, 1, or 0 if the code is free
}

// The bytes of a text's place, and of its state.
const (
	placeSize = 8
	stateSize = 8
)

// textEnd is the end of the bytes.
type textEnd struct {
	block int // the block to which texts are added, if its size is not 0
	size  int // size of the block
	end   int // end of its texts
}

// noBytes is a dropped block. It is not nil, so that the empty text in it is not nil.
var noBytes = []byte{}

func (w *writer) hash(text string) uint32 {
	h := xxh3.HashStringSeed(text, w.seed)
	return uint32(h ^ h>>32)
}

// put keeps a copy of a text under number i, for which there must be room.
func (w *writer) put(i uint32, text string, hash, user uint32) {
	*w.states.at(i - 1) = textState{hash, user}
	w.places.at(i - 1).Store(keep(w, text))
}

// keep copies a text into the last block, or a new one, and returns the place.
func keep[T string | []byte](w *writer, text T) uint64 {
	p := w.blocks.Load()
	if p == nil || len(text) > w.tail.size-w.tail.end {
		p = w.addBlock(len(text))
	}
	offset := w.tail.end
	w.tail.end += copy((*p)[w.tail.block][offset:], text)
	return uint64(w.tail.block)<<34 | uint64(offset)<<17 | uint64(len(text))
}

// addBlock adds a block with room for `room` bytes, in place of a dropped block if there is any, because no
// reader has a text there.
func (w *writer) addBlock(room int) *[][]byte {
	var blocks [][]byte
	if p := w.blocks.Load(); p != nil {
		blocks = *p
	}
	size := max(min(firstBlock<<min(len(blocks), 16), w.largest), room)
	at := slices.IndexFunc(blocks, func(block []byte) bool { return len(block) == 0 })
	if at < 0 {
		at = len(blocks)
		blocks = append(blocks, nil)
	}
	blocks[at] = make([]byte, size)
	w.bytes += size
	w.blocks.Store(&blocks)
	w.tail = textEnd{block: at, size: size}
	return &blocks
}

// rewind takes back the bytes behind an earlier end, and the blocks begun since. Bytes are never written twice, so
// the block is copied up to its new end. The places behind that end must be gone, so that a reader with the
// copy has none of them.
func (w *writer) rewind(to textEnd, begun []int) {
	blocks := slices.Clone(*w.blocks.Load())
	for _, i := range begun {
		w.bytes -= len(blocks[i])
		blocks[i] = noBytes
	}
	if to.size > 0 {
		block := make([]byte, to.size)
		copy(block, blocks[to.block][:to.end])
		blocks[to.block] = block
	}
	w.setBlocks(blocks)
	w.tail = to
}

// setBlocks publishes blocks, without the dropped blocks at the end.
func (w *writer) setBlocks(blocks [][]byte) {
	for len(blocks) > 1 && len(blocks[len(blocks)-1]) == 0 {
		blocks = blocks[:len(blocks)-1]
	}
	w.blocks.Store(&blocks)
}

func (w *writer) size() int {
	bytes := w.bytes
	if blocks := w.blocks.Load(); blocks != nil {
		bytes += 24 * cap(*blocks)
	}
	return bytes
}

// nameTexts is the attributes' names, numbered in the order of their first use.
type nameTexts struct {
	writer
	cells numberTable
	n     uint32
}

// key returns a name's key in the cells.
func (t *nameTexts) key(i uint32) uint64 { return uint64(t.states.at(i - 1).hash) }

// find returns a name's number, or 0. hash is the name's. Only the writer may call it.
func (t *nameTexts) find(name string, hash uint32) uint32 {
	return t.cells.find(uint64(hash), t.n, func(i uint32) bool {
		return t.states.at(i-1).hash == hash && string(t.At(i)) == name
	})
}

// add gives a number to a name that has none, with at most maxName bytes. hash is the name's, and user the
// node that first uses it.
func (t *nameTexts) add(name string, hash, user uint32) uint32 {
	t.places.grow(t.n)
	t.states.grow(t.n)
	t.n++
	t.put(t.n, name, hash, user)
	t.cells.add(t.n, t.key)
	return t.n
}

// truncate removes the names that were first used by a node after keep.
func (t *nameTexts) truncate(keep uint32) {
	var to textEnd
	n := t.n
	for ; n > 0 && t.states.at(n-1).user > keep; n-- {
		t.cells.drop(n, t.key(n))
		to.block, to.end, _ = splitPlace(t.places.at(n - 1).Swap(0))
	}
	if n == t.n {
		return
	}
	blocks := *t.blocks.Load()
	to.size = len(blocks[to.block])
	var begun []int
	for i := to.block + 1; i < len(blocks); i++ {
		begun = append(begun, i)
	}
	t.rewind(to, begun)
	t.n = n
}

// size returns the heap bytes.
func (t *nameTexts) size() int {
	return t.writer.size() + t.cells.size() + t.places.size(placeSize) + t.states.size(stateSize)
}
