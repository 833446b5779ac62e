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

// Owner is the table that Generations belongs to. Its functions are safe for concurrent use, and call no method
// of Generations, because Account is called under mu.
type Owner struct {
	// New returns empty dictionaries.
	New func() *granule.Generation
	// Read adds the contents of files to empty dictionaries.
	Read func(files.GenerationFiles, *granule.Generation) error
	// Cached returns generation number from the query cache. On a miss it calls read and caches the
	// result.
	Cached func(number int64, read func() (*DurableGeneration, error)) (*DurableGeneration, error)
	// Forget removes generation number from the query cache.
	Forget func(number int64)
	// Reserve reserves memory for dictionaries that become hot again, until release.
	Reserve func(bytes int64) (release func(), err error)
	// Account adds bytes to the memory that the store accounts for.
	Account func(bytes int64)
}

// Generations is a table's dictionaries. It is safe for concurrent use.
//
// Dictionaries are split by time because entries are never removed from a dictionary: rows, log and files
// hold codes, and a code must keep its meaning (D4). With one dictionary for the whole table, values that
// no row has any more would stay forever. With generations, dropping old time ranges frees their
// dictionaries as a whole. The price is a copy of each value in every generation that uses it.
//
// A generation is hot while rows can come. An insert looks up each value, so a hot generation has hash
// tables and is the only object that assigns codes for its number (N1). Two such objects would assign one
// code to two values. That is why acquire decides under mu, and why promote checks again after its read:
// another goroutine may have promoted, extended and filed the generation in the meantime, and the copy from
// files would lack entries.
//
// A hot generation can leave memory (Demote) only if files have all of its entries and no insert has pinned
// it. A pin lasts until rows with the codes are published or given up, because until then no root shows
// that the generation is needed.
//
// Queries need no hash tables and never make a generation hot. They read a copy through the cache. Dropped
// generations keep their files until Forget, because reads of older roots still resolve codes in them.
//
// Lock order: commit lock, then mu. No lock of this package is taken under mu.
type Generations struct {
	owner Owner

	mu     sync.Mutex
	hot    map[int64]*DurableGeneration    // generations that take rows
	files  map[int64]files.GenerationFiles // from the manifest; dropped generations too, until Forget
	recent map[int64]recentlyRead
	first  int64 // earlier ones were dropped
}

// recentlyRead is a generation that was read from files with the first n log entries. The pointer is weak.
// It saves a query from reading the files again for each bucket when the cache has no room for them.
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

// Acquire returns generation number for adding rows, and reports whether the table keeps it. It reads the files
// if the generation is cold. If it was dropped, Acquire returns an empty generation that the table does not keep.
// It returns the errors of Owner.Read and Owner.Reserve.
func (s *Generations) Acquire(number int64) (g *DurableGeneration, kept bool, err error) {
	return s.acquire(number, func(*DurableGeneration) {})
}

// Pin is Acquire for a caller that adds entries. The generation stays hot until Unpin, which the caller calls when
// rows with the codes are published or given up.
func (s *Generations) Pin(number int64) (g *DurableGeneration, kept bool, err error) {
	return s.acquire(number, func(g *DurableGeneration) { g.users.Add(1) })
}

// PinDropped pins a dropped generation, because rows in progress already have its codes.
func (s *Generations) PinDropped(g *DurableGeneration) { g.users.Add(1) }

// acquire is Acquire. It calls use under mu, before Demote can unload the generation.
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

// promote makes a cold generation hot, unless it was dropped.
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
	// Since the read, another goroutine may have promoted, extended and filed the generation.
	if s.hot[number] == nil && number >= s.first && g.entries.Load() >= s.files[number].Entries {
		s.hot[number] = g
	}
	s.mu.Unlock()
	s.owner.Forget(number)
	s.Count(g)
	return nil
}

// Demote makes a generation cold if files have all of its entries and it is not pinned. It returns the generation
// as garbage, because older roots can still hold it. The caller holds the commit lock, and no row in memory of the
// current root needs the generation.
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

// Drop drops all generations before first for good. It returns the hot generations as garbage, and the numbers of
// dropped generations that have files.
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

// forget removes g from the account and returns it as garbage. The caller holds s.mu.
func (s *Generations) forget(g *DurableGeneration) []txn.Garbage {
	s.owner.Account(-g.counted)
	g.counted = 0
	if g.Since() == 0 { // no root has had its parts
		return nil
	}
	return []txn.Garbage{{Since: txn.Version(g.Since()), Bytes: int64(g.Size())}}
}

// Forget forgets a dropped generation's files. Call it when no read needs them any more.
func (s *Generations) Forget(number int64) {
	s.mu.Lock()
	delete(s.files, number)
	delete(s.recent, number)
	s.mu.Unlock()
	s.owner.Forget(number)
}

// Find returns generation number if it is hot, else nil.
func (s *Generations) Find(number int64) *DurableGeneration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hot[number]
}

// All returns the hot generations, sorted by number.
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

// Count updates g's account, if g is still hot.
func (s *Generations) Count(g *DurableGeneration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hot[g.Number] == g {
		size := int64(g.Size())
		s.owner.Account(size - g.counted)
		g.counted = size
	}
}

// Counted returns the bytes in the account for the hot generations whose number satisfies of.
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
