package columnstore

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"io"
	"time"

	"github.com/granarydb/granary/internal/disk"
)

// Options are a store's options. The zero value is a good choice.
type Options struct {
	// GranuleRows is the number of rows above which a granule is split. At least 1. 0 means 65,536. With
	// a MemoryBudget it is at most one row per 4 KiB of the budget, because a rewrite needs several times
	// a granule's memory.
	GranuleRows int
	// GranuleBytes is the encoded size above which a granule is split. At least 1. 0 means 4 MiB, or 1/32 of a
	// MemoryBudget if that is less.
	GranuleBytes int
	// FreshParts is the number of parts since the last rewrite at which a granule is compacted, provided that they
	// hold as many rows as the base. At least 2. 0 means 16.
	FreshParts int
	// MaxParts is the number of fresh parts at which a granule is compacted regardless of their rows. At least
	// FreshParts. 0 means 256.
	MaxParts int
	// FutureLimit bounds how far a row's time may be ahead of the clock, in tables with a time bucket. 0 means 10
	// minutes. A negative limit means no limit.
	FutureLimit time.Duration
	// PastLimit bounds how far a row's time may be behind the clock, in tables with a time bucket. 0
	// takes times from 1980 on, or any time if the clock itself is before 1980. That refuses times that
	// are not in nanoseconds: seconds, milliseconds and microseconds since 1970, and missing times, fall
	// into the first weeks of 1970. A negative limit means no limit, for times that are not dates.
	PastLimit time.Duration
	// Retention is how long rows are kept, in tables with a time bucket. A range of the bucket's width is
	// dropped when its end is older than the newest committed row by more than Retention. The clock does
	// not matter, so replays work. A row far in the future would drop everything before it, so
	// FutureLimit refuses such rows. A clock that is set ahead by more than 10 minutes takes them: rows that are
	// ahead of what it showed before drop nothing for a day, in which it can be set right. At least 0. 0 keeps all rows.
	Retention time.Duration
	// MemoryBudget bounds the heap bytes that the store keeps alive. It includes inserts and rewrites in
	// progress, and not what queries allocate. At the bound the oldest time ranges are evicted, or with
	// Dir unloaded, because files have them. The oldest states of histories go too, and the oldest
	// snapshot expires if it holds memory that is needed (ErrSnapshotExpired). If that is not enough,
	// inserts return ErrMemory. Stats has each number, and docs/tuning.md the order of eviction. At least
	// 1 MiB. 0 means no limit.
	MemoryBudget int64
	// BucketRows is the number of rows after which the newest time bucket of a table is cut. Later
	// inserts go to a new bucket if their rows are later than the newest row of the commit that exceeded
	// the number. A negative number means that buckets end by time alone. 0 means 4,096 for each series
	// in the bucket, which is 7 minutes of profiles of 100 rows every 10 seconds, and at least 1,048,576.
	//
	// Rows are sorted by bucket, then by series. A query for a short time therefore reads all rows that
	// its series have in the bucket. In a bucket with 36 million rows of 800 series, a merge of one job's
	// oldest million took eight times as long as in a bucket of their own. More buckets cost memory: 1 %
	// at a million rows, and less at the default. They also cost time: up to a quarter for sums over many
	// buckets, and up to 20 us for each bucket in queries about series.
	//
	// A bucket that was cut and not sealed (Table.Seal) still gets late rows of its time, and rows that
	// were inserted before the cut and committed after it. An ordered scan returns rows by bucket, so
	// within a range of the schema's width a row can come before an earlier row, even of the same series.
	// Retention, eviction and generations use whole ranges and ignore cuts. Only the newest range is cut,
	// and rows with the same time stay together. Only the rows bound the number of buckets. A batch with
	// rows of more than 1,024 buckets is ErrLimit.
	BucketRows int
	// GenerationBuckets is the number of consecutive time ranges that share dictionaries, which are
	// dropped with the last of them. A greater number keeps fewer copies of unchanged values. A smaller
	// number frees changing values sooner. At least 1. 0 means 16, or with Retention a generation of at
	// most a quarter of it.
	GenerationBuckets int
	// Manual leaves maintenance to the caller: no goroutine is started, and the caller must call Maintain or Compact.
	// Inserts help only when memory is short. With a directory, Maintain also writes files when they are due, and
	// commits write the log.
	Manual bool
	// VerifyLists makes inserts compare each list of UUIDs with the stored list that has the same 128-bit
	// hash. It costs about 100 ns per list. An insert fails with dict.ErrCollision if the lists differ.
	VerifyLists bool
	// Now is the clock. nil means time.Now.
	Now func() time.Time
	// Rand is the source of hash seeds. CreateTable and CreateHistory each read 8 bytes. Concurrent calls
	// read concurrently. nil means crypto/rand.
	Rand io.Reader
	// Yield, if set, is called at named points between the steps of inserts, commits, scans and
	// maintenance, outside every lock, for a simulator. It must be safe for concurrent use.
	Yield func(point string)

	// Dir is the directory that makes the store durable. Open creates it and its parents if they are missing. An empty Dir
	// keeps the store in memory only, and Close discards it. One process at a time opens a directory
	// (ErrLocked), or several read it (ReadOnly). It must be on a local file system.
	//
	// Commits go into a log. When the log is large, everything committed goes into files. Open loads
	// both. Rows in files need no memory: after Open, or after a MemoryBudget unloads them, queries read
	// them through a cache, which has at most 256 MiB without a budget. Dropped rows leave the directory
	// when the next files are written.
	Dir string
	// DiskBudget is the number of bytes that the files and the log in Dir may take, A segment of the log
	// takes a 32nd of it, at most 64 MiB. The directory exceeds the budget by at most a segment and the
	// file in progress.
	//
	// From 25/32 of it on, the oldest whole time ranges of all tables are dropped as by Table.DropBefore,
	// until there is room for the next files. Stats.DiskDroppedRows counts their rows. The newest range
	// of a table is dropped only for rows in a later range. Histories stay. From 27/32 on, or with 10/32
	// in the log, commits wait. From 27/32 on, the oldest snapshots that keep files of dropped ranges
	// expire (ErrSnapshotExpired). From 28/32 on, all commits except Table.DropBefore return ErrDisk
	// before anything happens, until there is room. Reads go on.
	//
	// At least 16 MiB. 0 means no limit. It has no effect without Dir or FS, and none with ReadOnly.
	DiskBudget int64
	// FS is a file system to use instead of the directory Dir.
	FS FS
	// ReadOnly opens the directory for reading. Nothing is written there, no space is reserved, and a log
	// that ends amid an entry stays as it is. All writes return ErrReadOnly. Any number of processes can
	// have a directory open for reading, and then no process can open it for writing (ErrLocked). The
	// store shows the moment of Open. Maintenance happens in memory only. Open returns fs.ErrNotExist for
	// a directory without a store.
	ReadOnly bool
	// Sync says when commits are made durable, and so what a crash can lose. The zero value is
	// SyncPeriodically.
	Sync SyncPolicy
	// SyncEvery is the period of SyncPeriodically. 0 means a second.
	SyncEvery time.Duration
	// LogBytes is the size at which files replace the log. It bounds the log that Open must replay: to
	// LogBytes, or to the bytes of the last flush if that is more, and the entries that come while files
	// are written. At least 1. 0 means 64 MiB, or a quarter of a MemoryBudget if that is less.
	LogBytes int64
	// CloseWithin bounds how long Close writes files. Rows that it leaves are in the log, which is durable, and
	// the next Open replays them. 0 means 3 seconds, or no limit with Manual. A negative duration means no limit.
	CloseWithin time.Duration

	// segmentBytes, queueBytes and imageBytes are smaller in simulations. 0 is the default of the log.
	// imageBytes is the size at which new dictionary entries are cut into several images.
	segmentBytes, queueBytes, imageBytes int64
	// stringBytes is the size of a generation's coded strings from which on parts store new ones themselves
	// (granule.Generation.MostStrings). 0 is 64 MiB, or a sixteenth of a MemoryBudget.
	stringBytes int64
	// smallBucket is the size up to which buckets share a file. 0 is 64 KiB, and a negative size shares none.
	smallBucket int64
	// refuse is asked at each reservation of memory, and refuses it. Tests use it to fail each of them. It may be nil.
	refuse    func() bool
	simulated bool // Manual, with a Yield: a goroutine that waits for another waits for ever
}

