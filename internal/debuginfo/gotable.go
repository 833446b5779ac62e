package debuginfo

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"sort"
)

// goTable is the table that the runtime of a Go program finds functions, lines and inlined calls by (.gopclntab). It has
// been in this form since Go 1.20.
//
//	header     magic, sizes, the number of functions, where the other tables are
//	functions  (entry, where its record is) for each function, by entry
//	record     name, tables of files, of lines and of data by address, pointers to more data
//	tables     pairs of differences, of the value and of the address, as varints
type goTable struct {
	image *image
	order binary.ByteOrder
	data  []byte

	quantum   uint64 // the least size of an instruction
	functions int
	text      uint64 // the address that entries count from
	calls     uint64 // the address that data of functions counts from, 0 if unknown

	names, units, files, values, records []byte // tables, up to the end of data
}

const (
	goMagic       = 0xfffffff1 // Go 1.20 and later
	goHeaderWords = 8          // words behind the first 8 bytes
	goEntry       = 8          // bytes of a function
	goRecord      = 44         // bytes of a record before its lists
	goInlined     = 16         // bytes of an inlined call
	// The indexes of the tables of inlined calls in a record's lists.
	goInlinedIndex, goInlinedTree = 2, 3
	// The words of the runtime's description of a program (moduledata): the header, the table of names, the start of the
	// code and the data of functions.
	moduleNames, moduleText, moduleCalls = 1, 22, 40
)

// goFrames returns the frames of a Go function.
func (f *Info) goFrames(addr uint64) []NamedFrame {
	t := part(f, &f.pclntab, f.readGoTable)
	if t == nil {
		return nil
	}
	return t.frames(addr)
}

// readGoTable returns the table of a Go program, or nil if the file has none that can be read.
func (f *Info) readGoTable() (*goTable, error) {
	s := f.elf.Section(".gopclntab")
	if s == nil {
		s = f.elf.Section(".data.rel.ro.gopclntab")
	}
	if s == nil {
		return nil, nil
	}
	data, err := f.section(s.Name)
	if data == nil || err != nil {
		return nil, err
	}
	t := &goTable{image: f.elf, order: f.elf.ByteOrder, data: data}
	known, err := t.open(s.Addr)
	if !known || err != nil {
		f.bytes -= int64(len(data))
		return nil, err
	}
	return t, nil
}

// open reads the header. It returns false for the form of another version of Go.
func (t *goTable) open(at uint64) (known bool, err error) {
	word := uint64(8)
	if t.image.Class == elf.ELFCLASS32 {
		word = 4
	}
	if uint64(len(t.data)) < 8+goHeaderWords*word {
		return false, fmt.Errorf("%w: a table of Go functions of %d bytes", ErrBinary, len(t.data))
	}
	if t.order.Uint32(t.data) != goMagic {
		return false, nil
	}
	if uint64(t.data[7]) != word {
		return false, fmt.Errorf("%w: a table of Go functions for words of %d bytes", ErrBinary, t.data[7])
	}
	t.quantum = max(1, uint64(t.data[6]))
	header := make([]uint64, goHeaderWords)
	for i := range header {
		header[i] = t.word(t.data[8+uint64(i)*word:])
	}
	for i, to := range []*[]byte{&t.names, &t.units, &t.files, &t.values, &t.records} {
		if header[3+i] > uint64(len(t.data)) {
			return false, fmt.Errorf("%w: a part of the table of Go functions at %d of %d bytes", ErrBinary, header[3+i], len(t.data))
		}
		*to = t.data[header[3+i]:]
	}
	if header[0] > uint64(len(t.records))/goEntry {
		return false, fmt.Errorf("%w: %d Go functions in %d bytes", ErrBinary, header[0], len(t.records))
	}
	t.functions = int(header[0])
	t.findModule(at, at+header[3], word)
	if t.text == 0 {
		if t.text = header[2]; !t.image.isCode(t.text) {
			t.text = t.image.code[0].Vaddr
			if s := t.image.Section(".text"); s != nil {
				t.text = s.Addr
			}
		}
	}
	return true, nil
}

