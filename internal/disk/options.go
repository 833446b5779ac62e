package disk

import "time"

// SyncPolicy is when the log syncs entries. Under each policy a reader after a crash gets a prefix
// of the entries, with those that Log.Sync returned for.
type SyncPolicy uint8

// The policies. They differ in the entries that a crash of the machine can lose. A crash of the
// process alone loses at most those of the last 10 ms, or 256 KiB, and those that were appended
// while a sync was under way.
const (
	// SyncPeriodically syncs each Options.SyncEvery, and when the queue is half full. A crash
	// loses the entries of two periods at most: Log.Reserve waits for older ones.
	SyncPeriodically SyncPolicy = iota
	// SyncEach lets Room.Wait return when the entry is durable. Entries that wait together are
	// synced together. A crash loses nothing that Wait returned for.
	SyncEach
	// SyncNever syncs when the queue is half full or a segment ends, and not by time.
	SyncNever
)

// Options are the options of a log. The zero value is a good choice.
type Options struct {
	Sync SyncPolicy
	// SyncEvery is the period of SyncPeriodically. 0 means a second.
	SyncEvery time.Duration
	// SegmentBytes is the size of a segment; only one that starts with a large entry is larger.
	// There are two at least, of which one is spare. 0 means 64 MiB, the least is 5 KiB.
	SegmentBytes int64
	// QueueBytes bounds the entries that are not durable, in memory, with those that room was
	// reserved for. One entry can be larger. 0 means 16 MiB.
	QueueBytes int64
	// Manual starts no goroutine: Log.Step does its work, and so do Reserve, Wait and Sync where
	// they would have to wait. Reserve returns ErrDisk if that makes no room.
	Manual bool
	// Now is the clock. nil means time.Now.
	Now func() time.Time
}

func (o Options) withDefaults() Options {
	if o.SyncEvery <= 0 {
		o.SyncEvery = time.Second
	}
	if o.SegmentBytes <= 0 {
		o.SegmentBytes = 64 << 20
	}
	o.SegmentBytes = max(o.SegmentBytes, leastSegment)
	if o.QueueBytes <= 0 {
		o.QueueBytes = 16 << 20
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}
