package block

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"sync"
)

// Storage holds blocks: an *os.File or a *Memory. Blocks are read while others are written.
type Storage interface {
	io.ReaderAt
	io.WriterAt
}

// Memory holds blocks in memory, each as it was written, by where they begin. The zero value is empty.
type Memory struct{ blocks sync.Map }

// WriteAt writes one whole block.
func (m *Memory) WriteAt(b []byte, at int64) (int, error) {
	m.blocks.Store(at, bytes.Clone(b))
	return len(b), nil
}

// ReadAt reads from the beginning of a block.
func (m *Memory) ReadAt(b []byte, at int64) (int, error) {
	whole, _ := m.blocks.Load(at)
	written, _ := whole.([]byte) // none of a block that was not written
	n := copy(b, written)
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

// cacheBytes is how much of a file is kept in memory.
const cacheBytes = 256 << 20

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// File is the blocks of one tree. One goroutine may write while others read nodes.
type File struct {
	storage Storage
	Layout

	mu    sync.RWMutex // guards cache
	cache map[uint32]*Node
}

// NewFile returns the file of a new tree. The error is ErrLayout.
func NewFile(storage Storage, l Layout) (*File, error) {
	l, err := l.whole()
	return &File{storage: storage, Layout: l, cache: map[uint32]*Node{}}, err
}

// OpenFile returns the file of a closed tree. The error is ErrDamaged or one of storage.
func OpenFile(storage Storage) (*File, Summary, error) {
	f := &File{storage: storage, cache: map[uint32]*Node{}}
	raw := make([]byte, headSize) // block 0 says how long it is
	if n, err := storage.ReadAt(raw, 0); n < len(raw) {
		return nil, Summary{}, short(0, n, err)
	}
	var h head
	_, err := binary.Decode(raw[4:], u, &h)
	if err == nil {
		f.Layout, err = h.layout()
	}
	if err == nil {
		err = f.read(make([]byte, f.Size), 0)
	}
	return f, h.Summary, err
}

// WriteSummary writes block 0, which makes the tree whole.
func (f *File) WriteSummary(s Summary) error {
	return f.write(make([]byte, f.Size), 0, head{magic, f.Form, uint32(f.Fan), s})
}

// Write writes a node that is whole.
func (f *File) Write(n *Node) error { return f.write(n.raw, n.Number, &n.Header) }

// write writes a block with its checksum and its header.
func (f *File) write(raw []byte, number uint32, header any) error {
	if _, err := binary.Encode(raw[4:], u, header); err != nil {
		return err
	}
	u.PutUint32(raw, crc32.Checksum(raw[4:], castagnoli))
	if _, err := f.storage.WriteAt(raw, int64(number)*int64(f.Size)); err != nil {
		return fmt.Errorf("write block %d: %w", number, err)
	}
	return nil
}

// Node reads a node, which must not be changed. The first read of a block costs its checksum.
func (f *File) Node(number uint32) (*Node, error) {
	f.mu.RLock()
	n := f.cache[number]
	f.mu.RUnlock()
	if n != nil {
		return n, nil
	}
	n = &Node{layout: &f.Layout, raw: make([]byte, f.Size)}
	if err := f.read(n.raw, number); err != nil {
		return nil, err
	}
	if err := n.header(number); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.cache) >= max(1, cacheBytes/f.Size) {
		for old := range f.cache { // any one: the order of maps is random
			delete(f.cache, old)
			break
		}
	}
	f.cache[number] = n
	return n, nil
}

func (f *File) read(raw []byte, number uint32) error {
	if n, err := f.storage.ReadAt(raw, int64(number)*int64(f.Size)); n < len(raw) {
		return short(number, n, err)
	}
	if crc32.Checksum(raw[4:], castagnoli) != u.Uint32(raw) {
		return fmt.Errorf("block %d has a wrong checksum: %w", number, ErrDamaged)
	}
	return nil
}

// short is the error of a block of which only n bytes could be read.
func short(number uint32, n int, err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return fmt.Errorf("block %d has %d bytes: %w", number, n, ErrDamaged)
	}
	return fmt.Errorf("read block %d: %w", number, err)
}
