package dictionaries

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/granarydb/granary/granule"
	"github.com/granarydb/granary/internal/entries"
	"github.com/granarydb/granary/internal/files"
	"github.com/granarydb/granary/schema"
)

// DurableGeneration is a generation with its number, and how far the log and files have it. It is safe for
// concurrent use.
type DurableGeneration struct {
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
func (g *DurableGeneration) Unpin() { g.users.Add(-1) }

// Log calls write with what the log has, which write extends. Calls for the same dictionaries follow one
// another.
func (g *DurableGeneration) Log(write func(*Extent) error) error {
	g.logging.Lock()
	defer g.logging.Unlock()
	err := write(&g.logged)
	g.entries.Store(g.logged.Entries)
	return err
}

// entryBytes is about what an entry of a dictionary takes in an image. Mostly it is an element or a list.
const entryBytes = 24

// LogImages calls put with the bodies of log entries (entries.EntryDicts) of what the log does not have yet: images of
// about so many bytes, each of which is good without those behind it. At an error of put the log has what came
// before.
func (g *DurableGeneration) LogImages(table, imageBytes int, put func(body []byte) error) error {
	return g.Log(func(has *Extent) error {
		for to := g.NextWatermark(); has.At != to; {
			next := g.Fit(has.At, to, imageBytes)
			head := entries.DictsHead(table, g.Number, has.Entries+1, entryBytes*(next.Entries()-has.At.Entries()))
			if err := put(g.AppendImageTo(head, has.At, next)); err != nil {
				return err
			}
			*has = Extent{next, has.Entries + 1}
		}
		return nil
	})
}

// Repeat adds the image of a log entry with a number, the next one. The errors are entries.ErrEntry, and those of
// granule.Generation.OpenImage.
func (g *DurableGeneration) Repeat(s *schema.Schema, entry uint64, image []byte) error {
	return g.Log(func(has *Extent) error {
		if entry != has.Entries+1 {
			return fmt.Errorf("%w: entry %d follows entry %d", entries.ErrEntry, entry, has.Entries)
		}
		add, err := g.OpenImage(s, image)
		if err != nil {
			return err
		}
		add()
		*has = Extent{At: g.Watermark(), Entries: entry}
		return nil
	})
}

// Files returns the dictionaries with how far the log and the files have them.
func (g *DurableGeneration) Files() files.Dictionaries {
	g.logging.Lock()
	defer g.logging.Unlock()
	d := files.Dictionaries{Generation: g.Generation, Logged: g.logged.At, Entries: g.logged.Entries}
	if at := g.filed.Load(); at != nil {
		d.Filed = *at
	}
	return d
}

// setFiled makes the dictionaries ones that files have, with so many entries of the log.
func (g *DurableGeneration) setFiled(entries uint64) {
	at := g.Watermark()
	g.logged = Extent{at, entries}
	g.entries.Store(entries)
	g.filed.Store(&at)
}

// isFiled reports whether files have all entries.
func (g *DurableGeneration) isFiled() bool {
	at := g.filed.Load()
	return at != nil && *at == g.Watermark()
}
