package names

import (
	"math"
	"unsafe"

	"github.com/granarydb/granary/internal/fields"
)

// ahead reads the attributes of an image in front of the reader that adds them, and loads the memory that the writer will look at,
// because the processor then waits for several cache misses at once. It changes nothing.
type ahead struct {
	fields.Reader
	t       *Tree
	next, n uint32
	loaded  uint32 // without meaning
}

// Ahead makes room for the attributes of an image, at which a reader is, in a new tree. Its To is called before each of
// them is added. Only the writer may use it.
func (t *Tree) Ahead(at fields.Reader, attributes int) *ahead {
	t.reserve(attributes)
	return &ahead{Reader: at, t: t, n: uint32(attributes)}
}

// lookahead is the number of attributes between the attribute that is added and the attribute whose memory is loaded.
const lookahead = 8

// To goes on, up to lookahead attributes behind next, which is to be added.
func (a *ahead) To(next uint32) {
	for ; a.next < min(next+lookahead, a.n) && a.Err() == nil; a.next++ {
		parent := a.next + 1 - uint32(a.Uint("parent", uint64(a.next)+1))
		name := a.Text("name", math.MaxInt32)
		a.Uint("place", math.MaxUint64)
		a.load(parent, unsafe.String(unsafe.SliceData(name), len(name)))
	}
}

// load loads the cells of a child of node p, and the state of a name.
func (a *ahead) load(p uint32, name string) {
	texts := &a.t.texts
	hash := texts.hash(name)
	if i := texts.cells.first(uint64(hash)); i != 0 && i <= texts.n {
		a.loaded += texts.states.at(i - 1).hash
	}
	a.loaded += a.t.cells.first(uint64(p)<<32 | uint64(hash))
}
