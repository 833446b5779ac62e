package names

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/granarydb/granary/internal/effort"
)

// TestInternerModel compares an interner with a map from texts to codes under any additions,
// takings back and Keeps, some of which are given up. What readers have never changes.
func TestInternerModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := &internerPair{T: t, in: NewInterner(rapid.Uint64().Draw(t, "seed")), codes: map[string]uint32{}, settled: map[string]uint32{}}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch rapid.IntRange(0, 9).Draw(t, "step") {
			case 0, 1, 2:
				p.add(oddTexts[rapid.IntRange(0, len(oddTexts)-1).Draw(t, "odd")])
			case 3, 4:
				from, n := rapid.IntRange(0, 2000).Draw(t, "from"), rapid.IntRange(1, 600).Draw(t, "n")
				long := strings.Repeat("x", rapid.SampledFrom([]int{0, 9, 300}).Draw(t, "length"))
				for i := range n {
					p.add(strconv.Itoa(from+i) + long)
				}
			case 5:
				p.settle()
			case 6:
				p.in.TakeBack()
				p.codes = maps.Clone(p.settled)
			default:
				p.keep(rapid.IntRange(0, 10).Draw(t, "tenths"), rapid.IntRange(0, 3).Draw(t, "given up") == 0)
			}
			p.check()
		}
	})
}

// oddTexts are of all lengths, around the size of a block.
var oddTexts = []string{
	"", "a", "\x00\xff", "run", strings.Repeat("b", valueBlock-1), strings.Repeat("c", valueBlock),
	strings.Repeat("d", valueBlock+1), strings.Repeat("e", 64<<10), strings.Repeat("f", firstBlock),
}

// internerPair is an interner, its oracle, and what readers have.
type internerPair struct {
	*rapid.T
	in      *Interner
	codes   map[string]uint32
	settled map[string]uint32
	held    []heldTexts
}

type heldTexts struct {
	texts *Texts
	codes map[string]uint32
}

func (p *internerPair) add(text string) {
	code, hash := p.in.Find(text)
	if code != p.codes[text] {
		p.Fatalf("the code of %.20q is %d, want %d", text, code, p.codes[text])
	}
	if code != 0 {
		return
	}
	code, ok := p.in.Add(text, hash)
	if !ok || code == 0 {
		p.Fatalf("Add(%.20q) = %d, %v", text, code, ok)
	}
	p.codes[text] = code
}

func (p *internerPair) settle() {
	p.in.Settle()
	p.settled = maps.Clone(p.codes)
	p.held = append(p.held, heldTexts{&p.in.Texts, p.settled})
}

// keep keeps some tenths of the texts: the latest, and one of 16 of the others.
func (p *internerPair) keep(tenths int, givenUp bool) {
	p.settle()
	marks := make([]uint64, p.in.Most()/64+1)
	kept := map[string]uint32{}
	most := p.in.Most()
	for text, code := range p.codes {
		if 10*code >= most*uint32(10-tenths) || code%16 == 3 {
			marks[code/64] |= 1 << (code % 64)
			kept[text] = code
		}
	}
	size := p.in.Size()
	next, bytes := p.in.Keep(marks)
	if want := bytesOfReaders(p.in, next); bytes != want || p.in.Size() != size {
		p.Fatalf("Keep leaves %d bytes to readers, want %d; the size was %d and is %d", bytes, want, size, p.in.Size())
	}
	if !givenUp {
		p.in.Retire()
		p.in, p.codes, p.settled = next, kept, maps.Clone(kept)
	}
}

// check compares all codes, and all that readers have.
func (p *internerPair) check() {
	taken := map[uint32]string{}
	for text, code := range p.codes {
		if got, _ := p.in.Find(text); got != code || string(p.in.At(code)) != text {
			p.Fatalf("%.20q has code %d, want %d, which is %.20q", text, got, code, p.in.At(code))
		}
		if other, known := taken[code]; known {
			p.Fatalf("%.20q and %.20q have code %d", text, other, code)
		}
		taken[code] = text
	}
	if p.in.inUse != len(p.codes) {
		p.Fatalf("%d codes in use, want %d", p.in.inUse, len(p.codes))
	}
	for i, h := range p.held {
		for text, code := range h.codes {
			if got := h.texts.At(code); string(got) != text {
				p.Fatalf("reader %d: code %d is %.20q, was %.20q", i, code, got, text)
			}
		}
	}
	if got := ownBytes(p.in); p.in.Size() != got {
		p.Fatalf("Size() = %d, want %d", p.in.Size(), got)
	}
}

