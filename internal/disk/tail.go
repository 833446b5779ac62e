package disk

import (
	"errors"
	"io"
)

// window is a part of a segment in memory.
type window struct {
	file   File
	name   string
	bytes  []byte
	offset int64 // offset of bytes
	memory []byte
}

// of moves the window to another file.
func (w *window) of(f File, number uint64) {
	w.file, w.name, w.bytes = f, FileName(LogKind, number), nil
}

// read returns n bytes of the file, whose bytes end at end. They are valid until the next call.
func (w *window) read(offset, n, end int64) ([]byte, error) {
	if offset < w.offset || offset+n > w.offset+int64(len(w.bytes)) {
		want := min(max(n, bufferSize), end-offset)
		if int64(len(w.memory)) < want {
			w.memory = make([]byte, want)
		}
		w.bytes = nil
		if _, err := w.file.ReadAt(w.memory[:want], offset); errors.Is(err, io.EOF) {
			return nil, &DamagedError{File: w.name, Offset: offset, Reason: "it becomes shorter while it is read"}
		} else if err != nil {
			return nil, err
		}
		w.bytes, w.offset = w.memory[:want], offset
	}
	b := w.bytes[offset-w.offset:]
	return b[:n:n], nil
}

// seen summarizes the bytes from an offset on.
type seen struct {
	// synced is the greatest offset that a whole entry header records as durable. Bytes before it that
	// are not whole have changed since, because entries are written after the sync that they record.
	synced int64
	commit uint64 // first commit id in a whole header
	end    int64  // end of the last bytes that are not zero
}

// look searches for entry headers. It skips no bytes and reads no bodies, so its time is linear for any
// bytes.
func (w *window) look(seed uint32, offset, end int64) (seen, error) {
	s := seen{end: offset}
	for at := offset; at < end; at += 8 {
		n := min(entryHeader, end-at)
		b, err := w.read(at, n, end)
		if err != nil {
			return s, err
		}
		if first := b[:min(16, n)]; string(first) == string(zeros[:len(first)]) {
			continue // because a kind is not 0
		}
		if word := b[:min(8, n)]; string(word) != string(zeros[:len(word)]) {
			s.end = at + int64(len(word))
		}
		if n < entryHeader {
			continue
		}
		if h, ok := parseHeader(b, seed, at); ok {
			s.synced = max(s.synced, h.synced)
			if s.commit == 0 {
				s.commit = h.entry.Commit
			}
		}
	}
	return s, nil
}