func (t *goTable) word(b []byte) uint64 {
	if t.image.Class == elf.ELFCLASS32 {
		return uint64(t.order.Uint32(b))
	}
	return t.order.Uint64(b)
}

// findModule finds the runtime's description of the program, which begins with the addresses of the table and of the names
// in it. It says where code starts, and where the data of functions is. In a program for any address these words are
// relocations.
func (t *goTable) findModule(table, names, word uint64) {
	for _, name := range []string{".go.module", ".noptrdata", ".data", ".data.rel.ro"} {
		s := t.image.Section(name)
		const most = 64 << 20
		if s == nil || s.Type == elf.SHT_NOBITS || s.Flags&elf.SHF_COMPRESSED != 0 || s.Size > uint64(t.image.size) || s.Size > most {
			continue
		}
		data, err := s.Data()
		if err != nil {
			continue
		}
		for at := uint64(0); at+(moduleCalls+1)*word <= uint64(len(data)); at += word {
			if t.word(data[at:]) == table && t.word(data[at+moduleNames*word:]) == names {
				t.text, t.calls = t.word(data[at+moduleText*word:]), t.word(data[at+moduleCalls*word:])
				return
			}
		}
	}
	t.findRelocated(table, names)
}

// findRelocated finds the description of a program for any address, on machines with words of 8 bytes.
func (t *goTable) findRelocated(table, names uint64) {
	s := t.image.Section(".rela.dyn")
	const each, word = 24, 8
	if s == nil || t.image.Class == elf.ELFCLASS32 || s.Size > uint64(t.image.size) || s.Flags&elf.SHF_COMPRESSED != 0 {
		return
	}
	data, err := s.Data()
	if err != nil {
		return
	}
	text, calls, begins := map[uint64]uint64{}, map[uint64]uint64{}, map[uint64]bool{}
	const most = 64 // places with the address of the table: one in a compiler's file
	for at := 0; at+each <= len(data) && len(begins) < most; at += each {
		if t.order.Uint64(data[at+16:]) == table {
			begins[t.order.Uint64(data[at:])] = true
		}
	}
	named := map[uint64]bool{}
	for at := 0; at+each <= len(data); at += each {
		where, what := t.order.Uint64(data[at:]), t.order.Uint64(data[at+16:])
		switch {
		case begins[where-moduleNames*word] && what == names:
			named[where-moduleNames*word] = true
		case begins[where-moduleText*word]:
			text[where-moduleText*word] = what
		case begins[where-moduleCalls*word]:
			calls[where-moduleCalls*word] = what
		}
	}
	for begin := range named {
		t.text, t.calls = text[begin], calls[begin]
	}
}

// goFunction is a function's record.
type goFunction struct {
	entry  uint64
	record []byte // from its beginning to the end of the table
	inline uint64 // the address of its inlined calls, 0 if it has none
}

// find returns the function at an address.
func (t *goTable) find(addr uint64) (goFunction, bool) {
	if addr < t.text || addr-t.text > 1<<32-1 {
		return goFunction{}, false
	}
	at := uint32(addr - t.text)
	entry := func(i int) uint32 { return t.order.Uint32(t.records[i*goEntry:]) }
	i := sort.Search(t.functions, func(i int) bool { return entry(i) > at }) - 1
	// Behind the last function is the end of the code.
	if end := t.functions * goEntry; i < 0 || i == t.functions-1 && (end+4 > len(t.records) || at >= t.order.Uint32(t.records[end:])) {
		return goFunction{}, false
	}
	where := t.order.Uint32(t.records[i*goEntry+4:])
	if uint64(where)+goRecord > uint64(len(t.records)) {
		return goFunction{}, false
	}
	f := goFunction{entry: t.text + uint64(entry(i)), record: t.records[where:]}
	tree := goRecord + 4*(uint64(t.field(f, 7))+goInlinedTree)
	if has := f.record[43]; t.calls != 0 && has > goInlinedTree && tree+4 <= uint64(len(f.record)) {
		if offset := t.order.Uint32(f.record[tree:]); offset != ^uint32(0) {
			f.inline = t.calls + uint64(offset)
		}
	}
	return f, true
}

