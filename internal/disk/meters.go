package disk

import (
	"cmp"
	"math/bits"
	"sync/atomic"
	"time"
)

// LogStats is a log's work since it was opened.
type LogStats struct {
	Entries int64     // appended
	Bytes   int64     // written to segments; an entry is written again after an error
	Waits   Latencies // waits for room in the queue, or until an entry was durable
	Writes  Latencies // system calls that write to segments, 256 KiB at most unless an entry is longer
	Syncs   Latencies // system calls that make segments durable
	Refusal error     // why entries are refused now; nil if they are not
}

// Latencies is a histogram of durations. Buckets[i] counts calls that took at most [BucketEnd](i) and
// longer than BucketEnd(i-1); the last also counts all longer calls.
type Latencies struct {
	Count    int64
	Sum, Max time.Duration
	Buckets  [latencyBuckets]int64
}

// latencyBuckets is the number of buckets. Each ends at twice the previous end, the last at 7 s, because a
// sync takes 0.1 ms to seconds.
const latencyBuckets = 18

// BucketEnd returns the longest duration in a bucket of [Latencies], except the last.
func BucketEnd(i int) time.Duration { return 50 * time.Microsecond << i }

// BucketOf returns the bucket of [Latencies] for a duration of at least 0.
func BucketOf(took time.Duration) int {
	return min(bits.Len64(uint64(max(0, took-1))/uint64(BucketEnd(0))), latencyBuckets-1)
}

// meter collects latencies. It is safe for concurrent use.
type meter struct {
	sum, max atomic.Int64
	buckets  [latencyBuckets]atomic.Int64
}

// add adds the time from start to end. It adds 0 if the clock was set back.
func (m *meter) add(start, end time.Time) {
	took := max(0, end.Sub(start))
	m.buckets[BucketOf(took)].Add(1)
	m.sum.Add(int64(took))
	for {
		most := m.max.Load()
		if int64(took) <= most || m.max.CompareAndSwap(most, int64(took)) {
			return
		}
	}
}

// latencies returns the histogram. A concurrent add can be counted in part.
func (m *meter) latencies() Latencies {
	out := Latencies{Sum: time.Duration(m.sum.Load()), Max: time.Duration(m.max.Load())}
	for i := range m.buckets {
		out.Buckets[i] = m.buckets[i].Load()
		out.Count += out.Buckets[i]
	}
	return out
}

// meters are a log's meters.
type meters struct {
	now                  func() time.Time
	bytes                atomic.Int64
	waits, writes, syncs meter
}

// measuredFS is an FS whose new files are measured.
type measuredFS struct {
	FS
	*meters
}

// measuredFile is a segment whose calls are measured.
type measuredFile struct {
	File
	*meters
}

// Create implements FS.
func (m measuredFS) Create(name string) (File, error) {
	f, err := m.FS.Create(name)
	if err != nil {
		return nil, err
	}
	return measuredFile{f, m.meters}, nil
}

// WriteAt implements File.
func (m measuredFile) WriteAt(b []byte, offset int64) (int, error) {
	start := m.now()
	n, err := m.File.WriteAt(b, offset)
	m.writes.add(start, m.now())
	m.bytes.Add(int64(n))
	return n, err
}

// Sync implements File.
func (m measuredFile) Sync() error {
	start := m.now()
	err := m.File.Sync()
	m.syncs.add(start, m.now())
	return err
}

// Stats returns the log's work so far. It takes only a lock that is held for moments. A nil Log has done
// none.
func (l *Log) Stats() LogStats {
	if l == nil {
		return LogStats{}
	}
	l.mu.Lock()
	entries, refusal := l.queue.added, cmp.Or(l.failing, l.full)
	l.mu.Unlock()
	if refusal == nil {
		refusal = failed(isHere(l.fs))
	}
	return LogStats{
		Refusal: refusal, Entries: int64(entries), Bytes: l.meters.bytes.Load(),
		Waits: l.meters.waits.latencies(), Writes: l.meters.writes.latencies(), Syncs: l.meters.syncs.latencies(),
	}
}
