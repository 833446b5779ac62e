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
	"github.com/granarydb/granary/encoding/dict"
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
	most  int64 // bytes

	mu       sync.RWMutex
	known    map[profile.StackID]uint32 // codes of stacks whose locations are what their ids say
	own      map[ownStack]uint32        // codes of other stacks, by node
	last     int64                      // time of the newest question's rows
	times    []int64                    // times of the questions whose rows are there, ascending
	reserved int64                      // bytes of additions in progress
	uses     int
	left     bool
}

// ownStack is a stack of a node with a location whose id is not the hash of its record: a row that was inserted by ids of another kind, or a
// lie. It is no other node's.
type ownStack struct {
	node string
	id   profile.StackID
}

// questionTime is the distance of two questions' rows: the width of a bucket of the store, which is dropped as a whole.
const questionTime = time.Millisecond

// Memory of what a shelf gets, at most: of a stack with its id, of a member of a stack, of one that is interned, of a location without its
// record, of a row.
const (
	stackBytes    = 120
	memberBytes   = 8
	workBytes     = 28
	locationBytes = 200
	rowBytes      = 64
)

// errFull reports that a shelf has no room.
var errFull = errors.New("no room for the stacks of the nodes' answers")

// newShelf returns an empty shelf. It takes at most `most` bytes of stacks and rows.
func newShelf(most int64) (*shelf, error) {
	const buckets = 1 << 40 // that share the dictionaries: 34 years
	store, err := columnstore.Open(columnstore.Options{Manual: true, BucketRows: -1, GenerationBuckets: buckets, FutureLimit: -1, PastLimit: -1})
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
	return &shelf{db: db, codes: codes, most: most, known: map[profile.StackID]uint32{}, own: map[ownStack]uint32{}}, nil
}

// find sets codes to those of a node's ids, 0 for an id that is not known.
func (h *shelf) find(codes []uint32, node string, ids []profile.StackID) []uint32 {
	h.mu.RLock()
	defer h.mu.RUnlock()
	codes = codes[:0]
	for i := range ids {
		code := h.known[ids[i]]
		if code == 0 && len(h.own) > 0 {
			code = h.own[ownStack{node, ids[i]}]
		}
		codes = append(codes, code)
	}
	return codes
}

// reserve reserves bytes, which the caller gives back. The error is errFull.
func (h *shelf) reserve(bytes int64) (giveBack func(), err error) {
	has := h.db.Store().Stats().Bytes()
	h.mu.Lock()
	defer h.mu.Unlock()
	has += h.idBytes()
	if has+h.reserved+bytes > h.most {
		return nil, fmt.Errorf("%w: %d bytes are wanted, %d of %d are used", errFull, bytes, has+h.reserved, h.most)
	}
	h.reserved += bytes
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.reserved -= bytes
	}, nil
}

// idBytes returns about the memory of the ids. The caller holds mu.
func (h *shelf) idBytes() int64 { return 48*int64(len(h.known)) + 80*int64(len(h.own)) }

// mostMembers bounds the locations that are interned at once, because the store takes several times their memory for that.
const mostMembers = 1 << 14

// add adds the stacks of a node that are there, with their locations. The error is errFull, or from the store.
func (h *shelf) add(node string, ids []profile.StackID, of *profile.StackLocations) error {
	need := int64(0)
	for i := range of.IDs {
		need += locationBytes + 2*int64(len(of.Records[i]))
	}
	members := int64(0)
	for _, stack := range of.Stacks {
		members += int64(len(stack))
	}
	need += stackBytes*int64(len(of.Stacks)) + memberBytes*members + workBytes*min(members, mostMembers)
	giveBack, err := h.reserve(need)
	if err != nil {
		return err
	}
	defer giveBack()
	isOwn := ownIDs(node, of)
	elements, err := h.elements(of)
	if err != nil {
		return err
	}
	codes, err := h.lists(of.Stacks, elements)
	if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, id := range ids {
		switch stack := of.Stacks[i]; {
		case stack == nil:
		case slices.ContainsFunc(stack, func(at uint32) bool { return isOwn[at] }):
			h.own[ownStack{node, id}] = codes[i]
		default:
			h.known[id] = codes[i]
		}
	}
	return nil
}

