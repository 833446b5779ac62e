package debuginfo

import (
	"cmp"
	"debug/dwarf"
	"fmt"
	"slices"
	"sort"
)

// units are the units of a file's DWARF: what a compiler made of a source file. A unit's table is made when it is first
// asked for.
type units struct {
	data      *dwarf.Data
	line      []byte // .debug_line
	lineTexts []byte // .debug_line_str
	str       []byte // .debug_str
	image     *image
	all       []unit
	ranges    []unitRange
	tables    int64  // bytes
	work      *meter // for the first tables of all units
}

type unit struct {
	entry dwarf.Offset // of its first entry
	bytes int64
	read  bool   // once: its table was dropped, or it is malformed
	table *table // nil until it is asked for, and when it was dropped
	bad   bool

	lines   int64 // where its lines are in .debug_line, or -1
	dir     string
	isPlain bool // the types of its language have no code in them
}

// unitRange is a range of a unit's code.
type unitRange struct {
	low, high uint64
	unit      int32
}

// dwarfFrames returns the frames at an address by DWARF. A frame can lack its function.
func (f *Info) dwarfFrames(addr uint64) []NamedFrame {
	u := part(f, &f.dwarf, f.readDWARF)
	if u == nil {
		return nil
	}
	for _, of := range u.find(addr) {
		t, err := u.tableOf(of)
		if err != nil {
			f.note(err)
			continue
		}
		if frames := t.frames(nil, addr); len(frames) > 0 {
			return frames
		}
		if at := t.row(addr); at.file >= 0 {
			return []NamedFrame{{File: t.file(at.file), Line: int64(at.line)}}
		}
	}
	return nil
}

// readDWARF reads the sections, and finds the units' ranges. It returns nil if the file has no DWARF.
func (f *Info) readDWARF() (u *units, err error) {
	before := f.bytes
	defer func() {
		if u == nil {
			f.bytes = before
		}
	}()
	sections := map[string][]byte{}
	for _, name := range []string{"info", "abbrev", "line", "str", "ranges", "line_str", "addr", "str_offsets", "rnglists"} {
		if sections[name], err = f.section(".debug_" + name); err != nil {
			return nil, err
		}
	}
	if len(sections["info"]) == 0 {
		return nil, nil
	}
	all, err := unitHeaders(sections["info"], sections["abbrev"], f.elf.ByteOrder)
	if err != nil {
		return nil, err
	}
	data, err := dwarf.New(sections["abbrev"], nil, nil, sections["info"], nil, nil, sections["ranges"], sections["str"])
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBinary, err)
	}
	for _, name := range []string{"line_str", "addr", "str_offsets", "rnglists"} {
		if err := data.AddSection(".debug_"+name, sections[name]); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrBinary, err)
		}
	}
	u = &units{
		data: data, line: sections["line"], lineTexts: sections["line_str"], str: sections["str"], image: f.elf, all: all,
		work: newMeter(int64(len(sections["info"])+len(sections["line"])), nil),
	}
	return u, u.index(newMeter(int64(len(sections["info"])), nil))
}

// index finds the ranges of all units.
func (u *units) index(m *meter) error {
	for i := range u.all {
		of := &u.all[i]
		r := u.data.Reader()
		r.Seek(of.entry)
		e, err := r.Next()
		if err != nil || e == nil || e.Tag != dwarf.TagCompileUnit && e.Tag != dwarf.TagPartialUnit {
			continue // a unit of types, or a skeleton
		}
		ranges, err := u.rangesOf(e, m)
		if err != nil {
			return err
		}
		if at, ok := e.Val(dwarf.AttrStmtList).(int64); ok {
			of.lines = at
		}
		language, _ := e.Val(dwarf.AttrLanguage).(int64)
		of.isPlain = slices.Contains(languagesC, language)
		dir, _ := e.Val(dwarf.AttrCompDir).(string)
		of.dir = cut(dir)
		for _, r := range ranges {
			u.ranges = append(u.ranges, unitRange{r[0], r[1], int32(i)})
		}
	}
	slices.SortFunc(u.ranges, func(a, b unitRange) int { return cmp.Or(cmp.Compare(a.low, b.low), cmp.Compare(b.high, a.high)) })
	return nil
}

// languagesC are C and C++ in DWARF. Their functions are beside their types; those of Rust can be in them.
var languagesC = []int64{1, 2, 4, 0xc, 0x1a, 0x1d, 0x21, 0x2b, 0x2c}

// rangesOf returns the ranges of an entry's code. Ranges outside of code are of functions that the linker dropped.
func (u *units) rangesOf(e *dwarf.Entry, m *meter) ([][2]uint64, error) {
	if err := m.spend(costOf(e)); err != nil {
		return nil, err
	}
	if e.AttrField(dwarf.AttrRanges) == nil && e.AttrField(dwarf.AttrLowpc) == nil {
		return nil, nil
	}
	ranges, err := u.data.Ranges(e)
	if err != nil {
		return nil, nil //nolint:nilerr // the others may be good
	}
	if err := m.spend(len(ranges)); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(ranges, func(r [2]uint64) bool { return r[0] >= r[1] || !u.image.isCode(r[0]) }), nil
}

// costOf is the work of an entry: its fields, and the texts that were copied for them.
func costOf(e *dwarf.Entry) int {
	n := 1 + len(e.Field)
	for i := range e.Field {
		switch v := e.Field[i].Val.(type) {
		case string:
			n += len(v) / 16
		case []byte:
			n += len(v) / 16
		}
	}
	return n
}

// find returns the units with code at an address, the one that begins last first. It looks back over few ranges, because
// ranges rarely overlap.
func (u *units) find(addr uint64) (found []int32) {
	const back = 16
	i := sort.Search(len(u.ranges), func(i int) bool { return u.ranges[i].low > addr })
	for k := i - 1; k >= max(0, i-back); k-- {
		if addr < u.ranges[k].high && !slices.Contains(found, u.ranges[k].unit) {
			found = append(found, u.ranges[k].unit)
		}
	}
	return found
}

// tableOf returns a unit's table. A unit that is malformed is read once.
func (u *units) tableOf(i int32) (*table, error) {
	of := &u.all[i]
	if of.table != nil {
		return of.table, nil
	}
	if of.bad {
		return &table{}, nil
	}
	t, err := u.read(of)
	if err != nil {
		of.bad = true
		return nil, err
	}
	size := t.size()
	if u.tables += size; u.tables > maxTables {
		for k := range u.all {
			u.all[k].table = nil
		}
		u.tables = size
	}
	of.table = t
	return t, nil
}
