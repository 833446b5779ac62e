package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
)

// LogKind is the kind of the segments of a log (FileName).
const LogKind = "log"

// readSegment is a segment of a log that is being read.
type readSegment struct {
	header
	size int64 // of the file
	end  int64 // of its entries, as the segment behind it has recorded; of the last, its size
}

// chain is the segments of a log. Their headers make it: each has recorded which one it
// follows, and where that one ended. A segment that no later one follows is not part of the
// log: it was given up before anything in it was durable.
type chain struct {
	segments []readSegment // oldest first; bytes behind the end of one do not count
	blank    []uint64      // newer files without a whole header, newest first
	files    []uint64      // all files of segments, in order
	from     uint64        // the segments before are not of the log
}

// readChain finds the segments of a store's log from a number on.
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

// segmentFiles returns the numbers of all files of segments, in order.
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
	if s.header, err = readHeader(f, store, LogKind, number, format); err != nil {
		return s, err
	}
	s.size, err = f.Size()
	s.end = s.size
	return s, err
}
