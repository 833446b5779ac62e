package encoding

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"

	"github.com/granarydb/granary/internal/effort"
)

// profileRows are the columns of a granule of one series of profiles, in the order of
// the store: by stack, then by time.
type profileRows struct{ cpu, sizes, codes, ordinals, times []uint64 }

// rowsOfProfiles makes n rows, on average rowsPerStack to a stack. There are
// 3*rowsPerStack profiles: rare stacks are in a few of them, frequent ones in nearly all. CPU
// times are multiples of 10 ms, sizes of 16 bytes, and how many is exponential, about a
// mean that each stack has. Profiles come every 10 s, late by up to 5 ms.
func rowsOfProfiles(n, rowsPerStack int) (p profileRows) {
	r := rand.New(rand.NewPCG(1, uint64(rowsPerStack)))
	profiles := make([]uint64, 3*rowsPerStack)
	for i := range profiles {
		profiles[i] = uint64(1_790_000_000e9 + 10e9*int64(i) + int64(r.Uint64N(5000))*1000)
	}
	for code := uint64(1); len(p.codes) < n; code += 1 + uint64(r.ExpFloat64()*3) {
		share := math.Pow(r.Float64(), 2) // a third on average
		mean := 4 * r.ExpFloat64()
		for ordinal, time := range profiles {
			if r.Float64() >= share || len(p.codes) == n {
				continue
			}
			p.cpu = append(p.cpu, 10e6*(1+uint64(r.ExpFloat64()*mean)))
			p.sizes = append(p.sizes, 16*(1+uint64(r.ExpFloat64()*16*mean)))
			p.codes = append(p.codes, code)
			p.ordinals = append(p.ordinals, uint64(ordinal))
			p.times = append(p.times, time)
		}
	}
	return p
}

// steadyTimes are times of n profiles, late by up to some ms.
func steadyTimes(n, late int) []uint64 {
	r := rand.New(rand.NewPCG(2, 2))
	times := make([]uint64, n)
	for i := range times {
		times[i] = uint64(1_790_000_000e9 + 10e9*int64(i) + int64(r.IntN(late+1))*1e6)
	}
	return times
}

// gorilla returns about how many bits delta of delta takes for words divided by their scale.
// It uses the buckets of the paper (Pelkonen et al., VLDB 2015), the last one for up to 64
// bits.
func gorilla(words []uint64) int {
	p := planOf(words)
	total := 64
	var last, step int64
	for i, w := range words {
		v := int64((w - p.min) / max(p.scale, 1))
		bend := v - last - step
		if i > 0 {
			switch {
			case bend == 0:
				total++
			case -63 <= bend && bend <= 64:
				total += 9
			case -255 <= bend && bend <= 256:
				total += 12
			case -2047 <= bend && bend <= 2048:
				total += 16
			case -1<<31 < bend && bend <= 1<<31:
				total += 36
			default:
				total += 68
			}
			step = v - last
		}
		last = v
	}
	return total
}

// lookupBits returns the bits of a table and its ordinals, which several columns can share.
func lookupBits(words []uint64) int {
	w := inLayout(layoutLookup, words)
	_, ordinals := w.Lookup()
	again := Encode(DictionaryRLE, ordinals.Append(nil, 0, ordinals.Len()))
	return 8 * (w.Size() + again.Size())
}

// bytesOf returns words as bytes, lowest first.
func bytesOf(words []uint64) []byte {
	out := make([]byte, 0, 8*len(words))
	for _, w := range words {
		out = binary.LittleEndian.AppendUint64(out, w)
	}
	return out
}

// candidate is a way to keep a column.
type candidate struct {
	name string
	bits func(words []uint64) int
}

// candidates are the layouts, and the rejected alternatives.
func candidates(t *testing.T) []candidate {
	t.Helper()
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = z.Close() })
	packedBytes := func(words []uint64) []byte { return bytesOf(pack(words).bits) }
	blocksBytes := func(words []uint64) []byte { return bytesOf(blocksOf(words, asIs).bits) }
	all := []candidate{
		{"plain", func(words []uint64) int { return 64 * len(words) }},
		{"packed, no gcd", func(words []uint64) int {
			_, span := frame(words)
			return 64 * packedLen(len(words), bits.Len64(span))
		}},
	}
	for _, l := range []layout{layoutPacked, layoutRuns, layoutBlocks, layoutRises, layoutChanges, layoutBends} {
		all = append(all, candidate{l.String(), func(words []uint64) int {
			w := inLayout(l, words)
			return 8 * w.Size()
		}})
	}
	return append(all,
		candidate{"runs, ends as rises", func(words []uint64) int {
			r := runsOf(words)
			ends := ofBlocks(blocksOf(r.ends.appendTo(nil, 0, int(r.ends.n)), rises))
			return 8 * (r.values.Size() + ends.Size())
		}},
		candidate{"lookup and ordinals", lookupBits},
		candidate{"Gorilla", gorilla},
		candidate{"zstd, plain", func(words []uint64) int { return 8 * len(z.EncodeAll(bytesOf(words), nil)) }},
		candidate{"zstd, packed", func(words []uint64) int { return 8 * len(z.EncodeAll(packedBytes(words), nil)) }},
		candidate{"zstd, blocks", func(words []uint64) int { return 8 * len(z.EncodeAll(blocksBytes(words), nil)) }},
		candidate{"S2, plain", func(words []uint64) int { return 8 * len(s2.EncodeBetter(nil, bytesOf(words))) }},
		candidate{"S2, packed", func(words []uint64) int { return 8 * len(s2.EncodeBetter(nil, packedBytes(words))) }},
	)
}

