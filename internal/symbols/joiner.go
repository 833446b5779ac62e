package symbols

import (
	"math/rand/v2"

	"github.com/google/uuid"
	"github.com/zeebo/xxh3"
)

// Joiner gives the stacks of several answers its own codes, from 0 up. Stacks with equal locations have one
// code. It identifies a stack by the 128-bit xxh3 of its locations, keyed by a random seed, as the store
// does. A Joiner belongs to one goroutine.
type Joiner struct {
	joined *Resolver
	index  map[xxh3.Uint128]uint32
	seed   uint64

	ids   []uuid.UUID // scratch
	bytes []byte
}

// NewJoiner returns a joiner without stacks, with room for `stacks` stacks.
func NewJoiner(stacks int) *Joiner {
	j := &Joiner{joined: newResolver(nil, nil, nil), index: make(map[xxh3.Uint128]uint32, stacks), seed: rand.Uint64()}
	j.joined.refs = []stackRef{}
	return j
}

// Add adds an answer's symbols. All answers must leave out the same frames. The returned function adds a
// stack of the answer and returns its code in the joiner.
func (j *Joiner) Add(from *Resolver) func(code uint32) uint32 {
	base := uint32(len(j.joined.lists))
	j.joined.lists = append(j.joined.lists, from.lists...)
	if from.filter != nil {
		j.joined.filter = from.filter.again()
	}
	return func(code uint32) uint32 {
		j.ids = from.IDs(j.ids[:0], code)
		j.bytes = j.bytes[:0]
		for k := range j.ids {
			j.bytes = append(j.bytes, j.ids[k][:]...)
		}
		hash := xxh3.Hash128Seed(j.bytes, j.seed)
		at, known := j.index[hash]
		if !known {
			at = uint32(len(j.joined.refs))
			j.index[hash] = at
			ref := from.ref(code)
			j.joined.refs = append(j.joined.refs, stackRef{base + ref.lists, ref.code})
		}
		return at
	}
}

// Joined returns the symbols of the joiner's stacks. The joiner takes no more stacks.
func (j *Joiner) Joined() *Resolver {
	j.joined.stacks = make([]uint32, len(j.joined.refs))
	for i := range j.joined.stacks {
		j.joined.stacks[i] = uint32(i)
	}
	return j.joined
}
