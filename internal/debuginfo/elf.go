package debuginfo

import (
	"bytes"
	"debug/elf"
	"encoding/hex"
	"fmt"
	"io"
)

// image is an ELF file: where its code is, and its sections.
type image struct {
	*elf.File
	size     int64
	code     []elf.ProgHeader // executable segments
	lowest   uint64           // the address of the first segment, rounded down to a page
	stripped bool             // the file has no code: it is the debug information of another one
}

// page is the least size of a page, to which mappings are rounded.
const page = 4096

func (f *Info) openELF(r io.ReaderAt, size int64) error {
	of, err := elf.NewFile(r)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrBinary, err)
	}
	e := &image{File: of, size: size, lowest: ^uint64(0)}
	for _, p := range of.Progs {
		if p.Type != elf.PT_LOAD {
			continue
		}
		e.lowest = min(e.lowest, p.Vaddr-p.Vaddr%page)
		if p.Flags&elf.PF_X != 0 {
			e.code = append(e.code, p.ProgHeader)
		}
	}
	if len(e.code) == 0 {
		return fmt.Errorf("%w: the ELF file has no executable segment: it is of type %s", ErrBinary, of.Type)
	}
	if text := of.Section(".text"); text != nil && text.Type == elf.SHT_NOBITS {
		e.stripped = true
	}
	if f.elf = e; e.buildID() != "" {
		f.BuildIDs = []string{e.buildID()}
	}
	return nil
}

// isCode reports whether an address is in an executable segment. Code that the linker dropped is at other addresses.
func (e *image) isCode(addr uint64) bool {
	for i := range e.code {
		if addr-e.code[i].Vaddr < e.code[i].Memsz {
			return true
		}
	}
	return false
}

// virtual returns the address in the binary of a place in a process.
func (e *image) virtual(at MappedAddress) (uint64, bool) {
	if at.Start == 0 {
		return at.Address, e.isCode(at.Address)
	}
	if !e.stripped {
		offset := at.Address - at.Start + at.Offset
		for i := range e.code {
			if in := offset - e.code[i].Off; in < e.code[i].Filesz {
				return e.code[i].Vaddr + in, true
			}
		}
	} else if addr, ok := e.virtualByStart(at); ok {
		return addr, true
	}
	return at.Address, e.isCode(at.Address) // the process has the addresses of the file
}

// virtualByStart is virtual for a file whose segments have no offsets any more: a mapping from offset 0 starts with the
// first segment, another one with its own segment.
func (e *image) virtualByStart(at MappedAddress) (uint64, bool) {
	in := at.Address - at.Start
	if at.Offset == 0 {
		return e.lowest + in, e.isCode(e.lowest + in)
	}
	for i := range e.code {
		start := e.code[i].Vaddr - e.code[i].Vaddr%page
		if in < e.code[i].Memsz+page && e.isCode(start+in) {
			return start + in, true
		}
	}
	return 0, false
}

// maxNote bounds a section of notes. They take some hundred bytes.
const maxNote = 64 << 10

// buildID returns the id that the linker gave to the binary, or an empty text.
func (e *image) buildID() string {
	for _, s := range e.Sections {
		if s.Type != elf.SHT_NOTE || s.FileSize > maxNote || s.Flags&elf.SHF_COMPRESSED != 0 {
			continue
		}
		if notes, err := s.Data(); err == nil {
			if id := e.idIn(notes); id != "" {
				return id
			}
		}
	}
	for _, p := range e.Progs { // of a file without sections
		if p.Type != elf.PT_NOTE || p.Filesz > maxNote {
			continue
		}
		notes := make([]byte, p.Filesz)
		if _, err := p.ReadAt(notes, 0); err == nil {
			if id := e.idIn(notes); id != "" {
				return id
			}
		}
	}
	return ""
}

// idIn returns the build id among notes: each has the lengths of its name and of its value, a type, and both.
func (e *image) idIn(notes []byte) string {
	const header, typeBuildID, longest = 12, 3, 64
	for len(notes) >= header {
		name, value := e.ByteOrder.Uint32(notes), e.ByteOrder.Uint32(notes[4:])
		kind, rest := e.ByteOrder.Uint32(notes[8:]), notes[header:]
		padded := (uint64(name) + 3) &^ 3
		if padded+uint64(value) > uint64(len(rest)) {
			return ""
		}
		if kind == typeBuildID && bytes.Equal(rest[:name], []byte("GNU\x00")) && value > 0 && value <= longest {
			return hex.EncodeToString(rest[padded : padded+uint64(value)])
		}
		notes = rest[min((padded+uint64(value)+3)&^3, uint64(len(rest))):]
	}
	return ""
}

// section returns a section's bytes, decompressed, or nil if the file has none. The caller holds mu.
func (f *Info) section(name string) ([]byte, error) {
	s := f.elf.Section(name)
	if s == nil || s.Type == elf.SHT_NOBITS || s.Size == 0 {
		return nil, nil
	}
	// A compressed section is not trusted beyond the size of the file, because a byte of deflate expands to at most 1,032.
	most := uint64(f.elf.size)
	if s.Flags&elf.SHF_COMPRESSED != 0 {
		most *= 1032
	}
	if s.Size > most {
		return nil, fmt.Errorf("%w: section %s of %d bytes is longer than the file", ErrBinary, name, s.Size)
	}
	if err := f.take("section "+name, int64(min(s.Size, 1<<62))); err != nil {
		return nil, err
	}
	data := make([]byte, s.Size)
	if _, err := io.ReadFull(s.Open(), data); err != nil {
		f.bytes -= int64(s.Size)
		return nil, fmt.Errorf("%w: section %s: %w", ErrBinary, name, err)
	}
	return data, nil
}

// at reads n bytes at an address of the binary, from the file.
func (e *image) at(addr uint64, n int) ([]byte, bool) {
	for _, p := range e.Progs {
		if in := addr - p.Vaddr; p.Type == elf.PT_LOAD && in < p.Filesz && uint64(n) <= p.Filesz-in {
			data := make([]byte, n)
			_, err := p.ReadAt(data, int64(in))
			return data, err == nil
		}
	}
	return nil, false
}
