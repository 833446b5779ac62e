package disk

import (
	"time"
)

// SyncPolicy says when the log syncs entries. Under each policy a reader after a crash gets a
// prefix of the entries, which includes each entry that Log.Sync returned for.
type SyncPolicy uint8

// The policies differ in the entries that a crash of the machine can lose. A crash of only the process
// loses at most the entries of the last 10 ms, or 256 KiB, and entries appended during a sync.
const (
	// SyncPeriodically syncs each Options.SyncEvery, and when the queue is half full. A crash loses at
	// most the entries of two periods, because Log.Reserve waits for older ones.
	SyncPeriodically SyncPolicy = iota
	// SyncEach lets Room.Wait return when the entry is durable. Entries that wait together are
	// synced together. A crash loses nothing that Wait returned for.
	SyncEach
	// SyncNever syncs when the queue is half full or a segment ends, and not by time.
	SyncNever
)

// policies describe the policies for people, in their order: a name, and what a crash of the machine loses.
var policies = [...]struct{ name, loses string }{
	{"periodically", "the last two seconds; the default"},
	{"each", "nothing but what is being stored; slower"},
	{"never", "what the system has not written yet"},
}

// SyncNames returns the names of the policies, in their order.
func SyncNames() (names []string) {
	for _, p := range policies {
		names = append(names, p.name)
	}
	return names
}

// IsSync reports whether there is a policy.
func IsSync(p SyncPolicy) bool { return int(p) < len(policies) }

// SyncLoses describes what a crash of the machine loses under a policy.
func SyncLoses(p SyncPolicy) string { return policies[p].loses }

// String returns the name of a policy.
func (p SyncPolicy) String() string {
	if !IsSync(p) {
		return "unknown"
	}
	return policies[p].name
}

// Options configure a log. The zero value is a good choice.
type Options struct {
	Sync SyncPolicy
	// SyncEvery is the period of SyncPeriodically. 0 means a second.
	SyncEvery time.Duration
	// SegmentBytes is a segment's size; only a segment that starts with a large entry is larger. A log
	// has at least two segments, one of them spare. 0 means 64 MiB, the least is 5 KiB.
	SegmentBytes int64
	// QueueBytes bounds the entries in memory that are not durable, and the reserved room. A
	// single entry can be larger. 0 means 16 MiB.
	QueueBytes int64
	// Manual starts no goroutine: Log.Step does its work, and so do Reserve, Wait and Sync where
	// they would have to wait.
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

const (
	// maxBody bounds an entry's bytes, because a reader needs it whole in memory.
	maxBody = 1 << 30
	// leastSegment is the least size of a segment, for tests: a header and a few entries.
	leastSegment = headerSector + 1024
	// bufferSize is the bytes in a read or write. Larger buffers gain nothing on the page cache.
	bufferSize = 256 << 10
	// writeBytes and writeAfter bound the loss if the process dies and the machine does not: an
	// entry is written once it is writeAfter old, or once writeBytes wait.
	writeBytes = 256 << 10
	writeAfter = 10 * time.Millisecond
	// retryAfter is the time between attempts while the disk fails.
	retryAfter = time.Second
)
