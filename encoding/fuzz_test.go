package encoding

import (
	"encoding/binary"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/uuid"
)

// fuzzed is how many words a fuzz target makes at most: a few blocks and a part of one.
const fuzzed = 5*blockLen + 77

// wordsOfBytes reads bytes as a small program that makes words, so that few bytes reach
// several blocks, long runs, exceptions and every width. A step is three bytes: the operation,
// the number of repetitions, and the number of bytes of the argument that follows.
func wordsOfBytes(data []byte) []uint64 {
	var words []uint64
	var last, step uint64
	for len(data) >= 3 && len(words) < fuzzed {
		op, times := data[0], min(int(data[1])+1, fuzzed-len(words))
		size := min(int(data[2]%9), len(data)-3)
		var argument [8]byte
		copy(argument[:], data[3:3+size])
		arg := binary.LittleEndian.Uint64(argument[:])
		data = data[3+size:]
		r := rand.New(rand.NewPCG(arg, uint64(len(words))))
		for range times {
			switch op % 9 {
			case 0: // a run
				last = arg
			case 1: // a steady pace
				last += arg
			case 2: // a falling one
				last -= arg
			case 3: // a pace that changes
				step += arg
				last += step
			case 4: // up to 64 bits
				last = r.Uint64() >> (arg % 65)
			case 5: // nulls
				last = 0
			case 6: // multiples
				last = (1 + r.Uint64N(30)) * arg
			case 7: // small steps, and a big one at times
				last += r.Uint64N(16) - 8
				if r.IntN(40) == 0 {
					last += arg
				}
			case 8: // many nulls
				last = 0
				if r.IntN(5) == 0 {
					last = r.Uint64() >> (arg % 65)
				}
			}
			words = append(words, last)
		}
	}
	return words
}

// programs are seeds: together they reach every layout, exceptions, partial blocks, and
// widths of 0 and 64.
var programs = []string{
	"",
	"\x00\x00\x01\x07", // one word
	"\x00\xff\x01\x07", // constant
	"\x00\xff\x08\xff\xff\xff\xff\xff\xff\xff\xff",                                 // constant, of 64 bits
	"\x04\xff\x01\x00\x04\x30\x01\x00",                                             // 64 bits
	"\x04\xff\x01\x38\x04\x01\x01\x28\x04\xff\x01\x38",                             // 8 bits and exceptions
	"\x04\xff\x01\x38\x00\x00\x08\x01\x02\x03\x04\x05\x06\x07\x08\x04\xff\x01\x38", // one beyond the capacity of an exception
	"\x06\xff\x03\x80\x96\x98\x06\x80\x03\x80\x96\x98",                             // multiples of 10 ms
	"\x00\xff\x01\x01\x00\xff\x01\x02\x00\x80\x02\x00\x01",                         // runs
	"\x01\xff\x05\x00\xe4\x0b\x54\x02\x01\x90\x05\x00\xe4\x0b\x54\x02",             // timestamps
	"\x01\xff\x01\x03\x00\x00\x01\x00\x01\xff\x01\x03",                             // rises, and back to the start
	"\x02\xff\x01\x03\x02\x20\x02\x03\x01",                                         // falling below 0
	"\x03\xff\x01\x01\x03\x80\x01\x01",                                             // bends
	"\x07\xff\x08\x00\x00\x00\x00\x00\x00\x00\x80\x07\x80\x01\x03",                 // around 0, and to the other end
	"\x08\xff\x01\x30\x08\xff\x01\x00",                                             // sparse
	"\x05\xff\x00\x00\x02\x01\x09\x05\xff\x00",                                     // two words among nulls
}

