package names

import (
	"math"
	"unsafe"

	"github.com/granarydb/granary/internal/fields"
)

// ahead reads an image's attributes in front of the reader that adds them, and loads the memory that the
// writer will use, because the processor then waits for several cache misses at once. It changes nothing.
type ahead struct {
	fields.Reader
	t       *Tree
	next, n uint32
	loaded  uint32 // keeps the loads; its value has no meaning
}

// Ahead makes room in a new tree for the attributes of an image. at is a reader at the image. To is called
// before each attribute is added. Only the writer may use it.
func (t *Tree) Ahead(at fields.Reader, attributes int) *ahead {
	t.reserve(attributes)
	return &ahead{Reader: at, t: t, n: uint32(attributes)}
}

// lookahead is the distance from the attribute being added to the attribute being loaded.
const lookahead = 8

// To advances to lookahead attributes behind next, the next attribute to add.
func (a *ahead) To(next uint32) {
	for ; a.next < min(next+lookahead, a.n) && a.Err() == nil; a.next++ {
		parent := a.next + 1 - uint32(a.Uint("parent", uint64(a.next)+1))
		name := a.Text("name", math.MaxInt32)
		a.Uint("place", math.MaxUint64)
		a.load(parent, unsafe.String(unsafe.SliceData(name), len(name)))
	}
}

// load loads the cells for a child of node p, and the state of a name.
func (a *ahead) load(p uint32, name string) {
	texts := &a.t.texts
	hash := texts.hash(name)
	if i := texts.cells.first(uint64(hash)); i != 0 && i <= texts.n {
		a.loaded += texts.states.at(i - 1).hash
	}
	a.loaded += a.t.cells.first(uint64(p)<<32 | uint64(hash))
}
