package columnstore

import "sync/atomic"

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
	Rows     int64 // committed
	Series   int   // distinct series of each time bucket, summed
	Stacks   int   // distinct lists per generation, summed
	Granules int
	Parts    int

	PartBytes   int64 // encoded rows
	SeriesBytes int64 // dictionaries of series and strings
	StackBytes  int64 // dictionaries of lists and their elements
	RecordBytes int64 // what is kept beside elements: symbols

	Splits        int64 // rewrites that made several granules of one
	Compactions   int64 // rewrites that made one of one
	Discarded     int64 // rewrites that found their granule changed
	RewrittenRows int64 // rows that rewrites went through
	DroppedRows   int64 // rows that retention dropped
}

// Bytes returns the bytes of the current state. What only open snapshots hold
// is not in it.
func (s Stats) Bytes() int64 { return s.PartBytes + s.SeriesBytes + s.StackBytes + s.RecordBytes }

// Stats describes the current state over all tables. It walks all granules and
// parts: for a report or a scrape, not for every insert.
func (s *Store) Stats() Stats {
	out := Stats{
		Splits:        s.counters.splits.Load(),
		Compactions:   s.counters.compactions.Load(),
		Discarded:     s.counters.discarded.Load(),
		RewrittenRows: s.counters.rewrittenRows.Load(),
	}
	tables := s.tablesInOrder()
	root := s.log.Root().State
	for _, t := range tables {
		state := root.table(t.ordinal)
		out.Rows += state.rows
		out.DroppedRows += state.dropped
		for _, g := range state.granules.All() {
			out.Granules++
			for _, slice := range g.Slices() {
				out.Parts++
				// A part that a split divided is counted by its rows here.
				out.PartBytes += int64(slice.Part.Size()) * int64(slice.Rows()) / int64(max(1, slice.Part.Rows()))
			}
		}
		for _, b := range state.buckets.All() {
			b.series.all(func(uint32) { out.Series++ })
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
