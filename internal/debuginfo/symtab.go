package debuginfo

import (
	"bytes"
	"cmp"
	"debug/elf"
	"slices"
	"sort"
)

// symbolTable has the functions of a table of symbols, by address.
type symbolTable struct {
	symbols []symbol
	names   []byte // each ends with a zero
}

type symbol struct {
	addr, size uint64
	name       uint32 // where it begins in names
}

// symbolAt returns the function at an address.
func (f *Info) symbolAt(addr uint64) (string, bool) {
	t := part(f, &f.symbols, func() (*symbolTable, error) {
		t, err := f.symbolsOf(".symtab", ".strtab")
		if t == nil || len(t.symbols) == 0 {
			f.noteIf(err)
			return f.symbolsOf(".dynsym", ".dynstr")
		}
		return t, err
	})
	return t.at(addr)
}

func (f *Info) noteIf(err error) {
	if err != nil {
		f.note(err)
	}
}

// symbolsOf reads a table of symbols. It returns nil if there is none.
func (f *Info) symbolsOf(of, names string) (*symbolTable, error) {
	data, err := f.section(of)
	if data == nil || err != nil {
		return nil, err
	}
	defer func() { f.bytes -= int64(len(data)) }()
	t := &symbolTable{}
	if t.names, err = f.section(names); err != nil {
		return nil, err
	}
	each := elf.Sym64Size
	if f.elf.Class == elf.ELFCLASS32 {
		each = elf.Sym32Size
	}
	functions := 0
	for at := 0; at+each <= len(data); at += each {
		if _, ok := f.elf.function(data[at:]); ok {
			functions++
		}
	}
	const bytes = 24 // of a symbol
	if err := f.take("the table of symbols", int64(functions)*bytes); err != nil {
		return nil, err
	}
	t.symbols = make([]symbol, 0, functions)
	for at := 0; at+each <= len(data); at += each {
		if s, ok := f.elf.function(data[at:]); ok {
			t.symbols = append(t.symbols, s)
		}
	}
	t.sort()
	return t, nil
}

// function decodes a symbol, and reports whether it is a function of this file.
func (e *image) function(data []byte) (symbol, bool) {
	s, info := symbol{name: e.ByteOrder.Uint32(data)}, byte(0)
	if e.Class == elf.ELFCLASS32 {
		s.addr, s.size, info = uint64(e.ByteOrder.Uint32(data[4:])), uint64(e.ByteOrder.Uint32(data[8:])), data[12]
	} else {
		s.addr, s.size, info = e.ByteOrder.Uint64(data[8:]), e.ByteOrder.Uint64(data[16:]), data[4]
	}
	kind := elf.ST_TYPE(info)
	return s, (kind == elf.STT_FUNC || kind == elf.STT_GNU_IFUNC) && e.isCode(s.addr)
}

// sort orders the symbols. Of those at one address, one with a size is last, where at finds it.
func (t *symbolTable) sort() {
	slices.SortStableFunc(t.symbols, func(a, b symbol) int {
		return cmp.Or(cmp.Compare(a.addr, b.addr), cmp.Compare(a.size, b.size))
	})
}

// at returns the name of the function at an address. One without a size, as of an assembler, reaches to the next one.
func (t *symbolTable) at(addr uint64) (string, bool) {
	if t == nil {
		return "", false
	}
	i := sort.Search(len(t.symbols), func(i int) bool { return t.symbols[i].addr > addr })
	if i == 0 {
		return "", false
	}
	s := &t.symbols[i-1]
	if s.size > 0 && addr-s.addr >= s.size || uint64(s.name) >= uint64(len(t.names)) {
		return "", false
	}
	name, _, _ := bytes.Cut(t.names[s.name:min(uint64(len(t.names)), uint64(s.name)+maxName)], []byte{0})
	return string(name), len(name) > 0
}