// field returns a number of a function's record: 1 its name, 5 and 6 its tables of files and lines, 7 the number of tables
// that follow the record, 8 its unit, 9 its first line.
func (t *goTable) field(f goFunction, i int) uint32 { return t.order.Uint32(f.record[4*i:]) }

// frames returns the frames at an address: inlined calls first. Each says where in the function it was called.
func (t *goTable) frames(addr uint64) (frames []NamedFrame) {
	f, ok := t.find(addr)
	if !ok {
		return nil
	}
	for len(frames) < maxInlined {
		name, start, up, inlined := t.inlined(f, addr)
		file, line := t.line(f, addr)
		if !inlined {
			return append(frames, NamedFrame{t.string(t.names, t.field(f, 1)), file, line, int64(int32(t.field(f, 9)))})
		}
		frames = append(frames, NamedFrame{name, file, line, start})
		addr = f.entry + uint64(up)
	}
	return frames
}

// inlined returns the inlined call at an address of a function, and where in the function it was called.
func (t *goTable) inlined(f goFunction, addr uint64) (name string, start int64, up uint32, ok bool) {
	at := goRecord + 4*goInlinedIndex
	if f.inline == 0 || t.field(f, 7) <= goInlinedIndex || at+4 > len(f.record) {
		return "", 0, 0, false
	}
	i, ok := t.value(f, t.order.Uint32(f.record[at:]), addr)
	if !ok || i < 0 {
		return "", 0, 0, false
	}
	call, ok := t.image.at(f.inline+uint64(i)*goInlined, goInlined)
	if !ok {
		return "", 0, 0, false
	}
	return t.string(t.names, t.order.Uint32(call[4:])), int64(int32(t.order.Uint32(call[12:]))), t.order.Uint32(call[8:]), true
}

// line returns the file and line at an address of a function.
func (t *goTable) line(f goFunction, addr uint64) (file string, line int64) {
	if n, ok := t.value(f, t.field(f, 5), addr); ok && n >= 0 {
		at := 4 * (uint64(t.field(f, 8)) + uint64(n))
		if at+4 <= uint64(len(t.units)) {
			if offset := t.order.Uint32(t.units[at:]); offset != ^uint32(0) {
				file = t.string(t.files, offset)
			}
		}
	}
	if n, ok := t.value(f, t.field(f, 6), addr); ok && n > 0 {
		line = int64(n)
	}
	return file, line
}

// value returns what the table at an offset says for an address of a function.
func (t *goTable) value(f goFunction, offset uint32, addr uint64) (int32, bool) {
	if offset == 0 || uint64(offset) >= uint64(len(t.values)) {
		return 0, false
	}
	rest, value, pc := t.values[offset:], int32(-1), f.entry
	for first := true; ; first = false {
		by, n := binary.Uvarint(rest)
		if n <= 0 || by == 0 && !first {
			return 0, false
		}
		length, m := binary.Uvarint(rest[n:])
		if m <= 0 {
			return 0, false
		}
		rest = rest[n+m:]
		value += int32(uint32(by)>>1) ^ -int32(by&1)
		if pc += length * t.quantum; addr < pc {
			return value, true
		}
	}
}

// string returns the text at an offset, which ends with a zero.
func (t *goTable) string(in []byte, offset uint32) string {
	if uint64(offset) >= uint64(len(in)) {
		return ""
	}
	in = in[offset:]
	s, _, _ := bytes.Cut(in[:min(len(in), maxName)], []byte{0})
	return string(s)
}
