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

// DurableGeneration is a generation with its number and its progress in the log and in files. It is safe for
// concurrent use.
type DurableGeneration struct {
	*granule.Generation
	Number int64

	counted int64        // bytes in the account; guarded by the set's lock
	users   atomic.Int64 // pins: inserts that can add entries

	logging sync.Mutex
	logged  Extent
	entries atomic.Uint64                     // logged.Entries, because queries do not wait for the log
	filed   atomic.Pointer[granule.Watermark] // end of the entries in files; nil if no file has any
}

// Extent is the prefix of a generation that the log has: the last codes, and the number of log entries.
type Extent struct {
	At      granule.Watermark
	Entries uint64
}

// Unpin releases a pin of Generations.Pin. Each pin is released once.
func (g *DurableGeneration) Unpin() { g.users.Add(-1) }

// Log calls write with the extent that the log has, and write advances it. Calls for one generation are
// serialized, because entries are numbered without gaps.
func (g *DurableGeneration) Log(write func(*Extent) error) error {
	g.logging.Lock()
	defer g.logging.Unlock()
	err := write(&g.logged)
	g.entries.Store(g.logged.Entries)
	return err
}

// entryBytes estimates the bytes of a dictionary entry in an image. Most entries are elements or lists.
const entryBytes = 24

// LogImages calls put with the bodies of log entries (entries.EntryDicts) for the dictionary entries that the log
// lacks: images of about imageBytes bytes. An image is valid without the later images. If put fails, the earlier
// images stay logged.
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

// Repeat replays a log entry: it adds the image of the given entry number, which must be the next number. It
// returns entries.ErrEntry and the errors of granule.Generation.OpenImage.
func (g *DurableGeneration) Repeat(s *schema.Schema, entry uint64, image []byte, version granule.Version) error {
	return g.Log(func(has *Extent) error {
		if entry != has.Entries+1 {
			return fmt.Errorf("%w: entry %d follows entry %d", entries.ErrEntry, entry, has.Entries)
		}
		add, err := g.OpenImage(s, image, version)
		if err != nil {
			return err
		}
		add()
		*has = Extent{At: g.Watermark(), Entries: entry}
		return nil
	})
}

// Files returns the dictionaries with their progress in the log and in files.
func (g *DurableGeneration) Files() files.Dictionaries {
	g.logging.Lock()
	defer g.logging.Unlock()
	d := files.Dictionaries{Generation: g.Generation, Number: g.Number, Logged: g.logged.At, Entries: g.logged.Entries}
	if at := g.filed.Load(); at != nil {
		d.Filed = *at
	}
	return d
}

// setFiled marks all entries as filed and logged, because they were read from files that have the first entries log entries.
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
