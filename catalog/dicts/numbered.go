package dicts

import (
	"sync"
	"sync/atomic"

	"github.com/granarydb/granary/catalog/filed"
	"github.com/granarydb/granary/granule"
)

// Numbered is a generation with its number, and how far the log and files have it. It is safe for
// concurrent use.
type Numbered struct {
	*granule.Generation
	Number int64

	counted int64        // bytes in the account; the set's lock guards it
	users   atomic.Int64 // those who can add entries

	logging sync.Mutex
	logged  Extent
	entries atomic.Uint64                     // of logged, for queries, which do not wait for the log
	filed   atomic.Pointer[granule.Watermark] // of what is in files; nil for nothing
}

// Extent is how much of dictionaries the log has: the last codes, and the number of its entries.
type Extent struct {
	At      granule.Watermark
	Entries uint64
}

// Unpin ends what Generations.Pin began.
func (g *Numbered) Unpin() { g.users.Add(-1) }

// Log calls write with what the log has, which write extends. Calls for the same dictionaries follow one
// another.
func (g *Numbered) Log(write func(*Extent) error) error {
	g.logging.Lock()
	defer g.logging.Unlock()
	err := write(&g.logged)
	g.entries.Store(g.logged.Entries)
	return err
}

// Files returns the dictionaries with how far the log and the files have them.
func (g *Numbered) Files() filed.Dictionaries {
	g.logging.Lock()
	defer g.logging.Unlock()
	d := filed.Dictionaries{Generation: g.Generation, Logged: g.logged.At, Entries: g.logged.Entries}
	if at := g.filed.Load(); at != nil {
		d.Filed = *at
	}
	return d
}

// setFiled makes the dictionaries ones that files have, with so many entries of the log.
func (g *Numbered) setFiled(entries uint64) {
	at := g.Watermark()
	g.logged = Extent{at, entries}
	g.entries.Store(entries)
	g.filed.Store(&at)
}

// isFiled reports whether files have all entries.
func (g *Numbered) isFiled() bool {
	at := g.filed.Load()
	return at != nil && *at == g.Watermark()
}
