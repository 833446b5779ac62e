package fanout

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/schema"
)

// shelf keeps the stacks of nodes' answers in a store in memory, so that later answers name them by their ids. A question puts
// its sums into the store, as rows of a time of its own, and reads them from there.
//
// A shelf is safe for concurrent use. It is closed once it is left (shelves) and no question uses it.
type shelf struct {
	db    *profile.DB
	codes *columnstore.Codes

	mu    sync.RWMutex
	known map[profile.StackID]uint32 // codes of stacks
	last  int64                      // time of the newest question's rows
	times []int64                    // times of the questions whose rows are there, ascending
	uses  int
	left  bool
}

// questionTime is the distance of two questions' rows: the width of a bucket of the store, which is dropped as a whole.
const questionTime = time.Millisecond

// bytesOfID is about the memory of an id in a map, with its code.
const bytesOfID = 40

// newShelf returns an empty shelf. Its store takes at most `bytes` bytes of stacks and rows.
func newShelf(bytes int64) (*shelf, error) {
	const buckets = 1 << 40 // that share the dictionaries: 34 years
	store, err := columnstore.Open(columnstore.Options{
		MemoryBudget: max(bytes, 1<<20), Manual: true, BucketRows: -1, GenerationBuckets: buckets, FutureLimit: -1, PastLimit: -1,
	})
	if err != nil {
		return nil, err
	}
	db, err := profile.Open(store, profile.Options{Bucket: questionTime})
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	codes, err := db.Table().Codes(time.Now().UnixNano())
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return &shelf{db: db, codes: codes, known: map[profile.StackID]uint32{}}, nil
}

// isEmpty reports whether the shelf has no stacks.
func (h *shelf) isEmpty() bool {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return len(h.known) == 0
}

// find sets codes to those of the ids, 0 for an id that is not known.
func (h *shelf) find(codes []uint32, ids []profile.StackID) []uint32 {
	h.mu.RLock()
	defer h.mu.RUnlock()
	codes = codes[:0]
	for i := range ids {
		codes = append(codes, h.known[ids[i]])
	}
	return codes
}

// mostMembers bounds the locations that are interned at once, because the store takes several times their memory for that.
const mostMembers = 1 << 14

// add adds stacks with their locations.
func (h *shelf) add(ids []profile.StackID, of *profile.StackLocations) error {
	elements, err := h.elements(of)
	if err != nil {
		return err
	}
	var codes []uint32
	var lists [][]uint32
	members := 0
	for i, stack := range of.Stacks {
		list := make([]uint32, len(stack))
		for k, at := range stack {
			list[k] = elements[at]
		}
		lists = append(lists, list)
		if members += len(list); members < mostMembers && i < len(of.Stacks)-1 {
			continue
		}
		if codes, err = h.codes.Lists(codes, lists); err != nil {
			return err
		}
		lists, members = lists[:0], 0
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, id := range ids {
		h.known[id] = codes[i]
	}
	return nil
}

// elements returns the codes of locations. One without a record may get it later.
func (h *shelf) elements(of *profile.StackLocations) (codes []uint32, err error) {
	for from := 0; from < len(of.IDs); {
		isBare := len(of.Records[from]) == 0
		to, bytes := from, 0
		for to < len(of.IDs) && (len(of.Records[to]) == 0) == isBare && to-from < mostMembers && bytes < 64*mostMembers {
			bytes += len(of.Records[to])
			to++
		}
		records := of.Records[from:to]
		if isBare {
			records = nil
		}
		if codes, err = h.codes.Elements(codes, of.IDs[from:to], records); err != nil {
			return nil, err
		}
		from = to
	}
	return codes, nil
}

// shelfRows are the rows of a question with one set of labels.
type shelfRows struct {
	labels map[string]string
	typ    profile.Type
	codes  []uint32
	values []int64
}

// put inserts rows in one transaction, and returns their time. The caller drops them (drop), unless there is an error.
func (h *shelf) put(ctx context.Context, all []shelfRows) (at int64, err error) {
	at = h.begin()
	tx := h.db.Store().Begin()
	for _, rows := range all {
		for from := 0; from < len(rows.codes); from += schema.MaxRows {
			to := min(from+schema.MaxRows, len(rows.codes))
			if err := tx.InsertCodes(ctx, h.codes, rows.batch(at, from, to)); err != nil {
				tx.Abort()
				h.drop(at)
				return 0, err
			}
		}
	}
	if _, err := tx.Commit(); err != nil {
		h.drop(at)
		return 0, err
	}
	return at, nil
}

// batch returns some of the rows as a batch.
func (r *shelfRows) batch(at int64, from, to int) schema.Batch {
	period := r.typ.Period
	if period == profile.AnyPeriod {
		period = "" // of whichever the rows are
	}
	b := schema.Batch{Rows: to - from, Columns: map[string]encoding.Vector{
		profile.ColumnSampleType: encoding.Strings(r.typ.Sample), profile.ColumnSampleUnit: encoding.Strings(r.typ.SampleUnit),
		profile.ColumnPeriodType: encoding.Strings(period), profile.ColumnPeriodUnit: encoding.Strings(r.typ.PeriodUnit),
		profile.ColumnTimestamp: encoding.Int64s(at), profile.ColumnDuration: encoding.Int64s(0), profile.ColumnPeriod: encoding.Int64s(0),
		profile.ColumnStacktrace: encoding.ListCodes(r.codes[from:to]...), profile.ColumnValue: encoding.Int64s(r.values[from:to]...),
	}}
	for name, value := range r.labels {
		b.Columns[profile.ColumnLabels+"."+name] = encoding.Strings(value)
	}
	return b
}

// begin returns a time for a question's rows.
func (h *shelf) begin() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now().Truncate(questionTime).UnixNano()
	h.last = max(now, h.last+int64(questionTime))
	h.times = append(h.times, h.last)
	return h.last
}

