package columnstore

// Stats describes the current state of all tables. It visits all granules, so it is for reports and
// scrapes, not for every insert. With a directory it asks for each file's size.
func (s *Store) Stats() Stats {
	s.roots.Sweep()
	root := s.roots.Root().State
	out := Stats{
		MemoryBudget: s.memory.budget.Load(), DiskBudget: s.Budgets().Disk,
		PartBytes:       root.Bytes,
		HistoryBytes:    s.memory.histories.Load(),
		CacheBytes:      s.cache.Bytes(),
		PinnedBytes:     s.roots.Pinned(),
		PendingBytes:    s.memory.pending.Load() + s.memory.log.Load(),
		Splits:          s.counters.splits.Load(),
		Compactions:     s.counters.compactions.Load(),
		Discarded:       s.counters.discarded.Load(),
		RewrittenRows:   s.counters.rewrittenRows.Load(),
		EvictedStates:   s.counters.evictedStates.Load(),
		Expired:         s.roots.Expired(),
		DiskDroppedRows: s.counters.diskDropped.Load(),
	}
	out.OldestSnapshot, _ = s.roots.Oldest()
	for _, t := range s.Tables() {
		state := root.Table(t.ordinal)
		if state == nil {
			continue // created since the root
		}
		out.addTable(t.name, state)
		out.addDictionaries(t.generations)
	}
	s.addDisk(&out)
	return out
}

// Stats is Store.Stats for one table. DiskBudget is TableLimits.FileBytes. Files and FileBytes are those of rows, without
// dictionaries. The numbers that tables share are 0, such as the memory budget, histories, the log and the maintenance.
// It visits the granules and the buckets of the table, and asks the file system for nothing.
func (t *Table) Stats() Stats {
	var out Stats
	if l := t.limits.Load(); l != nil {
		out.DiskBudget = l.FileBytes
	}
	if state := t.state(); state != nil {
		out.addTable(t.name, state)
		out.PartBytes = state.Bytes
		out.addDictionaries(t.generations)
	}
	out.Files, out.FileBytes = t.rowFiles()
	return out
}

// rowFiles returns the number and the bytes of the files that have the table's rows.
func (t *Table) rowFiles() (n int, bytes int64) {
	if files := t.files.Load(); files != nil {
		for _, b := range files.Buckets {
			n, bytes = n+1, bytes+b.Bytes
		}
	}
	return n, bytes
}

// addDisk adds the directory's numbers.
func (s *Store) addDisk(out *Stats) {
	if s.opts.FS == nil {
		return
	}
	out.Log = s.log.Stats()
	out.addDirectory(s.opts.FS, s.segments())
	if err := s.flusher.failing.Load(); err != nil {
		out.FlushError = *err
	}
}