// setLog sets the sizes of the log. With a memory budget they are shares of it, because entries that are
// not durable, and files in progress, are in memory.
func (o *Options) setLog() {
	share := func(most, part int64) int64 {
		if o.MemoryBudget > 0 {
			return min(most, max(1, o.MemoryBudget/part))
		}
		return most
	}
	segment := min(64<<20, cmp.Or(o.DiskBudget/32, 64<<20))
	o.segmentBytes = cmp.Or(o.segmentBytes, segment)
	if o.LogBytes == 0 {
		o.LogBytes = min(share(64<<20, 4), 4*segment)
	}
	o.LogBytes = o.mostLogged(o.LogBytes)
	if o.queueBytes == 0 {
		o.queueBytes = min(share(16<<20, 16), segment)
	}
	if o.smallBucket == 0 {
		o.smallBucket = 64 << 10
	}
	if o.stringBytes == 0 {
		o.stringBytes = share(64<<20, 16)
	}
	if o.imageBytes == 0 {
		o.imageBytes = share(2<<20, 64) // smaller images compress worse (docs/format/files.md)
	}
}

// mostLogged bounds a size of the log to a quarter of the disk budget.
func (o *Options) mostLogged(bytes int64) int64 {
	if o.DiskBudget > 0 {
		return min(bytes, o.DiskBudget/4)
	}
	return bytes
}

