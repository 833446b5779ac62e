package columnstore

import (
	"sync/atomic"
	"time"
)

// counters counts what maintenance did since Open.
type counters struct {
	splits, compactions, discarded, rewrittenRows atomic.Int64
}

func (c *counters) count(published bool, children, rows int) {
	switch {
	case !published:
		c.discarded.Add(1)
		return
	case children > 1:
		c.splits.Add(1)
	default:
		c.compactions.Add(1)
	}
	c.rewrittenRows.Add(int64(rows))
}

// Stats is what a store holds and did. Sizes are bytes on the heap by the
// store's own accounting.
type Stats struct {
	Rows     int64 // committed and kept
	Series   int   // distinct series of each time bucket, summed
	Stacks   int   // distinct lists per generation, summed
	Granules int
	Parts    int
	Oldest   time.Time // start of the oldest time bucket with rows; zero if none

	PartBytes    int64 // encoded rows, and the index over them
	SeriesBytes  int64 // dictionaries of series and strings
	StackBytes   int64 // dictionaries of lists and their elements
	RecordBytes  int64 // what is kept beside elements: symbols
	HistoryBytes int64 // interval histories, as of the last transaction on each
	PinnedBytes  int64 // what only snapshots and reads under way hold
	PendingBytes int64 // open transactions, inserts and rewrites under way

	Splits        int64 // rewrites that made several granules of one
	Compactions   int64 // rewrites that made one of one
	Discarded     int64 // rewrites that found their granule changed
	RewrittenRows int64 // rows that rewrites went through
	DroppedRows   int64 // rows that retention dropped
	EvictedRows   int64 // rows that went because of the memory budget
	Expired       int64 // snapshots that expired because of it
}

// Bytes returns all bytes that the store holds: what MemoryBudget bounds.
func (s Stats) Bytes() int64 {
	return s.PartBytes + s.SeriesBytes + s.StackBytes + s.RecordBytes + s.HistoryBytes + s.PinnedBytes + s.PendingBytes
}

// WriteAmplification returns how often a committed row was written: once, and
// again by each rewrite. 0 without rows.
func (s Stats) WriteAmplification() float64 {
	committed := s.Rows + s.DroppedRows + s.EvictedRows
	if committed == 0 {
		return 0
	}
	return float64(committed+s.RewrittenRows) / float64(committed)
}

// Stats describes the current state over all tables. It walks all granules: for
// a report or a scrape, not for every insert.
func (s *Store) Stats() Stats {
	s.log.Sweep()
	root := s.log.Root().State
	out := Stats{
		PartBytes:     root.bytes,
		HistoryBytes:  s.memory.histories.Load(),
		PinnedBytes:   s.log.Held(),
		PendingBytes:  s.memory.pending.Load(),
		Splits:        s.counters.splits.Load(),
		Compactions:   s.counters.compactions.Load(),
		Discarded:     s.counters.discarded.Load(),
		RewrittenRows: s.counters.rewrittenRows.Load(),
		Expired:       s.log.Expired(),
	}
	for _, t := range s.tablesInOrder() {
		state := root.table(t.ordinal)
		if state == nil {
			continue // made since
		}
		out.Rows += state.rows
		out.DroppedRows += state.dropped
		out.EvictedRows += state.evicted
		for _, g := range state.granules.All() {
			out.Granules++
			out.Parts += g.Parts()
		}
		for _, b := range state.buckets.All() {
			b.series.all(func(uint32) { out.Series++ })
		}
		if b, ok := state.oldest(); ok && t.schema.BucketColumn() >= 0 {
			if start := time.Unix(0, b.start); out.Oldest.IsZero() || start.Before(out.Oldest) {
				out.Oldest = start
			}
		}
		t.addGenerations(&out)
	}
	return out
}

func (t *Table) addGenerations(out *Stats) {
	t.generations.Lock()
	defer t.generations.Unlock()
	for _, g := range t.generations.byNumber {
		lists, records := g.Lists.Size()
		out.Stacks += g.Lists.Len()
		out.SeriesBytes += int64(g.Series.Size() + g.Strings.Size() + g.UUIDs.Size())
		out.StackBytes += int64(lists)
		out.RecordBytes += int64(records)
	}
}
