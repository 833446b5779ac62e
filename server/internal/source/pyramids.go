package source

import (
	"sync"
	"time"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/history/summary"
)

// pyramids keeps the summaries of recently used histories, so that a page's next query pays only for new
// states. It is safe for concurrent use.
type pyramids struct {
	now func() time.Time

	mu  sync.Mutex
	all map[*columnstore.History]*keptPyramid
}

type keptPyramid struct {
	*summary.Pyramid
	commit uint64
	used   time.Time
}

// take returns a pyramid for the view of a history in a commit. It returns a pyramid without nodes if the
// commit is older than the kept pyramid, or if another query is making one.
func (p *pyramids) take(h *columnstore.History, commit uint64, v *history.View) (*summary.Pyramid, error) {
	if !p.mu.TryLock() {
		return summary.Bare(v), nil
	}
	defer p.mu.Unlock()
	kept := p.all[h]
	switch {
	case kept == nil:
		kept = &keptPyramid{Pyramid: summary.Bare(v)}
	case kept.View() == v:
		kept.used = p.now()
		return kept.Pyramid, nil
	case commit <= kept.commit:
		return summary.Bare(v), nil
	}
	next, err := kept.Extend(v)
	if err != nil {
		return nil, err
	}
	if p.all == nil {
		p.all = map[*columnstore.History]*keptPyramid{}
	}
	p.all[h] = &keptPyramid{Pyramid: next, commit: commit, used: p.now()}
	return next, nil
}

// forget drops the pyramids that have not been used for the time that snapshots are held, because each keeps
// its view in memory.
func (p *pyramids) forget() {
	if !p.mu.TryLock() {
		return
	}
	defer p.mu.Unlock()
	for h, kept := range p.all {
		if p.now().Sub(kept.used) >= HeldTime {
			delete(p.all, h)
		}
	}
}
