package push

import (
	"crypto/sha256"
	"encoding/binary"
	"time"
)

// hash stands for texts in a set.
type hash [16]byte

// hashOf returns the hash of a list of texts.
func hashOf(texts ...string) hash {
	h, size := sha256.New(), make([]byte, 0, 8)
	for _, t := range texts {
		_, _ = h.Write(binary.LittleEndian.AppendUint64(size, uint64(len(t))))
		_, _ = h.Write([]byte(t))
	}
	return hash(h.Sum(nil)[:16])
}

// generations is a set of hashes that forgets hashes that were not added for one to two times a
// generation's age. It is not safe for concurrent use.
type generations struct {
	recent, older map[hash]struct{}
	turned        time.Time // when recent began
}

// turn begins a generation if the last has reached its age, or its number of hashes.
func (g *generations) turn(now time.Time, age time.Duration, most int) {
	past := now.Sub(g.turned)
	if past >= 0 && past < age && len(g.recent) < most {
		return
	}
	g.older, g.recent, g.turned = g.recent, map[hash]struct{}{}, now
	if past >= 2*age {
		g.older = nil
	}
}

func (g *generations) has(h hash) bool {
	_, recent := g.recent[h]
	_, older := g.older[h]
	return recent || older
}

// add adds a hash to the last generation.
func (g *generations) add(h hash) {
	delete(g.older, h)
	g.recent[h] = struct{}{}
}

func (g *generations) remove(h hash) {
	delete(g.older, h)
	delete(g.recent, h)
}

func (g *generations) len() int { return len(g.recent) + len(g.older) }