func (o *Options) logOptions() disk.Options {
	return disk.Options{
		Sync: o.Sync, SyncEvery: o.SyncEvery, SegmentBytes: o.segmentBytes, QueueBytes: o.queueBytes,
		Manual: o.Manual, Now: o.Now,
	}
}

// generationBuckets returns the number of consecutive time ranges of a width that share dictionaries.
func (o *Options) generationBuckets(width int64) int64 {
	switch {
	case o.GenerationBuckets > 0:
		return int64(o.GenerationBuckets)
	case o.Retention > 0 && width > 0:
		return min(16, max(1, int64(o.Retention)/4/width))
	}
	return 16
}

// leastBudget is the least memory budget, leastDiskBudget the least disk budget. Simulations lower them.
var leastBudget, leastDiskBudget int64 = 1 << 20, 16 << 20

// withDefaults checks the options and sets defaults.
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
	if o.DiskBudget < 0 || o.DiskBudget > 0 && o.DiskBudget < leastDiskBudget {
		return o, fmt.Errorf("%w: DiskBudget is %d, want 0 or at least %d", ErrOptions, o.DiskBudget, leastDiskBudget)
	}
	if o.LogBytes < 0 || o.SyncEvery < 0 {
		return o, fmt.Errorf("%w: LogBytes is %d, SyncEvery is %v, want at least 0", ErrOptions, o.LogBytes, o.SyncEvery)
	}
	if !disk.IsSync(o.Sync) {
		return o, fmt.Errorf("%w: Sync is %d", ErrOptions, o.Sync)
	}
	if o.ReadOnly && o.FS == nil && o.Dir == "" {
		return o, fmt.Errorf("%w: ReadOnly is set, and there is no Dir", ErrOptions)
	}
	o.setLog()
	if o.FS == nil && o.Dir != "" {
		o.FS = disk.System(o.Dir)
	}
	if o.CloseWithin == 0 && !o.Manual {
		o.CloseWithin = 3 * time.Second
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
	if o.simulated = o.Manual && o.Yield != nil; o.Yield == nil {
		o.Yield = func(string) {}
	}
	return o, nil
}
