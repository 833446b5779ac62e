package debuginfo

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// section is one of an ELF file that a test makes.
type section struct {
	name  string
	kind  elf.SectionType
	flags elf.SectionFlag
	data  []byte
	size  uint64 // that the header claims, if not that of data
}

// makeELF returns an ELF file whose only segment has code from 0x1000 to 0x2000.
func makeELF(sections ...section) []byte {
	const header, program, entry = 64, 56, 64
	names := []byte{0}
	body := bytes.NewBuffer(make([]byte, header+program))
	headers := bytes.NewBuffer(make([]byte, entry))
	put := func(b *bytes.Buffer, v any) { _ = binary.Write(b, binary.LittleEndian, v) }
	for _, s := range append(sections, section{name: ".shstrtab", kind: elf.SHT_STRTAB}) {
		name := len(names)
		if names = append(append(names, s.name...), 0); s.name == ".shstrtab" {
			s.data = names
		}
		size := uint64(len(s.data))
		if s.size != 0 {
			size = s.size
		}
		put(headers, elf.Section64{Name: uint32(name), Type: uint32(s.kind), Flags: uint64(s.flags), Off: uint64(body.Len()), Size: size, Addr: 0x1000, Addralign: 1})
		body.Write(s.data)
	}
	out := body.Bytes()
	var head, prog bytes.Buffer
	put(&head, elf.Header64{
		Ident:   [elf.EI_NIDENT]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)},
		Type:    uint16(elf.ET_EXEC),
		Machine: uint16(elf.EM_X86_64), Version: uint32(elf.EV_CURRENT), Ehsize: header, Phoff: header, Phentsize: program, Phnum: 1,
		Shoff: uint64(len(out)), Shentsize: entry, Shnum: uint16(len(sections) + 2), Shstrndx: uint16(len(sections) + 1),
	})
	put(&prog, elf.Prog64{Type: uint32(elf.PT_LOAD), Flags: uint32(elf.PF_X | elf.PF_R), Vaddr: 0x1000, Filesz: uint64(len(out)), Memsz: 0x1000})
	copy(out, head.Bytes())
	copy(out[header:], prog.Bytes())
	return append(out, headers.Bytes()...)
}

// bin joins bytes, texts that end with a zero, and numbers in little endian.
func bin(parts ...any) []byte {
	var b bytes.Buffer
	for _, p := range parts {
		switch p := p.(type) {
		case string:
			b.WriteString(p)
			b.WriteByte(0)
		case int:
			b.WriteByte(byte(p))
		case []byte:
			b.Write(p)
		default:
			_ = binary.Write(&b, binary.LittleEndian, p)
		}
	}
	return b.Bytes()
}

// sized precedes bytes by their length.
func sized(b []byte) []byte { return bin(uint32(len(b)), b) }

// abbrevs describes the entries of madeInfo: a unit, a function, an inlined call, and the function it is of.
func abbrevs() []byte {
	return bin(
		1, 0x11, 1, 0x10, 0x17, 0x11, 0x01, 0x12, 0x06, 0x1b, 0x08, 0, 0,
		2, 0x2e, 1, 0x03, 0x08, 0x11, 0x01, 0x12, 0x06, 0x3b, 0x0b, 0, 0,
		3, 0x1d, 0, 0x31, 0x13, 0x11, 0x01, 0x12, 0x06, 0x58, 0x0b, 0x59, 0x0b, 0, 0,
		4, 0x2e, 0, 0x03, 0x08, 0, 0,
		0)
}

// madeInfo is a unit with the function outer, from 0x1100 to 0x1200, and inner, inlined into it from 0x1120 to 0x1140.
func madeInfo() []byte {
	unit := bin(uint16(4), uint32(0), 8)
	unit = append(unit, bin(1, uint32(0), uint64(0x1000), uint32(0x800), "/src")...)
	origin := uint32(4 + len(unit))
	unit = append(unit, bin(4, "inner")...)
	unit = append(unit, bin(2, "outer", uint64(0x1100), uint32(0x100), 7)...)
	unit = append(unit, bin(3, origin, uint64(0x1120), uint32(0x20), 1, 9, 0, 0)...)
	return sized(unit)
}

// lineHeader is a header of version 4 with a file.
func lineHeader(tables []byte, program []byte) []byte {
	fields := bin(1, 1, 1, 0xfb, 14, 13, []byte{0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1}, tables)
	return sized(bin(uint16(4), sized(fields), program))
}

func madeLines() []byte {
	return lineHeader(bin("lib", 0, "a.c", 1, 0, 0, "/abs/b.c", 0, 0, 0, 0), bin(
		0, 9, 2, uint64(0x1100), 3, 7, 1, // line 8 at 0x1100
		2, 0x20, 4, 2, 1, // b.c
		2, 0x20, 4, 1, 3, 1, 1, // a.c, line 9
		2, 0x80, 1, 0, 1, 1))
}