// ownBytes adds up the parts of an interner.
func ownBytes(in *Interner) (bytes int) {
	for i, page := range in.places.list() {
		if (page == nil) != (in.states.list()[i] == nil) {
			return -1
		}
		if page != nil {
			bytes += pageLen * 16
		}
	}
	bytes += 16*cap(in.places.list()) + 4*(cap(in.free)+cap(in.fresh)) + 4*len(in.slots)
	if p := in.blocks.Load(); p != nil {
		for _, block := range *p {
			bytes += len(block)
		}
		bytes += 24 * cap(*p)
	}
	return bytes
}

// bytesOfReaders adds up the blocks and places of an interner that the next does not have.
func bytesOfReaders(in, next *Interner) (bytes int) {
	shared := map[any]bool{}
	each := func(in *Interner, do func(part any, bytes int)) {
		for _, page := range in.places.list() {
			if page != nil {
				do(page, pageLen*placeSize)
			}
		}
		if p := in.blocks.Load(); p != nil {
			for _, block := range *p {
				if len(block) > 0 {
					do(&block[0], len(block))
				}
			}
		}
	}
	each(next, func(part any, _ int) { shared[part] = true })
	each(in, func(part any, n int) {
		if !shared[part] {
			bytes += n
		}
	})
	return bytes
}

// TestInternerStaysSmall lets a thousand of the latest texts live, of a million. The memory is
// that of some thousands at all times, on the heap and by Size, and codes stay small. Texts that
// are taken back leave nothing.
func TestInternerStaysSmall(t *testing.T) {
	before := heapBytes()
	in := NewInterner(7)
	most, greatest := 0, uint32(0)
	codes := make([]uint32, 0, 4000)
	for i := range 1_000_000 {
		text := "a text that comes once: " + strconv.Itoa(i)
		_, hash := in.Find(text)
		code, _ := in.Add(text, hash)
		greatest = max(greatest, code)
		if codes = append(codes, code); len(codes) == cap(codes) {
			codes = slices.Delete(codes, 0, 3000)
			marks := make([]uint64, in.Most()/64+1)
			for _, code := range codes {
				marks[code/64] |= 1 << (code % 64)
			}
			next, _ := in.Keep(marks)
			in.Retire()
			in = next
			size := in.Size()
			for k := range 500 {
				text := fmt.Sprint("taken back ", i, " ", k)
				_, hash := in.Find(text)
				in.Add(text, hash)
			}
			if in.TakeBack(); in.Size() > size+4*keptCodes {
				t.Fatalf("%d bytes, after texts were taken back %d", size, in.Size())
			}
		}
		most = max(most, in.Size())
	}
	heap := heapBytes() - before
	t.Logf("at most %d bytes, at the end %d and %d on the heap; codes up to %d", most, in.Size(), heap, greatest)
	if most > 600<<10 || heap > in.Size()+in.Size()/10+20_000 || greatest > 8000 {
		t.Errorf("at most %d bytes, at the end %d and %d on the heap; codes up to %d", most, in.Size(), heap, greatest)
	}
	runtime.KeepAlive(in)
}

// TestInternerBesideReaders: readers find what was published to them while the writer adds,
// takes back and keeps other texts. The race detector looks on.
func TestInternerBesideReaders(t *testing.T) {
	in := NewInterner(1)
	type published struct {
		texts *Texts
		codes map[string]uint32
	}
	all := make(chan published, 4)
	done := make(chan error)
	for range 2 {
		go func() {
			var failed error
			for p := range all {
				for range 20 {
					for text, code := range p.codes {
						if got := string(p.texts.At(code)); got != text {
							failed = fmt.Errorf("code %d is %.20q, want %.20q", code, got, text)
						}
					}
				}
			}
			done <- failed
		}()
	}
	rng := rand.New(rand.NewPCG(1, 2))
	codes := map[string]uint32{}
	add := func(text string) {
		if code, hash := in.Find(text); code == 0 {
			codes[text], _ = in.Add(text, hash)
		}
	}
	for round := range effort.Less(300, 10) {
		for range 200 {
			add(strconv.Itoa(rng.IntN(1000) + 10*round))
		}
		in.Settle()
		all <- published{&in.Texts, maps.Clone(codes)}
		kept := maps.Clone(codes)
		for range 100 {
			add("not for long " + strconv.Itoa(rng.Int()))
		}
		in.TakeBack()
		codes = kept
		marks := make([]uint64, in.Most()/64+1)
		for text, code := range codes {
			if n, _ := strconv.Atoi(text); n < 10*round {
				delete(codes, text)
				continue
			}
			marks[code/64] |= 1 << (code % 64)
		}
		next, _ := in.Keep(marks)
		in.Retire()
		in = next
	}
	close(all)
	for range 2 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}
