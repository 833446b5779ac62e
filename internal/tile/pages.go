package tile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"sync"
	"sync/atomic"
	"unsafe"
)

// ErrTile is returned for invalid bytes of a tile in a file. Their checksum is right, so they were written
// like that.
var ErrTile = errors.New("invalid tile")

// Apart is a flag of a layout in memory: the tile is in a page, which may have to be read first.
const Apart = 1 << 7

// page is a chunk that is written to a file once it is full. It is in memory until then, and again while a
// query needs it or Pages keeps it.
type page struct {
	of     *Pages
	number int
	used   atomic.Bool // since the hand of Pages passed
	now    atomic.Pointer[loaded]
}

// loaded is a page in memory. A tile from a file is checked when it is first opened. A bit for each 16
// bytes says where tiles were checked, because each tile is longer than 16 bytes.
type loaded struct {
	chunk   Chunk
	checked [ChunkBytes / 16 / 64]atomic.Uint64
}

// loadedBytes is a page's size on the heap, which has steps of 8 KiB.
const loadedBytes = ChunkBytes + 8<<10

// Pages is one history's pages, and keeps some of them in memory. The fields are set before the first use,
// the functions by the package that has the file. It is safe for concurrent use, with one writer at a time.
type Pages struct {
	// Write writes a page's bytes, once; false keeps the page in memory for good. The history's writer
	// calls it.
	Write func(number int, data []byte) bool
	// Read reads a page into a zeroed chunk, from any goroutine. Its error becomes the error of the
	// query that needs the page.
	Read func(number int, into []byte) error
	// Most is the number of pages that stay in memory, besides unwritten pages and pages that queries
	// use. It is at least 1. A page takes 72 KiB.
	Most int

	list  []*page
	bytes atomic.Int64 // bytes of the pages in memory

	mu   sync.Mutex
	ring []*page // pages in memory that are written
	hand int
}

// Grow adds n written pages, from an opened file.
func (p *Pages) Grow(n int) {
	room := make([]page, n)
	for i := range room {
		room[i].of, room[i].number = p, len(p.list)
		p.list = append(p.list, &room[i])
	}
}

// begin returns a page to write.
func (p *Pages) begin() (*page, *Chunk) {
	p.Grow(1)
	next, in := p.list[len(p.list)-1], new(loaded)
	next.now.Store(in)
	p.bytes.Add(loadedBytes)
	return next, &in.chunk
}

// finish writes the first `used` bytes of a page. After that it may leave the memory.
func (p *Pages) finish(page *page, used int) {
	if in := page.now.Load(); p.Write(page.number, in.chunk[:used]) {
		p.keep(page, in)
	}
}

// keep keeps a page in memory, and lets pages go that were not used since the hand last passed.
func (p *Pages) keep(page *page, in *loaded) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if old := page.now.Load(); old != nil && old != in {
		return // another goroutine has read it meanwhile
	} else if old == nil {
		page.now.Store(in)
		p.bytes.Add(loadedBytes)
	}
	page.used.Store(true)
	if len(p.ring) < p.Most {
		p.ring = append(p.ring, page)
		return
	}
	for p.ring[p.hand].used.Swap(false) {
		p.hand = (p.hand + 1) % len(p.ring)
	}
	p.ring[p.hand].now.Store(nil)
	p.bytes.Add(-loadedBytes)
	p.ring[p.hand] = page
	p.hand = (p.hand + 1) % len(p.ring)
}

// unread is a panic value that Catch turns into an error.
type unread struct{ err error }

// Catch must be deferred by every caller that opens tiles that can be apart. It turns a panic of Open into
// the error of an unreadable page or an invalid tile.
func Catch(err *error) {
	switch r := recover().(type) {
	case nil:
	case unread:
		*err = r.err
	default:
		panic(r)
	}
}

// Fail ends a query with an error that wraps ErrTile: see Catch.
func Fail(format string, args ...any) {
	panic(unread{fmt.Errorf("%w: %s", ErrTile, fmt.Sprintf(format, args...))})
}

// chunk returns the chunk of a tile that is apart, and reads the page if need be.
func (r *Ref) chunk() *Chunk {
	p := (*page)(r.in)
	in := p.now.Load()
	if in == nil {
		in = p.load()
	}
	if !p.used.Load() {
		p.used.Store(true)
	}
	words, bit := &in.checked[r.At/16/64], uint64(1)<<(r.At/16%64)
	if words.Load()&bit == 0 {
		r.check(p.number, &in.chunk)
		words.Or(bit)
	}
	return &in.chunk
}

func (p *page) load() *loaded {
	in := new(loaded)
	if err := p.of.Read(p.number, in.chunk[:]); err != nil {
		panic(unread{err})
	}
	p.of.keep(p, in)
	return in
}

// check checks everything that reading a tile relies on: that it lies in the chunk, that its slots have all
// of its entries, and that codes are in its dictionary. The widths were checked with the directory.
func (r *Ref) check(page int, c *Chunk) {
	data := c[r.At:]
	size := r.Size(data)
	if size < 0 || size+Slack > len(data) {
		Fail("page %d, byte %d: %d bytes", page, r.At, size)
	}
	own, n := *r, 0
	own.in, own.Flags = unsafe.Pointer(c), r.Flags&^Apart
	var t Tile
	t.Open(&own)
	for rank := range bits.OnesCount64(r.Mask) {
		count := t.Count(rank)
		if n += count; count == 0 {
			n = MostEntries + 1
		}
	}
	if n != t.N {
		Fail("page %d, byte %d: slots do not have %d entries", page, r.At, t.N)
	}
	if t.Flags&Dictionary == 0 {
		return
	}
	codes, words, first := t.Codes(), uint64(binary.LittleEndian.Uint16(data[HeadWords:])), uint64(t.Flags&Nulls)
	for i := range t.N {
		if code := c.UnpackWide(codes.At, i, codes.Width); code >= words+first {
			Fail("page %d, byte %d: entry %d has word %d of %d", page, r.At, i, code, words)
		}
	}
}

// Place returns the page of a tile that is apart, and the tile's offset there.
func (r *Ref) Place() (number, at int) { return (*page)(r.in).number, int(r.At) }

// Put gives a tile its place in a written page. It reports whether there is such a page. A page has at most
// one tile in each 16 bytes; taken has a bit for each used place.
func (p *Pages) Put(r *Ref, page, at uint64, taken map[uint64]bool) bool {
	place := page*(ChunkBytes/16) + at/16
	if page >= uint64(len(p.list)) || at > ChunkBytes-HeaderSize || taken[place] {
		return false
	}
	taken[place] = true
	r.place(p.list[page], int(at))
	return true
}