func makeDWARF(abbrev, info, lines []byte, more ...section) []byte {
	return makeELF(append([]section{
		{name: ".debug_abbrev", kind: elf.SHT_PROGBITS, data: abbrev},
		{name: ".debug_info", kind: elf.SHT_PROGBITS, data: info},
		{name: ".debug_line", kind: elf.SHT_PROGBITS, data: lines},
	}, more...)...)
}

func makeFile(t testing.TB, data []byte) *Info {
	t.Helper()
	f, err := New(bytes.NewReader(data), int64(len(data)), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestMadeDWARF(t *testing.T) {
	f := makeFile(t, makeDWARF(abbrevs(), madeInfo(), madeLines()))
	for _, c := range []struct {
		addr uint64
		want []NamedFrame
	}{
		{0x1100, []NamedFrame{{"outer", "/src/lib/a.c", 8, 7}}},
		{0x1120, []NamedFrame{{"inner", "/abs/b.c", 8, 0}, {"outer", "/src/lib/a.c", 9, 7}}},
		{0x113f, []NamedFrame{{"inner", "/abs/b.c", 8, 0}, {"outer", "/src/lib/a.c", 9, 7}}},
		{0x1140, []NamedFrame{{"outer", "/src/lib/a.c", 9, 7}}},
		{0x10ff, nil},
		{0x1200, nil},
		{0x5000, nil},
	} {
		if diff := cmp.Diff(c.want, f.Frames(MappedAddress{Address: c.addr})); diff != "" {
			t.Errorf("%#x: (-want +got)\n%s", c.addr, diff)
		}
	}
	if err := f.Problem(); err != nil {
		t.Error(err)
	}
}

const breakpadFile = `MODULE Linux x86_64 A1B2C3D4E5F60718293A4B5C6D7E8F900 shop
INFO CODE_ID D4C3B2A1F6E51807293A4B5C6D7E8F9001020304
FILE 0 /src/a.c
FILE 7 /src/b.c
INLINE_ORIGIN 0 inner(int)
INLINE_ORIGIN 1 deepest()
FUNC 1100 100 0 outer(int)
INLINE 0 9 0 0 1120 20 1160 10
INLINE 1 33 7 1 1124 4
1100 20 8 0
1120 20 44 7
1140 c0 9 0
FUNC m 1200 10 0 last
1200 10 70 7
PUBLIC 2000 0 asm_entry
STACK CFI INIT 1100 100 .cfa: $rsp 8 +
`

func TestBreakpad(t *testing.T) {
	f := makeFile(t, []byte(breakpadFile))
	if diff := cmp.Diff([]string{"d4c3b2a1f6e51807293a4b5c6d7e8f9001020304", "d4c3b2a1f6e51807293a4b5c6d7e8f90"}, f.BuildIDs); diff != "" {
		t.Errorf("build ids: (-want +got)\n%s", diff)
	}
	outer := func(line int64) NamedFrame { return NamedFrame{Function: "outer(int)", File: "/src/a.c", Line: line} }
	for _, c := range []struct {
		addr uint64
		want []NamedFrame
	}{
		{0x1100, []NamedFrame{outer(8)}},
		{0x1120, []NamedFrame{{Function: "inner(int)", File: "/src/b.c", Line: 44}, outer(9)}},
		{0x1124, []NamedFrame{{Function: "deepest()", File: "/src/b.c", Line: 44}, {Function: "inner(int)", File: "/src/b.c", Line: 33}, outer(9)}},
		{0x1165, []NamedFrame{{Function: "inner(int)", File: "/src/a.c", Line: 9}, outer(9)}},
		{0x1205, []NamedFrame{{Function: "last", File: "/src/b.c", Line: 70}}},
		{0x2004, []NamedFrame{{Function: "asm_entry"}}},
		{0x10ff, nil},
	} {
		const start = 0x7f0000000000
		for _, at := range []MappedAddress{{Address: c.addr}, {start, 0x1000, start + c.addr - 0x1000}} {
			if diff := cmp.Diff(c.want, f.Frames(at)); diff != "" {
				t.Errorf("%#x: (-want +got)\n%s", c.addr, diff)
			}
		}
	}
	for _, bad := range []string{
		"MODULE Linux x86_64 12 shop\n", "MODULE \n", "MODULE Linux x86_64 ZZB2C3D4E5F60718293A4B5C6D7E8F900 shop\n",
		strings.Replace(breakpadFile, "FUNC 1100", "FUNC xyz", 1), strings.Replace(breakpadFile, "1100 20 8 0", "1100 20 eight 0", 1),
		strings.Replace(breakpadFile, "INLINE 0 9 0 0 1120", "INLINE 0 9 0 5 1120", 1), strings.Replace(breakpadFile, "PUBLIC 2000", "PUBLIC", 1),
		breakpadFile + strings.Repeat("x", 2*maxLine), "INLINE 0 9\n" + breakpadFile,
	} {
		if _, err := New(strings.NewReader(bad), int64(len(bad)), Limits{}); err == nil {
			t.Errorf("%.60q is taken", bad)
		}
	}
}
