package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
)

// LogKind is the kind of a log's segments (FileName).
const LogKind = "log"

// readSegment is a log's segment that is being read.
type readSegment struct {
	header
	size int64 // file size
	end  int64 // end of its entries, as recorded by the next segment; the last segment's size
}

// chain is a log's segments. It follows from their headers, because each records its predecessor, and where
// that ended. A segment without a successor is not part of the log: it was given up before anything in it
// was durable.
type chain struct {
	segments []readSegment // oldest first; bytes behind a segment's end do not count
	blank    []uint64      // newer files without a whole header, newest first
	files    []uint64      // all segment files, in order
	from     uint64        // earlier segments are not part of the log
}

// readChain finds the segments of a store's log, starting at number from.
func readChain(fs FS, store StoreID, from uint64) (*chain, error) {
	files, err := segmentFiles(fs)
	if err != nil {
		return nil, err
	}
	c := &chain{from: from, files: files}
	// The newest whole header is the end of the log, and leads to the rest.
	for _, number := range slices.Backward(c.files) {
		if number < from {
			break
		}
		s, err := readSegmentHeader(fs, store, number)
		if err == nil {
			return c, c.follow(fs, store, s)
		}
		if !errors.Is(err, errNoHeader) {
			return nil, err
		}
		c.blank = append(c.blank, number)
	}
	if from > 0 {
		return nil, &DamagedError{File: FileName(LogKind, from), Reason: "no segment of the log from here on has a header"}
	}
	return c, nil
}

// segmentFiles returns the numbers of all segment files, in order.
func segmentFiles(fs FS) (files []uint64, err error) {
	names, err := fs.List()
	for _, name := range names {
		if kind, number, ok := ParseName(name); ok && kind == LogKind {
			files = append(files, number)
		}
	}
	slices.Sort(files)
	return files, err
}

// follow adds the last segment and all before it.
func (c *chain) follow(fsys FS, store StoreID, s readSegment) error {
	for {
		c.segments = append(c.segments, s)
		before := s.before
		switch {
		case before.number == 0 || before.number < c.from:
			slices.Reverse(c.segments)
			return nil
		case before.number >= s.number || before.end < headerSector:
			return &DamagedError{File: FileName(LogKind, s.number), Reason: fmt.Sprintf("it follows segment %d up to byte %d", before.number, before.end)}
		}
		var err error
		if s, err = readSegmentHeader(fsys, store, before.number); errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNoHeader) {
			return &DamagedError{File: FileName(LogKind, before.number), Reason: err.Error()}
		} else if err != nil {
			return err
		}
		s.end = before.end
	}
}

func readSegmentHeader(fs FS, store StoreID, number uint64) (s readSegment, err error) {
	f, err := fs.Open(FileName(LogKind, number))
	if err != nil {
		return s, err
	}
	defer f.Close()
	if s.header, err = readHeader(f, store, LogKind, number, SegmentVersion); err != nil {
		return s, err
	}
	s.size, err = f.Size()
	s.end = s.size
	return s, err
}
