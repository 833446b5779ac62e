package debuginfo

import (
	"bytes"
	"compress/zlib"
	"debug/elf"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/granarydb/granary/internal/effort"
)

// hostile are files that contradict themselves, or whose parts refer to each other such that a reader without bounds takes
// hours or all memory.
func hostile() map[string][]byte {
	progbits := func(name string, data []byte) section {
		return section{name: name, kind: elf.SHT_PROGBITS, data: data}
	}
	dwarf := func(abbrev, info, lines []byte, more ...section) []byte {
		return makeDWARF(abbrev, info, lines, more...)
	}
	uleb := []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}
	unit := func(entries []byte) []byte { return sized(bin(uint16(4), uint32(0), 8, entries)) }
	v5 := func(tables []byte) []byte {
		fields := bin(1, 1, 1, 0xfb, 14, 1, tables)
		return sized(bin(uint16(5), 8, 0, sized(fields)))
	}
	good, long := makeDWARF(abbrevs(), madeInfo(), madeLines()), bytes.Repeat([]byte("n"), 1<<20)
	all := map[string][]byte{
		"an ELF header alone":                good[:64],
		"no section":                         good[:120],
		"half a file":                        good[:len(good)/2],
		"a unit longer than the section":     dwarf(abbrevs(), bin(uint32(1<<30), uint16(4)), nil),
		"a unit of 64 bits without end":      dwarf(abbrevs(), bin(uint32(0xffffffff), uint64(1<<62)), nil),
		"units of no bytes":                  dwarf(abbrevs(), make([]byte, 1<<20), nil),
		"a version that is to come":          dwarf(abbrevs(), sized(bin(uint16(9), uint32(0), 8)), nil),
		"no abbreviation":                    dwarf(nil, madeInfo(), madeLines()),
		"abbreviations at the end of memory": dwarf(abbrevs(), sized(bin(uint16(4), uint32(0xfffffff0), 8, 1)), nil),
		"an abbreviation without end":        dwarf(bin(1, 0x11, 1, bytes.Repeat([]byte{3, 8}, 1000)), madeInfo(), nil),
		"an entry of no kind":                dwarf(abbrevs(), unit(bin(99, 1, 2, 3)), nil),
		"a line program without a range":     dwarf(abbrevs(), madeInfo(), lineHeader(nil, nil)[:20]),
		"a line range of 0":                  dwarf(abbrevs(), madeInfo(), sized(bin(uint16(4), sized(bin(1, 1, 1, 0, 0, 13, make([]byte, 14)))))),
		"lines of version 6":                 dwarf(abbrevs(), madeInfo(), sized(bin(uint16(6), make([]byte, 40)))),
		"files of no bytes":                  dwarf(abbrevs(), madeInfo(), v5(bin(0, uleb, 0, uleb))),
		"files of an unknown form":           dwarf(abbrevs(), madeInfo(), v5(bin(1, 1, 0x77, 200, 1))),
		"directories of a long text":         dwarf(abbrevs(), madeInfo(), v5(bin(1, 1, 0x1f, 0x80, 0x80, 0x40, make([]byte, 4<<20), 0, 0)), progbits(".debug_line_str", long)),
		"a long opcode":                      dwarf(abbrevs(), madeInfo(), lineHeader(bin(0, 0), bin(0, uleb, 2))),
		"lines that go back":                 dwarf(abbrevs(), madeInfo(), lineHeader(bin(0, 0), bin(0, 9, 2, uint64(0x1100), 1, 0, 9, 2, uint64(0x1000), 1, 0, 1, 1))),
		"a section of more than the file":    makeELF(section{name: ".debug_info", kind: elf.SHT_PROGBITS, data: madeInfo(), size: 1 << 40}),
		"symbols of more than the file":      makeELF(section{name: ".symtab", kind: elf.SHT_SYMTAB, data: []byte{1}, size: 1 << 60}),
		"symbols of no name":                 makeELF(section{name: ".symtab", kind: elf.SHT_SYMTAB, data: bin(uint32(0xffffff), 2, 0, uint16(1), uint64(0x1000), uint64(0x1000))}),
		"a compressed section that lies":     makeELF(progbits(".debug_abbrev", abbrevs()), section{name: ".debug_info", kind: elf.SHT_PROGBITS, flags: elf.SHF_COMPRESSED, data: compressed(madeInfo(), 1<<50)}),
		"a compressed section cut":           makeELF(progbits(".debug_abbrev", abbrevs()), section{name: ".debug_info", kind: elf.SHT_PROGBITS, flags: elf.SHF_COMPRESSED, data: compressed(madeInfo(), 5000)}),
		"a Go table of no functions":         makeELF(progbits(".gopclntab", bin(uint32(goMagic), 0, 0, 1, 8, make([]byte, 64)))),
		"a Go table of too many":             makeELF(progbits(".gopclntab", bin(uint32(goMagic), 0, 0, 1, 8, uint64(1<<60), make([]byte, 56)))),
		"a Go table of other words":          makeELF(progbits(".gopclntab", bin(uint32(goMagic), 0, 0, 1, 3, make([]byte, 64)))),
		"a Go table that points outside":     makeELF(progbits(".gopclntab", bin(uint32(goMagic), 0, 0, 1, 8, uint64(1), uint64(1), uint64(0x1000), bytes.Repeat([]byte{0xff}, 40)))),
		"a Go function outside":              makeELF(progbits(".gopclntab", bin(uint32(goMagic), 0, 0, 1, 8, uint64(1), uint64(1), uint64(0x1000), uint64(72), uint64(72), uint64(72), uint64(72), uint64(72), uint32(0), uint32(0xfffffff0), uint32(0x1000)))),
		"notes that end early":               makeELF(section{name: ".note", kind: elf.SHT_NOTE, data: bin(uint32(0xfffffffc), uint32(0xffffffff), uint32(3), "GNU")}),
	}
	all["a function of itself"] = dwarf(abbrevs(), unit(bin(1, uint32(0), uint64(0x1000), uint32(0x800), "/", 3, uint32(11+24), uint64(0x1100), uint32(0x100), 1, 1, 0)), nil)
	// Each entry takes a byte, and has all the fields of a long abbreviation.
	wide := bin(1, 0x11, 1, 0x11, 0x01, 0x12, 0x06, 0, 0, 2, 0x34, 0, bytes.Repeat([]byte{0x3f, 0x19}, 50_000), 0, 0, 0)
	all["entries of many fields"] = dwarf(wide, unit(bin(1, uint64(0x1000), uint32(0x800), bytes.Repeat([]byte{2}, 100_000), 0)), nil)
	// Each unit has abbreviations of its own, which overlap.
	var units []byte
	for i := range 20_000 {
		units = append(units, sized(bin(uint16(4), uint32(5*i), 8, 1))...)
	}
	all["abbreviations that overlap"] = dwarf(bytes.Repeat([]byte{1, 0x11, 0, 0, 0}, 20_000), units, nil)
	// Each function has another suffix of one long name.
	named := bin(1, 0x11, 1, 0x11, 0x01, 0x12, 0x06, 0, 0, 2, 0x2e, 0, 0x03, 0x0e, 0x11, 0x01, 0x12, 0x06, 0, 0, 0)
	entries := bin(1, uint64(0x1000), uint32(0x800))
	for i := range uint32(50_000) {
		entries = append(entries, bin(2, i, uint64(0x1100), uint32(1))...)
	}
	all["names that overlap"] = dwarf(named, unit(append(entries, 0)), nil, progbits(".debug_str", long))
	all["calls in calls"] = dwarf(abbrevs(), unit(append(append(bin(1, uint32(0), uint64(0x1000), uint32(0x800), "/"),
		bytes.Repeat(bin(2, "f", uint64(0x1100), uint32(0x100), 1), 30_000)...), make([]byte, 30_001)...)), nil)
	return all
}

