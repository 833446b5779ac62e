package columnstore

import (
	"fmt"
	"math"
	"time"
)

// Budgets are the bounds of a store that can change while it is open.
type Budgets struct {
	Memory    int64         // as Options.MemoryBudget
	Disk      int64         // as Options.DiskBudget
	Retention time.Duration // as Options.Retention
}

// Budgets returns the bounds that hold now.
func (s *Store) Budgets() Budgets {
	b := Budgets{Memory: s.memory.budget.Load(), Disk: s.flusher.space.Most(), Retention: time.Duration(s.retention.Load())}
	if b.Disk == math.MaxInt64 {
		b.Disk = 0
	}
	return b
}

// SetBudgets replaces the bounds. What they bound follows soon: memory with the next inserts, files with the next that are
// written, and retention with the next commit to a table. It waits for files that are being written.
//
// Sizes that Open derives from Options.MemoryBudget stay, such as those of granules: a budget for which these are too
// large is refused. A disk budget needs one at Open, because files are counted from then on. If the directory is larger than
// the new one, files are written first: the log, of which they have half, could exceed it and leave no room for them. The errors
// are ErrOptions, ErrClosed, and those of writing files. After an error nothing has changed.
func (s *Store) SetBudgets(b Budgets) error {
	if err := s.writable(); err != nil {
		return err
	}
	const perRow = 1 << 10 // Open takes granules of one row for four times as much
	least := max(leastBudget, int64(s.opts.GranuleRows)*perRow, 8*int64(s.opts.GranuleBytes))
	if s.log != nil {
		least = max(least, 4*s.opts.queueBytes)
	}
	leastDisk := max(leastDiskBudget, 8*s.opts.segmentBytes) // Open takes segments of a thirty-second
	switch {
	case b.Memory < 0 || b.Memory > 0 && b.Memory < least:
		return fmt.Errorf("%w: Memory is %d, want 0 or at least %d, by the sizes of when the store was opened", ErrOptions, b.Memory, least)
	case b.Disk < 0 || b.Disk > 0 && s.flusher.space == nil:
		return fmt.Errorf("%w: Disk is %d, and the store was opened without Options.DiskBudget", ErrOptions, b.Disk)
	case b.Disk > 0 && b.Disk < leastDisk:
		return fmt.Errorf("%w: Disk is %d, want 0 or at least %d, by the sizes of when the store was opened", ErrOptions, b.Disk, leastDisk)
	case b.Retention < 0:
		return fmt.Errorf("%w: Retention is %v", ErrOptions, b.Retention)
	}
	if s.log != nil {
		if !s.flusher.lock() { // a flush gives back what it has reserved
			return ErrClosed
		}
		defer s.flusher.flushing.Unlock()
	}
	if s.flusher.space != nil {
		if b.Disk == 0 {
			b.Disk = math.MaxInt64
		}
		if s.flusher.space.Used() > b.Disk {
			if err := s.flusher.flushWhole(s.filing); err != nil {
				return fmt.Errorf("write files: %w", err)
			}
		}
		s.flusher.space.SetMost(b.Disk)
		s.flusher.stuck.Store(0)
		s.flusher.bindLog(s.flusher.bound.Load())
	}
	s.memory.bound(b.Memory)
	s.retention.Store(int64(b.Retention))
	s.flusher.look(s.memory.isTight())
	return nil
}

// bound sets the budget, and the room for filing, which is a part of it. No flush runs.
func (a *account) bound(budget int64) {
	a.budget.Store(budget)
	if a.store.opts.FS != nil && !a.store.opts.ReadOnly {
		filing := budget / filingShare
		a.log.Add(filing - a.filing.Swap(filing))
	}
}
