package web

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/granarydb/granary/server/internal/fault"
)

// Room bounds the memory that requests in progress take together. It is safe for concurrent use.
type Room struct {
	what string // for errors, such as "pushes in progress"
	most int64
	hard int64         // greatest number of bytes with the grant that may exceed most; 0 is no bound
	wait time.Duration // greatest time to wait for room

	mu      sync.Mutex
	used    int64
	over    *Grant        // the one grant that may exceed most, because grants that are held would otherwise block each other
	changed chan struct{} // closed when there is more room; nil if nobody waits
}

// NewRoom returns a room of `most` bytes for what is in progress. A grant waits for it for at most `wait`.
func NewRoom(what string, most int64, wait time.Duration) *Room {
	return &Room{what: what, most: most, wait: wait}
}

// Within bounds the room with what one grant exceeds; 0 is no bound. It returns r.
func (r *Room) Within(hard int64) *Room {
	r.hard = hard
	return r
}

// Grant is what a request has of a Room. It belongs to the goroutine of its request. The zero value has no room.
type Grant struct {
	room *Room
	held int64
}

// Grant returns an empty grant.
func (r *Room) Grant() Grant { return Grant{room: r} }

// Held returns the grant's bytes.
func (p *Grant) Held() int64 { return p.held }

// Take adds bytes to a grant when there is room. If no other grant exceeds the room, this one may. A grant without a room
// takes nothing.
func (p *Grant) Take(ctx context.Context, bytes int64) error {
	r := p.room
	if r == nil {
		return nil
	}
	if r.hard > 0 && p.held+bytes > r.hard {
		return fault.TooLarge("%d bytes of memory for %s, at most %d for one", p.held+bytes, r.what, r.hard)
	}
	var late <-chan time.Time
	for {
		changed := r.take(p, bytes)
		if changed == nil {
			return nil
		}
		if late == nil {
			late = time.After(r.wait)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-late:
			return &fault.LimitError{Status: http.StatusServiceUnavailable, Text: fmt.Sprintf("limit: %d bytes of memory for %s; try again", r.most, r.what)}
		}
	}
}

// take adds bytes to a grant and returns nil, or returns a channel that is closed when there is more room.
func (r *Room) take(p *Grant, bytes int64) <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	exceeds := r.hard > 0 && r.used+bytes > r.hard
	if fits := r.used+bytes <= r.most; !fits && (r.over != nil && r.over != p || exceeds) {
		if r.changed == nil {
			r.changed = make(chan struct{})
		}
		return r.changed
	} else if !fits {
		r.over = p
	}
	r.used += bytes
	p.held += bytes
	return nil
}

// Release gives all bytes back.
func (p *Grant) Release() {
	r := p.room
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.used -= p.held
	p.held = 0
	if r.over == p {
		r.over = nil
	}
	if r.changed != nil {
		close(r.changed)
		r.changed = nil
	}
}

// InUse returns the bytes of all grants.
func (r *Room) InUse() float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return float64(r.used)
}