func compressed(data []byte, size uint64) []byte {
	var b bytes.Buffer
	b.Write(bin(uint32(elf.COMPRESS_ZLIB), uint32(0), size, uint64(1)))
	w := zlib.NewWriter(&b)
	_, _ = w.Write(data)
	_ = w.Close()
	return b.Bytes()
}

// TestHostileFiles is D1: each file gives an error or few names, soon, and within memory.
func TestHostileFiles(t *testing.T) {
	all := hostile()
	if len(all) < 30 {
		t.Errorf("%d hostile files", len(all))
	}
	for name, data := range all {
		t.Run(name, func(t *testing.T) {
			const most = 512 << 20
			start := time.Now()
			if bytes := effort.Allocated(func() { ask(t, data) }); bytes > most {
				t.Errorf("a file of %d bytes allocates %d bytes", len(data), bytes)
			}
			if took := time.Since(start); took > 20*time.Second {
				t.Errorf("it takes %v", took)
			}
		})
	}
}

// ask opens a file and asks for some addresses.
func ask(t testing.TB, data []byte) {
	f, err := New(bytes.NewReader(data), int64(len(data)), Limits{Bytes: 256 << 20})
	if err != nil {
		if !errors.Is(err, ErrBinary) && !errors.Is(err, ErrTooManyBytes) {
			t.Errorf("an error of another kind: %v", err)
		}
		return
	}
	for _, addr := range []uint64{0, 0x1000, 0x1100, 0x1120, 0x1fff, 1 << 63} {
		for _, at := range []MappedAddress{{Address: addr}, {0x1000, 0, addr}, {0x400000, 0x1000, 0x400000 + addr}} {
			if n := len(f.Frames(at)); n > maxInlined {
				t.Errorf("%d frames at %#x", n, addr)
			}
		}
	}
	if n := f.Bytes(); n > 256<<20 {
		t.Errorf("the file says that it takes %d bytes", n)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}

// TestDamagedPrograms changes bytes of real programs.
func TestDamagedPrograms(t *testing.T) {
	programs := [][]byte{makeDWARF(abbrevs(), madeInfo(), madeLines()), []byte(breakpadFile)}
	if !testing.Short() {
		data, err := os.ReadFile(goProgram(t, "-ldflags=-s"))
		if err != nil {
			t.Fatal(err)
		}
		programs = append(programs, data)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for i, whole := range programs {
		rounds := 2000
		if len(whole) > 1<<20 {
			rounds = 60
		}
		for range rounds {
			data := slices.Clone(whole)
			for range 1 + r.IntN(8) {
				at := r.IntN(len(data))
				if r.IntN(2) == 0 {
					at = r.IntN(min(len(data), 4096)) // headers
				}
				data[at] = byte(r.Uint32())
			}
			if r.IntN(8) == 0 {
				data = data[:r.IntN(len(data))]
			}
			ask(t, data)
			if t.Failed() {
				t.Fatalf("program %d", i)
			}
		}
	}
}

func FuzzFile(f *testing.F) {
	for _, data := range hostile() {
		if len(data) < 4<<10 {
			f.Add(data)
		}
	}
	f.Add(makeDWARF(abbrevs(), madeInfo(), madeLines()))
	f.Fuzz(func(t *testing.T, data []byte) { ask(t, data) })
}

func FuzzBreakpad(f *testing.F) {
	f.Add(breakpadFile)
	for line := range strings.Lines(breakpadFile) {
		f.Add(breakpadFile[:strings.IndexByte(breakpadFile, '\n')+1] + line)
	}
	f.Fuzz(func(t *testing.T, text string) {
		ask(t, fmt.Appendf(nil, "MODULE Linux x86_64 A1B2C3D4E5F60718293A4B5C6D7E8F900 shop\n%s", text))
	})
}
