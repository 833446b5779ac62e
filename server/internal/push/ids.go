package push

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"sync"
	"time"
)

// IDAge is the least time for which an id is remembered. maxIDs is the number of later ids after which it
// may be forgotten earlier.
const (
	IDAge  = time.Hour
	maxIDs = 1 << 19
)

// ids are the ids of pushes, because a push with an id counts once. An id is claimed, and released when
// the outcome of its push is known. It is safe for concurrent use.
type ids struct {
	now func() time.Time

	mu      sync.Mutex
	done    generations
	pending map[hash]chan struct{} // closed by the release
}

func newIDs(now func() time.Time) *ids {
	return &ids{now: now, pending: map[hash]chan struct{}{}}
}

// claim reports whether a push with the id has to be done. The caller then releases the id. If another
// push with the id is in progress, claim waits for its outcome. A caller that claims several ids must
// claim them in sorted order, because two requests could otherwise wait for each other.
func (d *ids) claim(ctx context.Context, id hash) (bool, error) {
	for {
		other, claimed := d.tryClaim(id)
		if other == nil {
			return claimed, nil
		}
		select {
		case <-other:
		case <-ctx.Done():
			return false, context.Cause(ctx)
		}
	}
}

// tryClaim returns the end of another push with the id, if one is in progress.
func (d *ids) tryClaim(id hash) (other <-chan struct{}, claimed bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.done.turn(d.now, IDAge, maxIDs)
	if d.done.has(id) {
		return nil, false
	}
	if other, busy := d.pending[id]; busy {
		return other, false
	}
	d.pending[id] = make(chan struct{})
	return nil, true
}

// release ends a claim. If the push was committed, its id is remembered. Otherwise another push can claim
// it.
func (d *ids) release(id hash, committed bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if committed {
		d.done.turn(d.now, IDAge, maxIDs)
		d.done.add(id)
	}
	close(d.pending[id])
	delete(d.pending, id)
}

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

// turn begins a generation if the last has reached its age, or its number of hashes. A clock that has gone back, or on
// by the age, is read again: one wrong reading must not forget what was added. The age begins anew if the clock was set back.
func (g *generations) turn(clock func() time.Time, age time.Duration, most int) {
	now := clock()
	past := now.Sub(g.turned)
	if past < 0 || past >= age {
		if again := clock(); again.Sub(g.turned).Abs() < past.Abs() {
			now, past = again, again.Sub(g.turned)
		}
	}
	if past < 0 {
		g.turned, past = now, 0
	}
	if past < age && len(g.recent) < most {
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
