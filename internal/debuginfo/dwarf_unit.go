package debuginfo

import (
	"debug/dwarf"
	"encoding/binary"
	"fmt"
)

// unitHeaders returns the units of .debug_info, without their ranges. It bounds the work of the standard library, which
// reads the table of abbreviations at each offset that a unit names.
func unitHeaders(info, abbrev []byte, order binary.ByteOrder) (all []unit, err error) {
	seen := map[uint64]bool{}
	m := newMeter(int64(len(abbrev)), nil)
	for at := 0; at < len(info); {
		h, err := unitHeader(info[at:], order)
		if err != nil {
			return nil, fmt.Errorf("%w at %d of .debug_info", err, at)
		}
		if !seen[h.abbrev] {
			seen[h.abbrev] = true
			if err := m.spend(abbrevBytes(abbrev, h.abbrev)); err != nil {
				return nil, err
			}
		}
		if h.whole > h.first {
			all = append(all, unit{entry: dwarf.Offset(at + h.first), bytes: int64(h.whole), lines: -1})
		}
		at += h.whole
	}
	return all, nil
}

// unitLengths has the lengths of a unit's header and of the unit with it, and where its abbreviations are.
type unitLengths struct {
	first, whole int
	abbrev       uint64
}

func unitHeader(b []byte, order binary.ByteOrder) (h unitLengths, err error) {
	r := dwarfReader{rest: b, order: order}
	length := uint64(r.uint32())
	r.wide = length == 0xffffffff
	if r.wide {
		length = r.uint64()
	}
	before := len(b) - len(r.rest)
	if r.bad || length > uint64(len(r.rest)) {
		return h, fmt.Errorf("%w: a unit of %d bytes", ErrBinary, length)
	}
	h.whole = before + int(length)
	if length == 0 {
		h.first = h.whole
		return h, nil
	}
	version, kind := r.uint16(), byte(0)
	if version >= 5 {
		kind = r.uint8()
		r.uint8() // bytes of an address
	}
	h.abbrev = r.offset()
	if version < 5 {
		r.uint8()
	}
	switch kind {
	case 2, 6: // types: a signature and an offset
		r.uint64()
		r.offset()
	case 4, 5: // a skeleton: an id
		r.uint64()
	}
	h.first = len(b) - len(r.rest)
	if r.bad {
		err = fmt.Errorf("%w: a cut header", ErrBinary)
	}
	return h, err
}

// abbrevBytes returns the length of the table of abbreviations at an offset.
func abbrevBytes(abbrev []byte, at uint64) int {
	if at >= uint64(len(abbrev)) {
		return 0
	}
	r := dwarfReader{rest: abbrev[at:]}
	for r.uleb() != 0 && !r.bad {
		r.uleb()  // tag
		r.uint8() // whether it has children
		for !r.bad {
			name, form := r.uleb(), r.uleb()
			if form == 0x21 { // a constant in the table
				r.uleb()
			}
			if name == 0 && form == 0 {
				break
			}
		}
	}
	return len(abbrev) - int(at) - len(r.rest)
}

// unitReader makes a unit's table.
type unitReader struct {
	*units
	of     *unit
	meter  *meter
	table  *table
	spans  []span
	named  map[dwarf.Offset]origin // by the offset of an entry
	byName map[string]int32        // index in table.names
	texts  int                     // bytes of names and files
}

// origin is what an entry says about its function.
type origin struct {
	name  int32
	start int32
}

// read makes a unit's table.
func (u *units) read(of *unit) (t *table, err error) {
	defer recovered(&err)
	m := newMeter(of.bytes, u.work)
	if of.read {
		m.whole = nil
	}
	of.read = true
	r := unitReader{units: u, of: of, meter: m, table: &table{}, named: map[dwarf.Offset]origin{}, byName: map[string]int32{}}
	if of.lines >= 0 && of.lines < int64(len(u.line)) {
		if err := r.readLines(); err != nil {
			return nil, err
		}
	}
	if err := r.readCalls(); err != nil {
		return nil, err
	}
	r.table.nest(r.spans)
	return r.table, nil
}

