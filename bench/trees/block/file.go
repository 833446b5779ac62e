package block

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// Size is the size of a block in bytes, Fan the most children of a node.
const (
	Size = 64 << 10
	Fan  = 50
)

// Errors of trees.
var (
	// ErrDamaged means that a block is cut, changed or not of a tree of this kind.
	ErrDamaged = errors.New("tree is damaged")
	// ErrInterval means that an interval cannot be stored: it ends before it starts or before
	// its predecessor, starts before the tree, or has a value that is too long.
	ErrInterval = errors.New("interval cannot be stored")
	// ErrClosed means that a closed tree was written.
	ErrClosed = errors.New("tree is closed")
)

// Storage holds blocks: an *os.File or a *Memory.
type Storage interface {
	io.ReaderAt
	io.WriterAt
}

// Memory holds blocks in memory. The zero value is empty.
type Memory struct{ blocks []*[Size]byte }

// Bytes returns the size.
func (m *Memory) Bytes() int64 { return int64(len(m.blocks)) * Size }

// WriteAt writes one whole block.
func (m *Memory) WriteAt(b []byte, at int64) (int, error) {
	if len(b) != Size || at < 0 || at%Size != 0 || at/Size > int64(len(m.blocks))+1<<20 {
		return 0, fmt.Errorf("write of %d bytes at %d: not a block", len(b), at)
	}
	for int64(len(m.blocks)) <= at/Size {
		m.blocks = append(m.blocks, new([Size]byte))
	}
	return copy(m.blocks[at/Size][:], b), nil
}

// ReadAt reads within one block.
func (m *Memory) ReadAt(b []byte, at int64) (int, error) {
	if at < 0 || at/Size >= int64(len(m.blocks)) {
		return 0, io.EOF
	}
	n := copy(b, m.blocks[at/Size][at%Size:])
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

// Summary describes a tree.
type Summary struct {
	Root      uint32 // number of the root, 0 in an empty tree
	Nodes     uint32
	Depth     uint32
	Keys      uint32 // the greatest key and one
	Intervals uint64
	Start     int64 // of the history
	End       int64 // the latest end of an interval
}

// Bytes returns the size of the file.
func (s Summary) Bytes() int64 { return (int64(s.Nodes) + 1) * Size }

// CacheBlocks is the number of blocks that a File keeps in memory: 256 MiB.
const CacheBlocks = 4096

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// File is the blocks of one tree.
type File struct {
	storage Storage
	form    Form
	cache   map[uint32]*Node
}

// NewFile returns the file of a tree, with a header of that form.
func NewFile(storage Storage, form Form) *File {
	return &File{storage: storage, form: form, cache: map[uint32]*Node{}}
}

// Form returns the form of headers.
func (f *File) Form() Form { return f.form }

// Write writes a node that is whole.
func (f *File) Write(n *Node) error {
	n.putHeader()
	return f.write(n.raw[:], n.Number())
}

func (f *File) write(raw []byte, number uint32) error {
	binary.LittleEndian.PutUint32(raw, crc32.Checksum(raw[4:], castagnoli))
	if _, err := f.storage.WriteAt(raw, int64(number)*Size); err != nil {
		return fmt.Errorf("write block %d: %w", number, err)
	}
	return nil
}

// Node reads a node, which must not be changed. The first read of a block costs its checksum.
func (f *File) Node(number uint32) (*Node, error) {
	if n := f.cache[number]; n != nil {
		return n, nil
	}
	n := &Node{form: f.form}
	if err := f.read(n.raw[:], number); err != nil {
		return nil, err
	}
	if err := n.header(number); err != nil {
		return nil, err
	}
	if len(f.cache) >= CacheBlocks {
		for old := range f.cache { // any one: the order of maps is random
			delete(f.cache, old)
			break
		}
	}
	f.cache[number] = n
	return n, nil
}

func (f *File) read(raw []byte, number uint32) error {
	if n, err := f.storage.ReadAt(raw, int64(number)*Size); n < Size {
		if err == nil || errors.Is(err, io.EOF) {
			return fmt.Errorf("block %d has %d bytes: %w", number, n, ErrDamaged)
		}
		return fmt.Errorf("read block %d: %w", number, err)
	}
	if crc32.Checksum(raw[4:], castagnoli) != binary.LittleEndian.Uint32(raw) {
		return fmt.Errorf("block %d has a wrong checksum: %w", number, ErrDamaged)
	}
	return nil
}

const magic = "SHTREE1\n"

// WriteSummary writes block 0, which makes the tree whole.
func (f *File) WriteSummary(s Summary) error {
	raw := make([]byte, Size)
	b := append(raw[:4], magic...)
	b = append(b, byte(f.form))
	for _, v := range []uint32{s.Root, s.Nodes, s.Depth, s.Keys} {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	for _, v := range []uint64{s.Intervals, uint64(s.Start), uint64(s.End)} {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	return f.write(raw, 0)
}

// Summary reads block 0.
func (f *File) Summary() (Summary, error) {
	raw := make([]byte, Size)
	if err := f.read(raw, 0); err != nil {
		return Summary{}, err
	}
	if string(raw[4:12]) != magic || Form(raw[12]) != f.form {
		return Summary{}, fmt.Errorf("block 0 is not of a tree of form %d: %w", f.form, ErrDamaged)
	}
	b := raw[13:]
	u := binary.LittleEndian
	s := Summary{
		Root: u.Uint32(b), Nodes: u.Uint32(b[4:]), Depth: u.Uint32(b[8:]), Keys: u.Uint32(b[12:]),
		Intervals: u.Uint64(b[16:]), Start: int64(u.Uint64(b[24:])), End: int64(u.Uint64(b[32:])),
	}
	if s.Root > s.Nodes || (s.Root == 0) != (s.Nodes == 0) {
		return Summary{}, fmt.Errorf("root %d of %d nodes: %w", s.Root, s.Nodes, ErrDamaged)
	}
	return s, nil
}
