package disk

import (
	"context"
	"math"
	"sync/atomic"
)

// Prepared is an entry that has room in a log, before and after it is appended. The zero Prepared, for a
// store without a log, does nothing. It belongs to one goroutine.
type Prepared struct {
	log   *Log
	room  *Room
	count *atomic.Int64
	kind  uint32
	body  []byte
}

// Prepare returns an entry that has room in the log. Append adds the bytes of its body to count. It returns
// the errors of Reserve.
func (l *Log) Prepare(kind uint32, body []byte, urgent bool, count *atomic.Int64) (Prepared, error) {
	room, err := l.Reserve(context.Background(), int64(len(body)), urgent)
	if err != nil {
		return Prepared{}, err
	}
	return Prepared{l, room, count, kind, body}, nil
}

// Body returns the body, which may be changed before Append; nil for the zero Prepared.
func (p *Prepared) Body() []byte { return p.body }

// Append puts the entry into the log's queue (Room.Append). The ids are 0 for entries that belong to no commit.
func (p *Prepared) Append(begin, commit uint64) {
	if p.room != nil {
		p.room.Append(Entry{Kind: p.kind, Commit: commit, Begin: begin, Body: p.body})
		p.count.Add(int64(len(p.body)))
	}
}

// Done gives the room back if the entry was not appended, and drops the entry.
func (p *Prepared) Done() {
	if p.room != nil {
		p.room.Release()
	}
	*p = Prepared{}
}

// Wait waits for the entry as the policy requires. The error is ErrNotDurable.
func (p *Prepared) Wait() error {
	if p.room == nil {
		return nil
	}
	return p.room.Wait(context.Background())
}

// Sync waits until the entry is durable, whatever the policy. The error is ErrNotDurable.
func (p *Prepared) Sync() error {
	if p.log == nil {
		return nil
	}
	return p.log.Sync(context.Background(), math.MaxUint64)
}
