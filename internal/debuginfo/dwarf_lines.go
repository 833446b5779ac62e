package debuginfo

import (
	"bytes"
	"fmt"
	"path"
)

// lineProgram makes the rows of a unit's lines: a small machine, whose registers are an address, a file and a line.
type lineProgram struct {
	dwarfReader
	version               uint16
	quantum               uint64 // the least size of an instruction
	lineBase              int64
	lineRange, opcodeBase uint64
	operands              []byte // by opcode, from 1 up: how many numbers follow it
	directories           [][]byte
	files                 []lineFile
	sequences             [][]lineRow
	rows                  []lineRow // of the sequence in progress
	addr                  uint64
	file                  uint64
	line                  int64
	unordered             bool
}

// lineFile is a file of a line program, with the index of its directory.
type lineFile struct {
	name      []byte
	directory uint64
}

// maxRows bounds the rows of a unit, 16 bytes each.
const maxRows = maxTables / 16

// readLines makes the rows and the files of the unit.
func (r *unitReader) readLines() error {
	p := lineProgram{dwarfReader: dwarfReader{rest: r.line[r.of.lines:], order: r.image.ByteOrder}}
	if err := p.open(r); err != nil {
		return err
	}
	count := 0
	for p.reset(); len(p.rest) > 0 && !p.bad; {
		if err := r.meter.spend(1); err != nil {
			return err
		}
		before := len(p.rows)
		if ended := p.step(); ended {
			rows := p.rows
			if p.reset(); len(rows) > 1 && r.image.isCode(rows[0].addr) {
				p.sequences = append(p.sequences, rows)
			}
		} else if count += len(p.rows) - before; count > maxRows {
			return fmt.Errorf("%w: more than %d lines in a unit", ErrTooManyBytes, maxRows)
		}
	}
	r.table.sortLines(p.sequences)
	for i := range p.files {
		s := p.path(&p.files[i], r.of.dir)
		if err := r.keep(len(s)); err != nil {
			return err
		}
		r.table.files = append(r.table.files, s)
	}
	return nil
}

// open reads the header.
func (p *lineProgram) open(r *unitReader) error {
	length := uint64(p.uint32())
	if p.wide = length == 0xffffffff; p.wide {
		length = p.uint64()
	}
	p.rest = p.bytes(length)
	if p.version = p.uint16(); p.version < 2 || p.version > 5 {
		return fmt.Errorf("%w: lines of version %d", ErrBinary, p.version)
	}
	if p.version >= 5 {
		p.bytes(2) // the sizes of an address and of a segment
	}
	program := dwarfReader{rest: p.bytes(p.offset())}
	p.rest, program.rest = program.rest, p.rest // the header, and what follows it
	p.quantum = uint64(p.uint8())
	if p.version >= 4 {
		p.uint8() // operations of an instruction
	}
	p.uint8() // whether rows are statements
	p.lineBase = int64(int8(p.uint8()))
	p.lineRange, p.opcodeBase = uint64(p.uint8()), uint64(p.uint8())
	if p.opcodeBase == 0 || p.lineRange == 0 {
		return fmt.Errorf("%w: lines without a range", ErrBinary)
	}
	p.operands = p.bytes(p.opcodeBase - 1)
	err := error(nil)
	if p.version >= 5 {
		err = p.tables(r)
	} else {
		p.oldTables()
	}
	if err == nil && p.bad {
		err = fmt.Errorf("%w: a cut header of lines", ErrBinary)
	}
	p.rest = program.rest
	return err
}

// oldTables reads the directories and files before version 5, which count from 1.
func (p *lineProgram) oldTables() {
	p.directories, p.files = [][]byte{nil}, []lineFile{{}}
	for s := p.text(); len(s) > 0; s = p.text() {
		p.directories = append(p.directories, s)
	}
	for s := p.text(); len(s) > 0; s = p.text() {
		p.files = append(p.files, lineFile{s, p.uleb()})
		p.uleb() // time
		p.uleb() // size
	}
}

// tables reads the directories and files of version 5, which count from 0.
func (p *lineProgram) tables(r *unitReader) error {
	directories, err := p.entries(r)
	for _, d := range directories {
		p.directories = append(p.directories, d.name)
	}
	if err == nil {
		p.files, err = p.entries(r)
	}
	return err
}

// entries reads a list of entries in the form that precedes it. Each takes work, because it can take no bytes.
func (p *lineProgram) entries(r *unitReader) (all []lineFile, err error) {
	format := make([]struct{ what, form uint64 }, p.uint8())
	for i := range format {
		format[i].what, format[i].form = p.uleb(), p.uleb()
	}
	for n := p.uleb(); n > 0 && !p.bad; n-- {
		var f lineFile
		if err := r.meter.spend(2 + len(format)); err != nil {
			return nil, err
		}
		for _, of := range format {
			const path, directory = 1, 2
			s, v, err := p.value(of.form, r)
			if err != nil {
				return nil, err
			}
			switch of.what {
			case path:
				f.name = s
			case directory:
				f.directory = v
			}
		}
		all = append(all, f)
	}
	return all, nil
}

