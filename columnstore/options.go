package columnstore

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"io"
	"time"
)

// Options configures a store. The zero value is a good choice.
type Options struct {
	// GranuleRows is the number of rows above which a granule is split.
	// 0 means 65,536, or with a MemoryBudget one for each 4 KiB of it if that is
	// less, since a rewrite needs room for a granule several times; at least 1.
	GranuleRows int
	// GranuleBytes is the encoded size above which a granule is split.
	// 0 means 4 MiB, or 1/32 of a MemoryBudget if that is less; at least 1.
	GranuleBytes int
	// FreshParts is the number of parts since the last rewrite at which a
	// granule is compacted, once they hold as many rows as the base.
	// 0 means 16; at least 2.
	FreshParts int
	// MaxParts is the number of fresh parts at which a granule is compacted
	// whatever they hold. 0 means 256; at least FreshParts.
	MaxParts int
	// FutureLimit is how far ahead of the clock a row's time may be, in
	// tables with a time bucket. 0 means 10 minutes; negative, no limit.
	FutureLimit time.Duration
	// Retention is how long rows are kept, in tables with a time bucket: a range
	// of the bucket's width is dropped when all of it is older than the newest committed row
	// by more than this. Data time decides, so replays work; a row far in the
	// future would drop what is before it, and FutureLimit keeps it out.
	// 0 means for ever; at least 0.
	Retention time.Duration
	// MemoryBudget is the number of bytes that the store may keep alive on the
	// heap: rows, dictionaries, symbols, what only snapshots hold, and what is
	// being inserted or rewritten; not what queries allocate and hand out.
	//
	// From 15/16 of it on, the oldest time buckets are evicted, over all tables, those of a
	// range of the width together, but never the newest of a table, unless rows of a newer
	// one come. When snapshots hold so much that this would free nothing, the oldest snapshot expires
	// (ErrSnapshotExpired), at the latest when old ones hold half of the budget; one
	// that began since the newest bucket but one did expires only if what was evicted
	// under it cannot wait. If that is not enough, inserts get ErrMemory. From 14/16
	// on, inserts help with maintenance. Stats says what went.
	// 0 means no limit; at least 1 MiB.
	MemoryBudget int64
	// BucketRows is the number of rows after which the newest time bucket of a table
	// ends before its time: rows that are inserted from then on, and are later than the
	// newest of the commit that was one too many, are of a new bucket.
	//
	// Rows are sorted by bucket, then by series. So a question about little of a bucket's
	// time goes through all rows that its series have in the bucket, and beside a writer at
	// full speed these become many: of 36 million rows of 800 series in a bucket, a merge of
	// one job's oldest million took eight times as long as when they were alone. More buckets
	// cost memory, 1 byte in 100 at a million rows and less at the default; time for sums over
	// many of them, up to a quarter; and up to 20 us each for what is asked of series.
	//
	// A bucket that was cut still gets the late rows of its time, and so those that were
	// inserted before the cut and are committed after it. So an ordered scan, which is by
	// bucket, can have rows of one range of the schema's width before earlier ones, of the
	// same series too. Retention, eviction and generations are by whole ranges: cuts
	// change nothing about what they drop. A range older than the newest is not cut, nor
	// are rows of one time.
	// Nothing but the rows bounds how many buckets there are; a batch with rows of more
	// than 1,024 of them is ErrLimit.
	// 0 means 4,096 for each series that the bucket has, which is 7 minutes of profiles of 100
	// rows every 10 seconds, and at least 1,048,576. Negative, buckets end by time alone.
	BucketRows int
	// GenerationBuckets is how many consecutive time buckets share their
	// dictionaries, which are dropped with the last of them: more keep fewer
	// copies of what stays the same, fewer give back sooner what does not.
	// 0 means 16, or with Retention so many that a generation is at most a quarter
	// of it; at least 1.
	GenerationBuckets int
	// Manual leaves maintenance to the caller: no goroutine is started, and
	// Maintain or Compact must be called. Only when the memory budget gets short do
	// inserts help.
	Manual bool
	// VerifyLists has inserts compare each list of UUIDs that is found by its 128-bit
	// hash with the one that is there, for about 100 ns each, and fail with
	// encoding.ErrCollision if they differ. It is for those who doubt the hash.
	VerifyLists bool
	// Now is the clock. nil means time.Now.
	Now func() time.Time
	// Rand is where hash seeds come from; CreateTable reads 8 bytes of it,
	// one call at a time. nil means crypto/rand.
	Rand io.Reader
	// Yield, if set, is called at named points between the steps of inserts,
	// commits, scans and maintenance, outside of every lock. A simulator
	// switches tasks there. It must be safe for concurrent use.
	Yield func(point string)
}

// generationBuckets returns how many buckets of a width share their dictionaries.
func (o *Options) generationBuckets(width int64) int64 {
	switch {
	case o.GenerationBuckets > 0:
		return int64(o.GenerationBuckets)
	case o.Retention > 0:
		return min(16, max(1, int64(o.Retention)/4/width))
	}
	return 16
}

// leastBudget is the least memory budget. The simulator has smaller ones.
var leastBudget int64 = 1 << 20

// withDefaults checks the options and fills in what is zero.
func (o Options) withDefaults() (Options, error) {
	check := func(name string, value *int, zero, least int) error {
		if *value == 0 {
			*value = zero
		}
		if *value < least {
			return fmt.Errorf("%w: %s is %d, want at least %d", ErrOptions, name, *value, least)
		}
		return nil
	}
	granuleRows, granuleBytes := 64<<10, 4<<20
	if o.MemoryBudget > 0 {
		granuleRows = int(min(64<<10, max(1, o.MemoryBudget>>12)))
		granuleBytes = int(min(4<<20, max(1, o.MemoryBudget>>5)))
	}
	err := cmp.Or(
		check("GranuleRows", &o.GranuleRows, granuleRows, 1),
		check("GranuleBytes", &o.GranuleBytes, granuleBytes, 1),
		check("FreshParts", &o.FreshParts, 16, 2),
	)
	if err == nil {
		err = check("MaxParts", &o.MaxParts, max(256, o.FreshParts), o.FreshParts)
	}
	if err != nil {
		return o, err
	}
	if o.Retention < 0 {
		return o, fmt.Errorf("%w: Retention is %v, want at least 0", ErrOptions, o.Retention)
	}
	if o.GenerationBuckets < 0 {
		return o, fmt.Errorf("%w: GenerationBuckets is %d, want at least 0", ErrOptions, o.GenerationBuckets)
	}
	if o.MemoryBudget < 0 || o.MemoryBudget > 0 && o.MemoryBudget < leastBudget {
		return o, fmt.Errorf("%w: MemoryBudget is %d, want 0 or at least %d", ErrOptions, o.MemoryBudget, leastBudget)
	}
	if o.FutureLimit == 0 {
		o.FutureLimit = 10 * time.Minute
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Rand == nil {
		o.Rand = rand.Reader
	}
	if o.Yield == nil {
		o.Yield = func(string) {}
	}
	return o, nil
}
