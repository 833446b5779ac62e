package golang

import (
	"bufio"
	"encoding/binary"
	"io"
)

// generations gives the bytes of a trace one generation at a time, each as a trace of its own, because a generation
// tells all states again. It finds where they end alone: bytes that it cannot read are of the generation before them. A
// trace of Go 1.11 to 1.21 is one generation.
type generations struct {
	in     *bufio.Reader
	header [headerBytes]byte
	begun  bool
	isPart bool // the trace has generations
	marked bool // each ends with a mark (Go 1.26), and else where a batch has the next number

	head   []byte // what is left of the header
	before int    // bytes left of the head of a batch
	left   int    // bytes left of the batch behind it, or -1 for all
	number uint64 // of the generation; 0 before its first batch
	ended  bool
}

// smallReads is the size of the buffer between generations and the reader of events.
const smallReads = 4 << 10

// reader returns the reader of a generation for trace.NewReader, which uses such a buffer as it is.
func (g *generations) reader() *bufio.Reader { return bufio.NewReaderSize(g, smallReads) }

// The first bytes of batches, and of the mark at the end of a generation.
const (
	eventBatch        = 1
	experimentalBatch = 49
	endOfGeneration   = 52
)

func newGenerations(in *bufio.Reader) *generations { return &generations{in: in} }

// next goes on to the next generation. The first is there even if it is empty.
func (g *generations) next() bool {
	if !g.begun {
		n, _ := io.ReadFull(g.in, g.header[:])
		g.begun, g.head = true, g.header[:n]
		version := string(g.header[:len(firstStream)])
		g.isPart, g.marked = version >= firstStream, version >= "go 1.26 "
		return true
	}
	if _, err := g.in.Peek(1); err != nil {
		return false
	}
	g.head, g.before, g.left, g.number, g.ended = g.header[:], 0, 0, 0, false
	return true
}

// Read implements io.Reader. It returns io.EOF at the end of a generation, and together with the last bytes of a batch that
// is read at once: the reader of events copies a batch into a buffer of its size, which it would double to find the end.
func (g *generations) Read(p []byte) (n int, err error) {
	if len(g.head) > 0 {
		n = copy(p, g.head)
		g.head = g.head[n:]
		return n, nil
	}
	if g.before == 0 && g.left == 0 {
		if g.batch(); g.before == 0 && g.left == 0 {
			return 0, io.EOF
		}
	}
	switch {
	case g.before > 0:
		n, err = g.in.Read(p[:min(len(p), g.before)])
		g.before -= n
	case g.left < 0:
		return g.in.Read(p)
	case len(p) == g.left && len(p) > smallReads: // not into the buffer, which would keep the end
		if n, err = io.ReadFull(g.in, p); err == nil {
			err = io.EOF
		} else if n > 0 {
			err = nil // it comes again
		}
		g.left -= n
	default:
		n, err = g.in.Read(p[:min(len(p), g.left)])
		g.left -= n
	}
	return n, err
}

// batch finds the length of the next batch, or that the generation ends before it.
func (g *generations) batch() {
	const most = 2 + 4*binary.MaxVarintLen64
	head, _ := g.in.Peek(most)
	switch {
	case g.ended || len(head) == 0:
		return
	case !g.isPart:
		g.left = -1
	case g.marked && head[0] == endOfGeneration:
		g.left, g.ended = 1, true
	default:
		number, at, length, ok := batchHead(head)
		switch {
		case !ok:
			g.left = -1
		case !g.marked && g.number != 0 && number == g.number+1:
			g.ended = true
		default:
			g.before, g.left = at, length
			if g.number == 0 {
				g.number = number
			}
		}
	}
}

// batchHead returns the generation of a batch, and the lengths of its head and of what follows, from its first bytes.
func batchHead(head []byte) (number uint64, at, length int, ok bool) {
	const mostBytes = 64 << 10
	at = 1
	switch head[0] {
	case eventBatch:
	case experimentalBatch:
		at = 2
	default:
		return 0, 0, 0, false
	}
	var fields [4]uint64 // generation, thread, time, bytes that follow
	for i := range fields {
		v, n := binary.Uvarint(head[min(at, len(head)):])
		if n <= 0 {
			return 0, 0, 0, false
		}
		fields[i] = v
		at += n
	}
	if fields[3] > mostBytes {
		return 0, 0, 0, false
	}
	return fields[0], at, int(fields[3]), true
}

// IsWhole reports whether data begins like a trace of Go 1.11 to 1.21. Its format needs the whole trace in memory, in
// about 60 times its bytes.
func IsWhole(data []byte) bool {
	return Magic(data) && string(data[:len(firstStream)]) < firstStream
}
