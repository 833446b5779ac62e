package arrowconv

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/apache/arrow/go/v14/arrow/array"
	"github.com/apache/arrow/go/v14/arrow/memory"
)

// FuzzBatch damages a record step by step, as the input directs, and reads it after each step.
// The result is an ErrRecord or a batch of the right length, and never a panic (A3). The first
// byte chooses the record; each step is 5 bytes: the node, the operation and 3 bytes of
// argument. There are at most maxSteps.
func FuzzBatch(f *testing.F) {
	all := victims(f)
	for i := range all {
		f.Add([]byte{byte(i), 0, 0, 0, 0, 0xff, 1, 1, 4, 0, 1, 0, 2, 1, 0, 0})
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		if len(input) == 0 {
			return
		}
		v := all[int(input[0])%len(all)]()
		for step := input[1:min(len(input), 1+5*maxSteps)]; len(step) >= 5; step = step[5:] {
			damage(v.nodes[int(step[0])%len(v.nodes)], step[1], [3]byte(step[2:5]))
			v.batch(t, "fuzz")
		}
	})
}

// damage does one deed to a node.
func damage(d *array.Data, deed byte, arg [3]byte) {
	number := int(int16(binary.LittleEndian.Uint16(arg[1:])))
	if n := len(d.Buffers()); deed%3 == 0 && n > 0 {
		b := bytesOf(d.Buffers()[int(deed/3)%n])
		if len(b) > 0 {
			b[int(arg[1])%len(b)] ^= arg[2]
		}
		return
	}
	change(d, func(p *dataParts) {
		switch arg[0] % 6 {
		case 0:
			p.length += number
		case 1:
			p.offset += number
		case 2:
			p.typ = wrongTypes[uint(number)%uint(len(wrongTypes))]
		case 3:
			p.length = number << (arg[0] / 6)
		default:
			if len(p.buffers) > 0 {
				i := int(deed/3) % len(p.buffers)
				b := bytesOf(p.buffers[i])
				p.buffers[i] = memory.NewBufferBytes(slices.Clone(b[:uint(number)%uint(len(b)+1)]))
			}
		}
	})
}
