package disk

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"sort"
)

// Segment is a file in the log.
type Segment struct {
	Number uint64
	Size   int64  // bytes up to the end of its entries; for the newest, of its durable entries
	Commit uint64 // greatest commit id of its entries, 0 if none has one
}

// Reader reads a log's entries in order. It writes nothing. It belongs to one goroutine.
type Reader struct {
	fs       FS
	store    StoreID
	chain    *chain
	segments []Segment // segments whose reading has begun

	file   File // nil between segments
	window window
	seed   uint32
	offset int64   // offset of the next entry
	synced int64   // greatest durable offset that an entry in the segment has recorded
	starts []int64 // offsets of the entries from synced on
	torn   int64
	commit uint64 // commit id of the last entry that has one
	err    error  // the error that ended the reading
}

// ReadLog returns a reader of a store's log from segment `from` on. If from is 0, the log must
// have all segments ever written, and an empty directory is an empty log. The error is a
// *DamagedError if a segment is missing, ErrFormat, or an error from the FS.
func ReadLog(fs FS, store StoreID, from uint64) (*Reader, error) {
	c, err := readChain(fs, store, from)
	if err != nil {
		return nil, err
	}
	return &Reader{fs: fs, store: store, chain: c, offset: headerSector}, nil
}

// Next returns the next entry. Its body is valid until the next call. The error is io.EOF at the end of the
// log; a *DamagedError if durable entries are missing; or one from the FS. After an error all calls return
// the same.
func (r *Reader) Next() (Entry, error) {
	for r.err == nil {
		if r.file == nil && len(r.segments) == len(r.chain.segments) {
			r.err = r.end()
			break
		}
		e, ok, err := r.next()
		if ok {
			return e, nil
		}
		r.err = err
	}
	r.closeFile()
	return Entry{}, r.err
}

// next returns the segment's next entry. ok is false at the end of the segment.
func (r *Reader) next() (e Entry, ok bool, err error) {
	if r.file == nil {
		return e, false, r.open()
	}
	s := r.segment()
	if r.offset == s.end {
		r.leave()
		return e, false, nil
	}
	end := min(s.end, s.size)
	if end-r.offset < entryHeader {
		return e, false, r.bad("there is no room for an entry")
	}
	b, err := r.window.read(r.offset, entryHeader, end)
	if err != nil {
		return e, false, err
	}
	h, ok := parseHeader(b, r.seed, r.offset)
	size := entrySize(h.length)
	switch {
	case !ok:
		return e, false, r.bad("there is no whole header of an entry")
	case size > end-r.offset:
		return e, false, r.bad(fmt.Sprintf("the entry has %d bytes", size))
	}
	if b, err = r.window.read(r.offset, size, end); err != nil {
		return e, false, err
	}
	if crc(0, b[entryHeader:]) != h.bodySum {
		return e, false, r.bad("the checksum of an entry differs")
	}
	r.note(h.synced)
	r.offset += size
	read := &r.segments[len(r.segments)-1]
	read.Size, read.Commit = r.offset, max(read.Commit, h.entry.Commit)
	if h.entry.Commit > 0 {
		r.commit = h.entry.Commit
	}
	h.entry.Body = b[entryHeader : entryHeader+h.length : entryHeader+h.length]
	return h.entry, true, nil
}

// note handles an entry that records an offset as durable.
func (r *Reader) note(synced int64) {
	r.starts = append(r.starts, r.offset)
	if synced > r.synced {
		r.synced = synced
		r.starts = r.starts[sort.Search(len(r.starts), func(i int) bool { return r.starts[i] >= synced }):]
	}
}

// segment returns the segment being read.
func (r *Reader) segment() *readSegment { return &r.chain.segments[len(r.segments)-1] }

