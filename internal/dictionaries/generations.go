package dictionaries

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"sync"
	"weak"

	"github.com/granarydb/granary/granule"
	"github.com/granarydb/granary/internal/files"
	"github.com/granarydb/granary/txn"
)

// Owner is what Generations need of the table that it belongs to. Its functions are safe for concurrent use,
// and call no method of the set.
type Owner struct {
	// New returns empty dictionaries.
	New func() *granule.Generation
	// Read adds the contents of files to empty dictionaries.
	Read func(files.GenerationFiles, *granule.Generation) error
	// Cached returns the dictionaries with a number that are kept for queries, or those that read returns.
	Cached func(number int64, read func() (*DurableGeneration, error)) (*DurableGeneration, error)
	// Forget removes dictionaries from those kept for queries.
	Forget func(number int64)
	// Reserve reserves memory for dictionaries that take rows again, until release.
	Reserve func(bytes int64) (release func(), err error)
	// Account adds bytes to the memory that the store accounts for.
	Account func(bytes int64)
}

// Generations is the dictionaries of a table. It is safe for concurrent use. Its lock is behind the commit lock,
// and before none.
type Generations struct {
	owner Owner

	mu     sync.Mutex
	hot    map[int64]*DurableGeneration    // those that take rows
	files  map[int64]files.GenerationFiles // as of the manifest; of dropped ones too, until Forget
	recent map[int64]recentlyRead
	first  int64 // earlier ones were dropped
}

// recentlyRead are dictionaries that were read from files with so many entries of the log. A query that
// found no room in a cache for them still has them, bucket after bucket.
type recentlyRead struct {
	at      weak.Pointer[granule.Generation]
	entries uint64
}

// New returns a set without dictionaries.
func New(owner Owner) *Generations {
	return &Generations{
		owner: owner, hot: map[int64]*DurableGeneration{}, files: map[int64]files.GenerationFiles{}, recent: map[int64]recentlyRead{},
		first: math.MinInt64,
	}
}

// Acquire returns the dictionaries with a number, which rows can be added to, and whether the table keeps
// them. It reads them if they are in files alone. If they were dropped, it returns new ones that the table
// does not keep. The errors are those of Owner.Read and Owner.Reserve.
func (s *Generations) Acquire(number int64) (g *DurableGeneration, kept bool, err error) {
	return s.acquire(number, func(*DurableGeneration) {})
}

// Pin is Acquire for who adds entries, and calls Unpin when rows with the codes are published, or given up.
// The dictionaries stay in memory until then.
func (s *Generations) Pin(number int64) (g *DurableGeneration, kept bool, err error) {
	return s.acquire(number, func(g *DurableGeneration) { g.users.Add(1) })
}

// PinDropped pins dictionaries that were dropped, for codes of before.
func (s *Generations) PinDropped(g *DurableGeneration) { g.users.Add(1) }

// acquire is Acquire that calls use before another goroutine can unload the dictionaries.
func (s *Generations) acquire(number int64, use func(*DurableGeneration)) (g *DurableGeneration, kept bool, err error) {
	for {
		s.mu.Lock()
		g, kept = s.hot[number]
		_, inFiles := s.files[number]
		if !kept {
			kept = number >= s.first
			if kept && inFiles {
				s.mu.Unlock()
				if err := s.promote(number); err != nil {
					return nil, false, err
				}
				continue
			}
			if g = (&DurableGeneration{Generation: s.owner.New(), Number: number}); kept {
				s.hot[number] = g
			}
		}
		use(g)
		s.mu.Unlock()
		return g, kept, nil
	}
}

// promote makes dictionaries that are in files ones that take rows, unless they were dropped.
func (s *Generations) promote(number int64) error {
	g, err := s.Read(number)
	if err != nil {
		return err
	}
	g.Prepare() // an insert looks up each value
	release, err := s.owner.Reserve(int64(g.Size()))
	if err != nil {
		return err
	}
	defer release()
	s.mu.Lock()
	// Others may have had them, added to them and filed them since they were read.
	if s.hot[number] == nil && number >= s.first && g.entries.Load() >= s.files[number].Entries {
		s.hot[number] = g
	}
	s.mu.Unlock()
	s.owner.Forget(number)
	s.Count(g)
	return nil
}

// Demote takes dictionaries out of those that take rows if files have all of them, and nobody has pinned
// them. It returns their garbage: older roots can still have them. The caller holds the commit lock, and
// no row of the current root in memory needs them.
func (s *Generations) Demote(number int64) []txn.Garbage {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.hot[number]
	if g == nil || g.users.Load() > 0 || !g.isFiled() {
		return nil
	}
	delete(s.hot, number)
	return s.forget(g)
}

// Drop drops the dictionaries before a number for good, and returns them as garbage, with the numbers of
// those that have files.
func (s *Generations) Drop(first int64) (garbage []txn.Garbage, inFiles []int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.first
	s.first = first
	for number, g := range s.hot {
		if number < first {
			delete(s.hot, number)
			garbage = append(garbage, s.forget(g)...)
		}
	}
	for number := range s.files {
		if before <= number && number < first {
			inFiles = append(inFiles, number)
		}
	}
	return garbage, inFiles
}

// forget takes dictionaries out of the account, and returns them as garbage. The caller holds s.mu.
func (s *Generations) forget(g *DurableGeneration) []txn.Garbage {
	s.owner.Account(-g.counted)
	g.counted = 0
	if g.Since() == 0 { // no root has had a part of it
		return nil
	}
	return []txn.Garbage{{Since: txn.Version(g.Since()), Bytes: int64(g.Size())}}
}

// Forget forgets the files of dropped dictionaries: no read needs them any more.
func (s *Generations) Forget(number int64) {
	s.mu.Lock()
	delete(s.files, number)
	delete(s.recent, number)
	s.mu.Unlock()
	s.owner.Forget(number)
}

// Find returns the dictionaries with a number that take rows, nil if there are none.
func (s *Generations) Find(number int64) *DurableGeneration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hot[number]
}

// All returns those that take rows, by number.
func (s *Generations) All() []*DurableGeneration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.SortedFunc(maps.Values(s.hot), func(a, b *DurableGeneration) int { return cmp.Compare(a.Number, b.Number) })
}

// First returns the first number that was not dropped.
func (s *Generations) First() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.first
}

// Count updates the account of dictionaries, if they still take rows.
func (s *Generations) Count(g *DurableGeneration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hot[g.Number] == g {
		size := int64(g.Size())
		s.owner.Account(size - g.counted)
		g.counted = size
	}
}

// Counted returns the bytes in the account of those that take rows for which the condition holds.
func (s *Generations) Counted(of func(number int64) bool) (bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for number, g := range s.hot {
		if of(number) {
			bytes += g.counted
		}
	}
	return bytes
}