// lostColumns are columns like those of profiles, with the encoding that a schema of
// profiles asks for. The numbers in their names are rows of a stack.
func lostColumns() []lostColumn {
	const n = 1 << 16
	few, some, many := rowsOfProfiles(n, 2), rowsOfProfiles(n, 24), rowsOfProfiles(n, 90)
	return []lostColumn{
		{"CPU ns", Plain, some.cpu},
		{"sizes", Plain, some.sizes},
		{"stacks 2", DictionaryRLE, few.codes},
		{"stacks 24", DictionaryRLE, some.codes},
		{"stacks 90", DictionaryRLE, many.codes},
		{"ordinals 2", DictionaryRLE, few.ordinals},
		{"ordinals 24", DictionaryRLE, some.ordinals},
		{"ordinals 90", DictionaryRLE, many.ordinals},
		{"times of rows", Delta, some.times},
		{"times, exact", Delta, steadyTimes(n, 0)},
		{"times, late", Delta, steadyTimes(n, 5)},
	}
}

type lostColumn struct {
	name     string
	encoding Encoding
	words    []uint64
}

// What lost, in bits a word, and the claims of docs/decisions/0009. Figures of
// zstd and S2 may change with their version.
func TestWhatLost(t *testing.T) {
	if effort.Race {
		t.Skip("one goroutine")
	}
	columns, ways := lostColumns(), candidates(t)
	var out strings.Builder
	out.WriteString("| |")
	for _, c := range columns {
		out.WriteString(" " + c.name + " |")
	}
	out.WriteString("\n|---|" + strings.Repeat("---|", len(columns)))
	bits := map[string]float64{} // a word, by way and column
	for _, w := range ways {
		fmt.Fprintf(&out, "\n| %s |", w.name)
		for _, c := range columns {
			n := float64(w.bits(c.words)) / float64(len(c.words))
			bits[w.name+"/"+c.name] = n
			fmt.Fprintf(&out, " %.2f |", n)
		}
	}
	out.WriteString("\n| **taken** |")
	for _, c := range columns {
		w := Encode(c.encoding, c.words)
		n := float64(8*w.Size()) / float64(len(c.words))
		fmt.Fprintf(&out, " %v %.2f |", w.layout, n)
		if lost := bits["Gorilla/"+c.name]; n >= lost {
			t.Errorf("%s: delta of delta has %.2f bits a word, we %.2f", c.name, lost, n)
		}
		if plain := bits["packed/"+c.name]; n > plain {
			t.Errorf("%s: packed has %.2f bits a word, we %.2f", c.name, plain, n)
		}
	}
	t.Logf("bits a word\n%s", out.String())
	if with, without := bits["packed/CPU ns"], bits["packed, no gcd/CPU ns"]; 2*with > without {
		t.Errorf("the scale saves little of CPU times: %.2f bits a word, %.2f without", with, without)
	}
	if shared, own := bits["lookup and ordinals/times of rows"], bits["Gorilla/times of rows"]; 3*shared > own {
		t.Errorf("ordinals save little of the times of rows: %.2f bits a word, delta of delta has %.2f", shared, own)
	}
}

// BenchmarkWhatLost measures making and reading the candidates of the table.
func BenchmarkWhatLost(b *testing.B) {
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		b.Fatal(err)
	}
	defer z.Close()
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	if err != nil {
		b.Fatal(err)
	}
	defer d.Close()
	for _, c := range lostColumns() {
		if c.name != "CPU ns" && c.name != "stacks 2" {
			continue
		}
		n := len(c.words)
		w := Encode(c.encoding, c.words)
		out := make([]uint64, 0, n)
		plain, packed := bytesOf(c.words), bytesOf(pack(c.words).bits)
		zPlain, zPacked, sPlain := z.EncodeAll(plain, nil), z.EncodeAll(packed, nil), s2.EncodeBetter(nil, plain)
		dst := make([]byte, 0, 2*len(plain))
		for _, way := range []struct {
			name       string
			make, read func()
		}{
			{"taken", func() { w = Encode(c.encoding, c.words) }, func() { out = w.Append(out[:0], 0, n) }},
			{"zstd-plain", func() { dst = z.EncodeAll(plain, dst[:0]) }, func() { dst, _ = d.DecodeAll(zPlain, dst[:0]) }},
			{"zstd-packed", func() { dst = z.EncodeAll(packed, dst[:0]) }, func() { dst, _ = d.DecodeAll(zPacked, dst[:0]) }},
			{"S2-plain", func() { dst = s2.EncodeBetter(dst, plain) }, func() { dst, _ = s2.Decode(dst[:cap(dst)], sPlain) }},
		} {
			column := strings.ReplaceAll(c.name, " ", "-")
			b.Run(fmt.Sprintf("op=make/column=%s/way=%s", column, way.name), func(b *testing.B) { perWord(b, n, way.make) })
			b.Run(fmt.Sprintf("op=read/column=%s/way=%s", column, way.name), func(b *testing.B) { perWord(b, n, way.read) })
		}
	}
}