// drop drops the rows with a time, and older ones that no question uses.
func (h *shelf) drop(at int64) {
	h.mu.Lock()
	h.times = slices.DeleteFunc(h.times, func(other int64) bool { return other == at })
	before := h.last + int64(questionTime)
	if len(h.times) > 0 {
		before = h.times[0]
	}
	h.mu.Unlock()
	_, _ = h.db.Table().DropBefore(context.Background(), before) // rows that stay go with the next
}

// isFull reports whether the stacks take more than half of the store's memory, or rows were evicted for others.
func (h *shelf) isFull() bool {
	h.mu.RLock()
	defer h.mu.RUnlock()
	s := h.db.Store().Stats()
	_, until := h.codes.Range()
	return 2*(s.StackBytes+s.RecordBytes+s.SeriesBytes+bytesOfID*int64(len(h.known))) > s.MemoryBudget || h.last >= until
}

// hasLost returns an error if rows were evicted.
func (h *shelf) hasLost() error {
	if n := h.db.Store().Stats().EvictedRows; n > 0 {
		return fmt.Errorf("%w: %d rows of questions were evicted", columnstore.ErrQueryMemory, n)
	}
	return nil
}

// shelves lends the present shelf, and replaces a full one. The zero value has none. It is safe for concurrent use.
type shelves struct {
	mu      sync.Mutex
	present *shelf
}

// take returns the present shelf, whose store has `bytes` bytes. The caller gives it back.
func (s *shelves) take(bytes int64) (*shelf, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.present == nil {
		h, err := newShelf(bytes)
		if err != nil {
			return nil, err
		}
		s.present = h
	}
	s.present.uses++
	return s.present, nil
}

// give gives a shelf back. isSpoiled replaces it by an empty one.
func (s *shelves) give(h *shelf, isSpoiled bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	h.uses--
	if isSpoiled || h.isFull() {
		s.leave(h)
	}
	if h.left && h.uses == 0 {
		return h.db.Store().Close()
	}
	return nil
}

// leave makes later questions use another shelf. The caller holds mu.
func (s *shelves) leave(h *shelf) {
	if s.present == h {
		s.present = nil
	}
	h.left = true
}

// close closes the present shelf once no question uses it.
func (s *shelves) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.present
	if h == nil {
		return nil
	}
	s.leave(h)
	if h.uses > 0 {
		return nil // give closes it
	}
	return h.db.Store().Close()
}
