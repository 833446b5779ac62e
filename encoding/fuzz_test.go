package encoding

import (
	"bytes"
	"encoding/binary"
	"testing"
)

// FuzzWords looks at bytes as 64-bit words, as small words and as steps of a
// counter, and takes each through every encoding and layout (E1).
func FuzzWords(f *testing.F) {
	for shape := range shapes {
		var data []byte
		for _, w := range wordsOf(shape, 1, 17) {
			data = binary.LittleEndian.AppendUint64(data, w)
		}
		f.Add(data)
	}
	f.Add([]byte{})
	f.Add(bytes.Repeat([]byte{1}, 129))
	f.Fuzz(func(t *testing.T, data []byte) {
		var words, small, counter []uint64
		for i, b := range data {
			small = append(small, uint64(b))
			counter = append(counter, counterAt(counter, i-1)+uint64(int8(b)))
		}
		for ; len(data) >= 8; data = data[8:] {
			words = append(words, binary.LittleEndian.Uint64(data))
		}
		for _, want := range [][]uint64{words, small, counter} {
			for _, e := range encodings {
				w := Encode(e, want)
				checkWords(t, &w, want)
			}
			for _, l := range layouts {
				w := inLayout(l, want)
				checkWords(t, &w, want)
			}
		}
	})
}

func counterAt(counter []uint64, i int) uint64 {
	if i < 0 {
		return 1 << 63
	}
	return counter[i]
}

// FuzzDict cuts bytes into values, the first byte of each its length, and
// compares a dictionary with a map (E3).
func FuzzDict(f *testing.F) {
	f.Add(uint64(0), []byte{})
	f.Add(uint64(1), []byte("\x00\x01a\x01b\x01a\x02ab\x00"))
	f.Add(uint64(2), bytes.Repeat([]byte("\x03abc\xffx"), 300))
	f.Fuzz(func(t *testing.T, seed uint64, data []byte) {
		d := NewDict(seed)
		model := map[string]uint32{}
		for len(data) > 0 {
			n := min(int(data[0]), len(data)-1)
			value := data[1 : 1+n]
			data = data[1+n:]
			if code := d.Find(value); code != model[string(value)] {
				t.Fatalf("Find(%q) = %d, want %d", value, code, model[string(value)])
			}
			if model[string(value)] == 0 {
				model[string(value)] = uint32(len(model) + 1)
			}
			if code, err := d.Intern(value); err != nil || code != model[string(value)] {
				t.Fatalf("Intern(%q) = %d, %v; want %d", value, code, err, model[string(value)])
			}
		}
		if d.Len() != len(model) {
			t.Fatalf("Len() = %d, want %d", d.Len(), len(model))
		}
		for value, code := range model {
			if got := string(d.Value(code)); got != value {
				t.Fatalf("Value(%d) = %q, want %q", code, got, value)
			}
		}
	})
}
