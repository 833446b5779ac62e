package disk

import (
	"bufio"
	"io"
	"slices"
	"sync/atomic"
)

// writer makes segments, one after the other. It belongs to the current step.
type writer struct {
	fs    FS
	store StoreID
	size  int64         // bytes in a segment
	next  uint64        // number of the next file
	out   *bufio.Writer // for the newest segment

	closed  []Segment // oldest first
	current *segment  // nil after it was given up
	spare   *segment  // the next segment; nil if not made yet
	before  link      // end of the durable entries
	newest  uint64    // segment whose header became durable last
	// superseded are files that leave the log once the current segment is durable.
	superseded []uint64
	below      []uint64 // files before the log's first segment

	segments atomic.Pointer[[]Segment] // segments with a durable header
}

// follow begins a segment behind the log that was read. It copies the entries behind the greatest offset
// that an entry records as durable. That they can be read proves nothing, because the system can fail to
// write a page and keep it in memory. If no entry in the last segment is known to be durable, the new
// segment takes its place.
func (w *writer) follow(r *Reader, fs FS, size int64) error {
	w.fs, w.store, w.size, w.next = fs, r.store, size, 1
	w.out = bufio.NewWriterSize(nil, int(min(bufferSize, size)))
	w.closed = r.Segments()
	lacking, bytes := none, int64(0)
	if n := len(w.closed) - 1; n >= 0 {
		tail, err := r.tail()
		if err != nil {
			return err
		}
		defer tail.Close()
		lacking, bytes = tail.all, w.closed[n].Size-tail.offset
		if r.synced > headerSector {
			w.before, w.closed[n].Size = link{w.closed[n].Number, r.synced}, r.synced
		} else {
			w.before, w.closed = r.chain.segments[n].before, w.closed[:n]
		}
	}
	for _, number := range r.chain.files {
		w.next = number + 1
		switch {
		case number < r.chain.from:
			w.below = append(w.below, number)
		case !slices.ContainsFunc(w.closed, func(s Segment) bool { return s.Number == number }):
			w.superseded = append(w.superseded, number)
		}
	}
	if err := w.begin(bytes, lacking); err != nil {
		return err
	}
	if err := w.sync(); err != nil {
		w.current.remove(w.fs)
		return err
	}
	w.trim(r.chain.segments)
	return nil
}

// trim frees the bytes that killed processes had reserved behind their segments' entries, because each
// start after a kill would otherwise take another segment of the disk. A later segment's header records
// where the entries end.
func (w *writer) trim(read []readSegment) {
	for i, s := range w.closed {
		if s.Size < read[i].size {
			_ = w.fs.Trim(FileName(LogKind, s.Number), s.Size) // nothing depends on it
		}
	}
}

// begin makes a segment with room for `bytes` bytes of entries the current one. It first makes the lacking
// entries durable, which earlier segments may not have, and then writes the header. The header comes last
// because the segment counts from then on: a crash at any time loses no entry.
func (w *writer) begin(bytes int64, lacking func() (Entry, error)) error {
	s, err := w.take(bytes)
	if err != nil {
		return err
	}
	if err = s.putAll(lacking); err == nil && s.offset > headerSector {
		err = s.sync()
		s.synced = 0 // the header is not durable
	}
	if err == nil {
		err = s.begin(w.before)
	}
	if err != nil {
		s.remove(w.fs)
		return err
	}
	w.current = s
	return nil
}

// none yields no lacking entries.
func none() (Entry, error) { return Entry{}, io.EOF }

// take returns a new segment with room for `bytes` bytes of entries.
func (w *writer) take(bytes int64) (*segment, error) {
	s := w.spare
	w.spare = nil
	if s == nil {
		var err error
		if s, err = w.create(); err != nil {
			return nil, err
		}
	}
	if err := s.grow(bytes); err != nil {
		s.remove(w.fs)
		return nil, err
	}
	w.out.Reset(io.NewOffsetWriter(s.file, headerSector))
	s.out = w.out
	return s, nil
}

func (w *writer) create() (*segment, error) {
	w.next++
	return createSegment(w.fs, w.store, w.next-1, w.size)
}

// sync makes the current segment's entries durable.
func (w *writer) sync() error {
	s := w.current
	if err := s.sync(); err != nil {
		return err
	}
	if s.synced > headerSector {
		w.before = link{s.number, s.synced}
	}
	w.newest = s.number
	w.publish()
	w.removeSuperseded(0)
	return nil
}

// removeSuperseded removes superseded files with greater numbers.
func (w *writer) removeSuperseded(above uint64) {
	w.superseded = slices.DeleteFunc(w.superseded, func(number uint64) bool {
		if number > above {
			_ = w.fs.Remove(FileName(LogKind, number)) // if it fails, the next opening of the log removes it
		}
		return number > above
	})
}

// rotate ends the current segment, which is wholly durable, and begins the next one, with room
// for `bytes` bytes.
func (w *writer) rotate(bytes int64) error {
	s := w.current
	w.closed, w.current = append(w.closed, s.segment()), nil
	s.finish()
	w.publish()
	return w.begin(bytes, none)
}

// giveUp abandons the current segment after an error. Its durable entries remain in the log.
func (w *writer) giveUp() {
	s := w.current
	if s == nil {
		return
	}
	w.current = nil
	_ = s.file.Close()
	if s.synced > headerSector {
		w.closed = append(w.closed, s.segment())
	} else {
		w.removeSuperseded(w.newest) // this segment has their entries, and none of them has a durable header
		w.superseded = append(w.superseded, s.number)
	}
	w.publish()
}

// removeBelow removes the segments below number, except the newest durable one.
func (w *writer) removeBelow(number uint64) error {
	if list := *w.segments.Load(); len(list) > 0 {
		number = min(number, list[len(list)-1].Number)
	}
	for len(w.below) > 0 && w.below[0] < number {
		if err := w.fs.Remove(FileName(LogKind, w.below[0])); err != nil {
			return err
		}
		w.below = w.below[1:]
	}
	for len(w.closed) > 0 && w.closed[0].Number < number {
		if err := w.fs.Remove(FileName(LogKind, w.closed[0].Number)); err != nil {
			return err
		}
		w.closed = w.closed[1:]
		w.publish()
	}
	return nil
}

func (w *writer) publish() {
	list := slices.Clone(w.closed)
	if s := w.current; s != nil && s.synced > 0 {
		list = append(list, s.segment())
	}
	w.segments.Store(&list)
}

func (s *segment) segment() Segment { return Segment{s.number, s.synced, s.syncedCommit} }

func (w *writer) close() {
	if w.current != nil {
		w.current.finish()
	}
	if w.spare != nil {
		w.spare.remove(w.fs)
	}
}
