package disk

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
)

// SalvageLog is ReadLog for a log that may lack segments or their headers: the reader has the entries
// before the first such segment. It reads an undamaged chain as ReadLog does. In both cases Next ends with
// the error for the first damaged entry. The error is ErrFormat, or comes from the FS.
func SalvageLog(fsys FS, store StoreID, from uint64) (*Reader, error) {
	c, err := readChain(fsys, store, from)
	if _, damaged := errors.AsType[*DamagedError](err); damaged {
		c, err = readForward(fsys, store, from)
	}
	if err != nil {
		return nil, err
	}
	return &Reader{fs: fsys, store: store, chain: c, offset: headerSector}, nil
}

// readForward finds a log's segments up to the first missing one. If several follow one, the newest counts,
// because it has the entries of the others, which were given up.
func readForward(fsys FS, store StoreID, from uint64) (*chain, error) {
	files, err := segmentFiles(fsys)
	if err != nil {
		return nil, err
	}
	after := map[uint64]readSegment{} // by predecessor; 0 for segments that begin the log
	for _, number := range files {
		s, err := readSegmentHeader(fsys, store, number)
		_, damaged := errors.AsType[*DamagedError](err)
		switch {
		case number < from || damaged || errors.Is(err, errNoHeader) || errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return nil, err
		case s.before.number >= number:
			continue // no log has such a header
		}
		before := s.before.number
		if before < from {
			before = 0
		}
		after[before] = s // newer files overwrite older ones
	}
	c := &chain{from: from, files: files}
	for s, ok := after[0]; ok; s, ok = after[s.number] {
		if n := len(c.segments); n > 0 {
			c.segments[n-1].end = s.before.end
		}
		c.segments = append(c.segments, s)
	}
	return c, nil
}

// ReplaceLog replaces all segments by a log with the entries that next returns before io.EOF. It is one
// segment, whose header is written last: before it is durable the log is the old one, and from then on the
// new one. OpenLog removes the old segments. The errors are ErrDisk, and next's; the log is then the old
// one.
func ReplaceLog(fsys FS, store StoreID, next func() (Entry, error)) error {
	files, err := segmentFiles(fsys)
	if err != nil {
		return err
	}
	number := uint64(1)
	if n := len(files); n > 0 {
		number = files[n-1] + 1
	}
	s, err := createSegment(fsys, store, number, headerSector)
	if err != nil {
		return failed(err)
	}
	s.out = bufio.NewWriterSize(io.NewOffsetWriter(s.file, headerSector), bufferSize)
	if err = s.putAll(next); err == nil {
		err = s.sync()
	}
	if err == nil {
		err = s.begin(link{})
	}
	if err == nil {
		err = s.file.Sync()
	}
	if err != nil {
		s.remove(fsys)
		return failed(err)
	}
	return failed(s.file.Close())
}