// value reads a value in a form.
func (p *lineProgram) value(form uint64, r *unitReader) (s []byte, v uint64, err error) {
	const (
		data2, data4, data8, text, block, data1 = 0x05, 0x06, 0x07, 0x08, 0x09, 0x0b
		strp, udata, lineStrp, data16           = 0x0e, 0x0f, 0x1f, 0x1e
	)
	switch form {
	case text:
		return p.text(), 0, nil
	case strp:
		return textAt(r.str, p.offset()), 0, nil
	case lineStrp:
		return textAt(r.lineTexts, p.offset()), 0, nil
	case udata:
		return nil, p.uleb(), nil
	case data1:
		return nil, uint64(p.uint8()), nil
	case data2:
		return nil, uint64(p.uint16()), nil
	case data4:
		return nil, uint64(p.uint32()), nil
	case data8:
		return nil, p.uint64(), nil
	case data16:
		p.bytes(16)
	case block:
		p.bytes(p.uleb())
	default:
		return nil, 0, fmt.Errorf("%w: a file of form %#x", ErrBinary, form)
	}
	return nil, 0, nil
}

// textAt returns the text at an offset of a section, cut to maxName bytes.
func textAt(section []byte, at uint64) []byte {
	if at >= uint64(len(section)) {
		return nil
	}
	s := section[at:]
	s, _, _ = bytes.Cut(s[:min(len(s), maxName)], []byte{0})
	return s
}

// path returns a file's path.
func (p *lineProgram) path(f *lineFile, dir string) string {
	name := string(f.name[:min(len(f.name), maxName)])
	if name == "" || path.IsAbs(name) {
		return name
	}
	in := ""
	if f.directory < uint64(len(p.directories)) {
		d := p.directories[f.directory]
		in = string(d[:min(len(d), maxName)])
	}
	if !path.IsAbs(in) {
		in = path.Join(dir, in)
	}
	return cut(path.Join(in, name))
}

// reset begins a sequence.
func (p *lineProgram) reset() {
	p.rows, p.addr, p.file, p.line, p.unordered = nil, 0, 1, 1, false
}

// step does one operation, and reports whether it ended the sequence.
func (p *lineProgram) step() (ended bool) {
	op := uint64(p.uint8())
	if op >= p.opcodeBase {
		op -= p.opcodeBase
		p.addr += op / p.lineRange * p.quantum
		p.line += p.lineBase + int64(op%p.lineRange)
		p.row()
		return false
	}
	const (
		extended, row, advanceAddr, advanceLine, setFile, setColumn = 0, 1, 2, 3, 4, 5
		negate, block, constAdd, fixedAdd, prologue, epilogue       = 6, 7, 8, 9, 10, 11
	)
	switch op {
	case extended:
		return p.extended()
	case row:
		p.row()
	case advanceAddr:
		p.addr += p.uleb() * p.quantum
	case advanceLine:
		p.line += p.sleb()
	case setFile:
		p.file = p.uleb()
	case setColumn:
		p.uleb()
	case negate, block, prologue, epilogue:
	case constAdd:
		p.addr += (255 - p.opcodeBase) / p.lineRange * p.quantum
	case fixedAdd:
		p.addr += uint64(p.uint16())
	default:
		for range p.operands[op-1] {
			p.uleb()
		}
	}
	return false
}

// extended does an operation whose length precedes it.
func (p *lineProgram) extended() (ended bool) {
	const end, setAddress = 1, 2
	in := dwarfReader{rest: p.bytes(p.uleb()), order: p.order}
	switch in.uint8() {
	case end:
		p.file, p.line = ^uint64(0), 0
		p.row()
		if p.unordered {
			p.rows = nil
		}
		return true
	case setAddress:
		if len(in.rest) == 4 {
			p.addr = uint64(in.uint32())
		} else {
			p.addr = in.uint64()
		}
	}
	return false
}

// row adds a row. The last one at an address counts.
func (p *lineProgram) row() {
	at := lineRow{p.addr, -1, 0}
	if p.file < uint64(len(p.files)) {
		at.file = int32(p.file)
	}
	if p.line > 0 && p.line < 1<<31 {
		at.line = int32(p.line)
	}
	n := len(p.rows)
	switch {
	case n > 0 && p.rows[n-1].addr > p.addr:
		p.unordered = true
	case n > 0 && p.rows[n-1].addr == p.addr:
		p.rows[n-1] = at
	case n > 0 && p.rows[n-1].file == at.file && p.rows[n-1].line == at.line:
	default:
		p.rows = append(p.rows, at)
	}
}