// ownIDs gives a location whose id is not the hash of its record another one, which no other node can have, and tells which these are.
func ownIDs(node string, of *profile.StackLocations) (isOwn []bool) {
	isOwn = make([]bool, len(of.IDs))
	var text []byte
	for i, id := range of.IDs {
		if len(of.Records[i]) > 0 && dict.IDOfRecord(of.Records[i]) == id {
			continue
		}
		text = append(append(append(text[:0], node...), id[:]...), of.Records[i]...)
		isOwn[i], of.IDs[i] = true, dict.RecordID(text)
	}
	return isOwn
}

// elements returns the codes of locations.
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

// lists returns the codes of stacks, whose members are indexes of elements.
func (h *shelf) lists(stacks [][]uint32, elements []uint32) (codes []uint32, err error) {
	var lists [][]uint32
	members := 0
	for i, stack := range stacks {
		list := make([]uint32, len(stack))
		for k, at := range stack {
			list[k] = elements[at]
		}
		lists = append(lists, list)
		if members += len(list); members < mostMembers && i < len(stacks)-1 {
			continue
		}
		if codes, err = h.codes.Lists(codes, lists); err != nil {
			return nil, err
		}
		lists, members = lists[:0], 0
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

// put inserts rows in one transaction, and returns their time. The caller drops them (drop), unless there is an error: errFull, or from
// the store.
func (h *shelf) put(ctx context.Context, all []shelfRows) (at int64, err error) {
	need := int64(0)
	for i := range all {
		need += 1<<10 + rowBytes*int64(len(all[i].codes))
	}
	giveBack, err := h.reserve(need)
	if err != nil {
		return 0, err
	}
	defer giveBack()
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

// isFull reports whether the stacks take more than half of the shelf's memory.
func (h *shelf) isFull() bool {
	s := h.db.Store().Stats()
	_, until := h.codes.Range()
	h.mu.RLock()
	defer h.mu.RUnlock()
	return 2*(s.StackBytes+s.RecordBytes+s.SeriesBytes+h.idBytes()) > h.most || h.last >= until
}

// shelves lends shelves: the present one, or an empty one in its place. At most two live, of which one is left, or was lent to one question.
// It is safe for concurrent use.
type shelves struct {
	room chan struct{} // has a value for each shelf that lives

	mu      sync.Mutex
	present *shelf
	closed  bool
}

func newShelves() *shelves { return &shelves{room: make(chan struct{}, 2)} }

// take returns the present shelf, or an empty one that only the caller has, of at most `most` bytes. The caller gives it back. It waits for room for a
// new shelf; the error is that of the context, or columnstore.ErrClosed.
func (s *shelves) take(ctx context.Context, most int64, isEmpty bool) (*shelf, error) {
	if !isEmpty {
		if h := s.shared(); h != nil {
			return h, nil
		}
	}
	select {
	case s.room <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	h, isMine, err := s.newOne(most, isEmpty)
	if !isMine {
		<-s.room
	}
	return h, err
}

// newOne returns a new shelf, for which there is room, or the present one that another question made meanwhile, of which isMine is false.
func (s *shelves) newOne(most int64, isEmpty bool) (h *shelf, isMine bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch h = s.present; {
	case s.closed:
		return nil, false, columnstore.ErrClosed
	case h != nil && !isEmpty:
		h.uses++
		return h, false, nil
	}
	if h, err = newShelf(most); err != nil {
		return nil, false, err
	}
	if h.uses++; !isEmpty {
		s.present = h
	}
	return h, true, nil
}

// shared returns the present shelf, if any, for one more question.
func (s *shelves) shared() *shelf {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.present != nil {
		s.present.uses++
	}
	return s.present
}

// give gives a shelf back. A full one is left, and so is the present one with isShort, which had no room for a question. An empty one becomes
// the present one if there is none.
func (s *shelves) give(h *shelf, isShort bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	h.uses--
	switch {
	case s.closed || isShort || h.isFull():
		if s.present == h {
			s.present = nil
		}
		h.left = true
	case s.present == nil && !h.left:
		s.present = h
	case s.present != h:
		h.left = true
	}
	if !h.left || h.uses > 0 {
		return nil
	}
	return s.end(h)
}

// end closes a shelf.
func (s *shelves) end(h *shelf) error {
	<-s.room
	return h.db.Store().Close()
}

// close closes the present shelf once no question uses it. No shelf is lent from then on.
func (s *shelves) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.present
	s.present, s.closed = nil, true
	if h == nil || h.uses > 0 {
		return nil // give closes it
	}
	return s.end(h)
}