// FuzzWords takes words through every encoding, every layout, and Pack (E1).
func FuzzWords(f *testing.F) {
	for i, p := range programs {
		f.Add([]byte(p), uint64(i))
	}
	f.Fuzz(func(t *testing.T, data []byte, seed uint64) {
		want := wordsOfBytes(data)
		for _, e := range encodings {
			w := Encode(e, want)
			checkWords(t, &w, want)
			checkRanges(t, &w, want, seed)
		}
		for _, l := range layouts {
			w := inLayout(l, want)
			checkWords(t, &w, want)
			checkRanges(t, &w, want, seed)
			checkPick(t, &w, want, 1+int(seed%100), seed)
			if seed%16 > 0 {
				continue // dumps are slow
			}
			if err := w.dump(io.Discard); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// FuzzRawWords takes bytes for words themselves, and so finds widths and differences
// that no program makes.
func FuzzRawWords(f *testing.F) {
	for shape := range shapes {
		var data []byte
		for _, w := range wordsOf(shape, 1, 17) {
			data = binary.LittleEndian.AppendUint64(data, w)
		}
		f.Add(data, uint64(shape))
	}
	f.Add([]byte{}, uint64(0))
	f.Fuzz(func(t *testing.T, data []byte, seed uint64) {
		var words, small, counter []uint64
		for _, b := range data[:min(len(data), fuzzed)] {
			small = append(small, uint64(b))
			counter = append(counter, uint64(int8(b))+1<<63)
			if n := len(counter); n > 1 {
				counter[n-1] += counter[n-2] - 1<<63
			}
		}
		for ; len(data) >= 8 && len(words) < fuzzed; data = data[8:] {
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
				checkRanges(t, &w, want, seed)
			}
		}
		of := answersOf(int(seed%uint64(len(answers))), seed, 256)
		for _, l := range layouts {
			w := inLayout(l, small)
			checkBits(t, &w, small, of, seed)
			checkPick(t, &w, small, 1+int(seed%100), seed)
		}
	})
}

// FuzzBlocks compares blocks of each order with their words, and their estimated sizes with
// the real ones.
func FuzzBlocks(f *testing.F) {
	for i, p := range programs {
		f.Add([]byte(p), uint64(i))
	}
	f.Fuzz(func(t *testing.T, data []byte, seed uint64) {
		want := wordsOfBytes(data)
		if len(want) == 0 {
			return
		}
		for _, o := range []order{asIs, rises, changes, bends, sliced} {
			d := newBlocksDraft(want, planOf(want))
			d.plan([]order{o})
			b := d.build()
			w := ofBlocks(b)
			checkWords(t, &w, want)
			checkRanges(t, &w, want, seed)
			bits := 0
			for _, p := range d.plans {
				bits += p.len
			}
			if len(b.bits) != bits+1 || b.order != o {
				t.Fatalf("%v: %d words of bits, planned %d and one", w.layout, len(b.bits), bits)
			}
		}
	})
}

// FuzzSparse compares sparse words and lookups, and the layouts inside them, with their words.
func FuzzSparse(f *testing.F) {
	for i, p := range programs {
		f.Add([]byte(p), []byte("\x55\x00\xff\x01"), uint64(i))
	}
	f.Fuzz(func(t *testing.T, data, nulls []byte, seed uint64) {
		table := wordsOfBytes(data)
		want := slices.Clone(table)
		for i := range want {
			if len(nulls) > 0 && nulls[i/8%len(nulls)]>>(i%8)&1 != 0 {
				want[i] = 0
			}
		}
		w := inLayout(layoutSparse, want)
		checkWords(t, &w, want)
		checkRanges(t, &w, want, seed)

		ordinals, looked := make([]uint64, len(want)), make([]uint64, len(want))
		for i, word := range want {
			ordinals[i] = (word ^ seed) % uint64(len(table))
			looked[i] = table[ordinals[i]]
		}
		of := Encode(encodings[seed/8%5], ordinals)
		l := Lookup(Encode(encodings[seed%5], table), &of)
		checkWords(t, &l, looked)
		checkRanges(t, &l, looked, seed)
	})
}

// FuzzPack cuts words into columns, and packs them in one slab.
func FuzzPack(f *testing.F) {
	for _, p := range programs {
		f.Add([]byte(p), []byte("\x01\x00\x80\x05\x02"))
	}
	f.Fuzz(func(t *testing.T, data, cuts []byte) {
		words := wordsOfBytes(data)
		var columns [][]uint64
		for _, n := range cuts {
			n := min(int(n), len(words))
			columns, words = append(columns, words[:n]), words[n:]
		}
		columns = append(columns, words)
		first := Constant(7, 3)
		all := Pack([]Words{first}, columns...)
		checkWords(t, &all[0], []uint64{7, 7, 7})
		if len(all) != len(columns)+1 {
			t.Fatalf("%d columns, want %d", len(all)-1, len(columns))
		}
		for i, want := range columns {
			checkWords(t, &all[i+1], want)
			checkRanges(t, &all[i+1], want, uint64(len(data)))
		}
	})
}

// FuzzColumn makes a column of any type, with nulls, in any encoding that fits, and a second
// one from its decoded rows (E1).
func FuzzColumn(f *testing.F) {
	for typ := range types {
		for e := range encodings {
			f.Add(byte(typ), byte(e), []byte("\x00a\x01bc\x03\x80\x81\x82\x00\x00\x02\x03"))
			f.Add(byte(typ), byte(e), []byte(programs[5]))
		}
	}
	f.Fuzz(func(t *testing.T, typ, encoding byte, data []byte) {
		spec := specOf(types[int(typ)%len(types)], encodings[int(encoding)%len(encodings)])
		if !spec.Encoding.Fits(spec.Type) {
			return
		}
		var rows []row
		for len(data) > 0 && len(rows) < fuzzed {
			var r row
			for range min(int(data[0]%16)+1, fuzzed-len(rows)) {
				r = rowOfBytes(spec.Type, data)
				rows = append(rows, r)
			}
			data = data[1:]
		}
		if rows == nil {
			rows = []row{}
		}
		checkColumn(t, spec, rows)
	})
}

// rowOfBytes makes a row of the bytes to come, a null of a quarter of them.
func rowOfBytes(typ Type, data []byte) row {
	value := data[:min(len(data), 1+int(data[0]>>4))]
	var word [8]byte
	copy(word[:], value)
	switch {
	case data[0]%4 == 3:
		return row{Null: true}
	case typ == Bool:
		return row{Value: FromBool(data[0]%2 == 1)}
	case typ.Fixed():
		return row{Value: binary.LittleEndian.Uint64(word[:])}
	case typ == String:
		return row{Value: append([]byte{}, value[1:]...)}
	case typ == UUID:
		id := make([]byte, 16)
		copy(id, value)
		return row{Value: id}
	}
	list := idsOfBytes(value[1:])
	return row{Value: list}
}

// idsOfBytes returns an element for each byte.
func idsOfBytes(data []byte) []uuid.UUID {
	list := make([]uuid.UUID, len(data))
	for i, b := range data {
		list[i] = idOf(int(b))
	}
	return list
}