// readCalls reads the functions of the unit, and their inlined calls.
func (r *unitReader) readCalls() error {
	in := r.data.Reader()
	in.Seek(r.of.entry)
	for depth := int32(0); ; {
		e, err := in.Next()
		if err != nil {
			return fmt.Errorf("%w: %w", ErrBinary, err)
		}
		if e == nil {
			return nil
		}
		if e.Tag == 0 {
			if depth--; depth <= 0 {
				return nil
			}
			continue
		}
		if err := r.meter.spend(costOf(e)); err != nil {
			return err
		}
		if e.Tag == dwarf.TagSubprogram || e.Tag == dwarf.TagInlinedSubroutine {
			if err := r.add(e, depth); err != nil {
				return err
			}
		}
		switch {
		case !e.Children:
			if depth == 0 {
				return nil
			}
		case r.hasNoCode(e.Tag):
			in.SkipChildren()
		default:
			depth++
		}
	}
}

// hasNoCode reports whether entries below one of a kind have no code.
func (r *unitReader) hasNoCode(tag dwarf.Tag) bool {
	switch tag {
	case dwarf.TagEnumerationType, dwarf.TagArrayType, dwarf.TagSubroutineType:
		return true
	case dwarf.TagStructType, dwarf.TagClassType, dwarf.TagUnionType:
		return r.of.isPlain
	}
	return false
}

// add adds a call with its ranges.
func (r *unitReader) add(e *dwarf.Entry, depth int32) error {
	ranges, err := r.rangesOf(e, r.meter)
	if err != nil || len(ranges) == 0 {
		return err
	}
	of, err := r.origin(e, 0)
	if err != nil {
		return err
	}
	c := call{name: of.name, parent: -1, file: -1, start: of.start}
	if file, ok := e.Val(dwarf.AttrCallFile).(int64); ok && file >= 0 && file < int64(len(r.table.files)) {
		c.file = int32(file)
	}
	if line, ok := e.Val(dwarf.AttrCallLine).(int64); ok && line >= 0 && line < 1<<31 {
		c.line = int32(line)
	}
	r.table.calls = append(r.table.calls, c)
	for _, at := range ranges {
		r.spans = append(r.spans, span{at[0], at[1], depth, int32(len(r.table.calls) - 1)})
	}
	return nil
}

// origin returns the name of an entry's function, which can be that of the entry that it refers to, in this unit or
// another one.
func (r *unitReader) origin(e *dwarf.Entry, steps int) (of origin, err error) {
	if known, ok := r.named[e.Offset]; ok {
		return known, nil
	}
	name, _ := e.Val(dwarf.AttrLinkageName).(string)
	if name == "" {
		name, _ = e.Val(attrMIPSLinkageName).(string)
	}
	start, _ := e.Val(dwarf.AttrDeclLine).(int64)
	if name == "" {
		name, of, err = r.referred(e, steps)
		if err != nil {
			return of, err
		}
	}
	if name != "" {
		if of.name, err = r.name(name); err != nil {
			return of, err
		}
	}
	if start > 0 && start < 1<<31 {
		of.start = int32(start)
	}
	r.named[e.Offset] = of
	return of, nil
}

// attrMIPSLinkageName is what compilers named functions by before DWARF 4.
const attrMIPSLinkageName = dwarf.Attr(0x2007)

// referred returns what the entry says that e refers to, or e's plain name if it refers to none.
func (r *unitReader) referred(e *dwarf.Entry, steps int) (name string, of origin, err error) {
	to, ok := e.Val(dwarf.AttrAbstractOrigin).(dwarf.Offset)
	if !ok {
		to, ok = e.Val(dwarf.AttrSpecification).(dwarf.Offset)
	}
	if ok && steps < maxOrigins {
		in := r.data.Reader()
		in.Seek(to)
		next, err := in.Next()
		if err == nil && next != nil {
			if err := r.meter.spend(costOf(next)); err != nil {
				return "", of, err
			}
			if of, err = r.origin(next, steps+1); err != nil || r.table.names[of.name] != "" {
				return "", of, err
			}
		}
	}
	name, _ = e.Val(dwarf.AttrName).(string)
	if name == "" {
		of.name, err = r.name("")
	}
	return name, of, err
}

// name returns the index of a name.
func (r *unitReader) name(s string) (int32, error) {
	s = s[:min(len(s), maxName)]
	i, ok := r.byName[s]
	if !ok {
		i = int32(len(r.table.names))
		s = cut(s)
		r.table.names, r.byName[s] = append(r.table.names, s), i
		return i, r.keep(len(s))
	}
	return i, nil
}

// keep counts the bytes of a text in the table.
func (r *unitReader) keep(bytes int) error {
	if r.texts += bytes; r.texts > maxTables {
		return fmt.Errorf("%w: more than %d bytes of names in a unit", ErrTooManyBytes, maxTables)
	}
	return r.meter.spend(bytes / 16)
}
