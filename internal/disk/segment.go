package disk

import (
	"bufio"
	"errors"
	"io"
)

// segment is a file being written.
type segment struct {
	header
	sum    uint32 // seed of its entries' checksums
	file   File
	size   int64         // reserved bytes
	out    *bufio.Writer // writes at offset; nil in a spare segment
	offset int64         // offset of the next entry
	synced int64         // durable bytes; 0 if the header is not durable
	commit uint64        // greatest commit id of the entries
	// syncedCommit is the greatest commit id of the durable entries.
	syncedCommit uint64
}

// createSegment makes a file of zeros whose name and size are durable. After an error there is none.
func createSegment(fs FS, store StoreID, number uint64, size int64) (*segment, error) {
	s := &segment{header: header{version: SegmentVersion, kind: LogKind, store: store, number: number}, size: size, offset: headerSector}
	s.sum = s.seed()
	f, err := fs.Create(FileName(LogKind, number))
	if err != nil {
		return nil, err
	}
	s.file = f
	if err = f.Reserve(size); err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = fs.SyncDir()
	}
	if err != nil {
		s.remove(fs)
		return nil, err
	}
	return s, nil
}

// fits reports whether an entry of size bytes fits. The first entry always does.
func (s *segment) fits(size int64) bool { return s.offset == headerSector || s.offset+size <= s.size }

// grow reserves room for `entries` bytes of entries.
func (s *segment) grow(entries int64) error {
	size := s.offset + entries
	if size <= s.size {
		return nil
	}
	if err := s.file.Reserve(size); err != nil {
		return err
	}
	s.size = size
	return nil
}

// put writes an entry, into a buffer.
func (s *segment) put(e *Entry) error {
	s.commit = max(s.commit, e.Commit)
	_, err := s.out.Write(e.appendHeader(s.out.AvailableBuffer(), s.sum, s.offset, s.synced))
	if err == nil {
		_, err = s.out.Write(e.Body)
	}
	if err == nil {
		_, err = s.out.Write(pad(len(e.Body)))
	}
	s.offset += entrySize(int64(len(e.Body)))
	return err
}

// putAll writes the entries that next returns before io.EOF.
func (s *segment) putAll(next func() (Entry, error)) error {
	for {
		e, err := next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = s.put(&e)
		}
		if err != nil {
			return err
		}
	}
}

// begin writes the header.
func (s *segment) begin(before link) error {
	s.before = before
	_, err := s.file.WriteAt(s.encode(), 0)
	return err
}

// sync makes the entries durable. After an error the segment must be given up: the system may have
// dropped the bytes that it could not write, and the next sync would succeed (D7).
func (s *segment) sync() error {
	if s.synced == s.offset {
		return nil
	}
	err := s.out.Flush()
	if err == nil {
		err = s.file.Sync()
	}
	if err == nil {
		s.synced, s.syncedCommit = s.offset, s.commit
	}
	return err
}

// finish closes a durable segment, and frees the rest of its reserved bytes.
func (s *segment) finish() {
	_ = s.file.Reserve(s.offset) // nothing depends on it
	_ = s.file.Close()
}

func (s *segment) remove(fs FS) {
	_ = s.file.Close()
	_ = fs.Remove(FileName(LogKind, s.number)) // if it fails, the next opening of the log removes it
}