// open opens the next segment.
func (r *Reader) open() (err error) {
	s := &r.chain.segments[len(r.segments)]
	if r.file, err = r.fs.Open(FileName(LogKind, s.number)); err != nil {
		return err
	}
	r.segments = append(r.segments, Segment{Number: s.number, Size: r.offset})
	r.window.of(r.file, s.number)
	r.seed, r.synced, r.starts = s.seed(), 0, r.starts[:0]
	return nil
}

// leave closes the segment.
func (r *Reader) leave() {
	r.closeFile()
	r.offset = headerSector
}

// bad ends the segment, as torn or as damaged, at bytes that are not an entry.
func (r *Reader) bad(reason string) error {
	s := r.segment()
	seen, err := r.window.look(r.seed, r.offset, min(s.end, s.size))
	if err != nil {
		return err
	}
	if len(r.segments) < len(r.chain.segments) || seen.synced > r.offset {
		return &DamagedError{File: FileName(LogKind, s.number), Offset: r.offset, Reason: reason, After: r.commit, Before: seen.commit}
	}
	r.torn += seen.end - r.offset
	r.leave()
	return nil
}

// end examines the files behind the last segment. If one has entries and was durable, its header is
// damaged.
func (r *Reader) end() error {
	for _, number := range slices.Backward(r.chain.blank) {
		seen, err := r.lookAt(number)
		if err != nil {
			return err
		}
		if seen.synced > 0 {
			return &DamagedError{File: FileName(LogKind, number), Reason: errNoHeader.Error(), After: r.commit, Before: seen.commit}
		}
		r.torn += seen.end
	}
	return io.EOF
}

func (r *Reader) lookAt(number uint64) (s seen, err error) {
	f, err := r.fs.Open(FileName(LogKind, number))
	if err != nil {
		return s, err
	}
	defer f.Close()
	size, err := f.Size()
	least := uint32(format)
	if n := len(r.chain.segments); n > 0 {
		least = r.chain.segments[n-1].version // later segments have no older one
	}
	for version := uint32(SegmentVersion); version >= least && err == nil && s.synced == 0; version-- { // no header says which
		h := header{version: version, kind: LogKind, store: r.store, number: number}
		r.window.of(f, number)
		s, err = r.window.look(h.seed(), 0, size)
	}
	return s, err
}

// tail returns a reader of the last segment from the offset on that an entry has recorded as durable. It is
// an error if no entry begins or ends there, because the log could then not be read again.
func (r *Reader) tail() (*Reader, error) {
	last := r.chain.segments[len(r.segments)-1]
	last.end = r.segments[len(r.segments)-1].Size
	isStart := len(r.starts) > 0 && r.starts[0] == r.synced
	if r.synced > headerSector && r.synced != last.end && !isStart {
		return nil, &DamagedError{File: FileName(LogKind, last.number), Offset: r.synced, Reason: "an entry records it as durable, and none begins there"}
	}
	return &Reader{fs: r.fs, store: r.store, chain: &chain{segments: []readSegment{last}}, offset: max(r.synced, headerSector)}, nil
}

// all is Next for the tail, which has no torn end.
func (r *Reader) all() (Entry, error) {
	e, err := r.Next()
	if last := r.chain.segments[0]; errors.Is(err, io.EOF) && r.segments[0].Size != last.end {
		return e, &DamagedError{File: FileName(LogKind, last.number), Offset: r.segments[0].Size, Reason: "there was an entry when the log was read"}
	}
	return e, err
}

// Torn returns the bytes behind the end of the log that a crash left: entries that were not durable yet. It
// is known once Next has returned io.EOF.
func (r *Reader) Torn() int64 { return r.torn }

// Segments returns the segments read so far. The caller owns the slice.
func (r *Reader) Segments() []Segment { return slices.Clone(r.segments) }

// Close ends the reading. It is not needed after Next has returned an error.
func (r *Reader) Close() {
	if r.err == nil {
		r.err = fs.ErrClosed
	}
	r.closeFile()
}

func (r *Reader) closeFile() {
	if r.file != nil {
		_ = r.file.Close()
		r.file = nil
	}
}
