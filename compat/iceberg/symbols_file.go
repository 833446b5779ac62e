package iceberg

import (
	"context"
	"errors"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	codec "github.com/granarydb/granary/profile/pprof"
)

// symbols writes the stacks and locations for the rows in one samples file.
type symbols struct {
	texts  *texts
	places *locations
	files  [sides]*dataFile
	leaves [sides]leaves
	names  [sides][]string // of the columns
	day    int64           // start of the file's day
	seen   map[int64]bool  // stack ids
}

// newSymbols returns a writer of symbols for the samples file that has u's rows from a time on.
func newSymbols(to [sides]target, u Unit, from int64, w *fileWriter) (*symbols, error) {
	s := &symbols{texts: w.texts, places: w.places, day: nextDay(from) - day, seen: map[int64]bool{}}
	for side, t := range to {
		s.files[side] = newDataFile(t, u.name(), from)
		fields := fieldsOf(t.table.Schema(), sideSchema(side))
		for _, f := range fields.Fields() {
			s.names[side] = append(s.names[side], f.Name)
		}
		if err := s.files[side].open(fields); err != nil {
			return nil, err
		}
		s.leaves[side] = leaves{texts: w.texts, node: u.Node, seal: u.Seal}
	}
	w.places.keep = true
	return s, nil
}

// group writes a row group to one of the tables. column writes the table's own columns.
func (s *symbols) group(side, rows int, column func(w *leaves, name string) error) error {
	w := &s.leaves[side]
	var err error
	if w.out, err = s.files[side].out.AppendRowGroupChecked(); err != nil {
		return err
	}
	for _, name := range s.names[side] {
		switch name {
		case columnNode, columnSeal, columnTime:
			err = w.ofUnit(name, rows, func(int) int64 { return s.day })
		default:
			err = column(w, name)
		}
		if err != nil {
			return err
		}
	}
	s.files[side].rows += int64(rows)
	return w.out.Close()
}

// add writes the stacks in a samples group that no previous group had.
func (s *symbols) add(set *stacks) error {
	tokens := make([]string, len(set.ids))
	for t, code := range set.codes {
		tokens[code] = t
	}
	var codes []int
	var rows []uint32
	for code, id := range set.ids {
		if !s.seen[id] {
			s.seen[id] = true
			rows = append(rows, uint32(len(codes)))
			codes = append(codes, code)
		}
	}
	if len(codes) == 0 {
		return nil
	}
	var list []uint32
	return s.group(sideStacks, len(codes), func(w *leaves, name string) error {
		if name == columnStackID {
			return w.ints(name, len(codes), func(i int) (int64, bool) { return set.ids[codes[i]], true })
		}
		return w.nested(name, rows, len(codes), func(i int) []uint32 {
			list = list[:0]
			for t := tokens[codes[i]]; t != ""; t = t[tokenBytes:] {
				list = append(list, s.texts.code(s.places.decode([]byte(t[:tokenBytes])).id.String()))
			}
			return list
		})
	})
}

// locationLine is a row in the table of locations: one of a location's lines, the leaf's side first, or a
// location without lines.
type locationLine struct {
	id      uint32 // text code
	of      *codec.LocationRecord
	inlined int // number of lines inlined into this one; -1 for no line
	line    codec.RecordLine
}

// lineGroup is the number of rows in a group of locations.
const lineGroup = 128 << 10

// addLocations writes all locations.
func (s *symbols) addLocations() error {
	decoder := codec.NewRecordDecoder()
	var rows []locationLine
	for i := range s.places.all {
		l := &s.places.all[i]
		var record codec.LocationRecord
		_ = decoder.Decode(&record, l.record) // an invalid record counts as a location without symbols
		at := locationLine{id: s.texts.code(l.id.String()), of: &record, inlined: -1, line: codec.RecordLine{NoFunction: true}}
		if len(record.Lines) == 0 {
			rows = append(rows, at)
		}
		for at.inlined, at.line = range record.Lines {
			rows = append(rows, at)
		}
		if len(rows) >= lineGroup || i == len(s.places.all)-1 {
			if err := s.group(sideLocations, len(rows), func(w *leaves, name string) error { return w.ofLines(rows, name) }); err != nil {
				return err
			}
			rows = rows[:0]
		}
	}
	return nil
}

// close writes the locations. It returns the files, none for a table without rows, and removes all after an
// error.
func (s *symbols) close(ctx context.Context) (out [sides][]iceberg.DataFile, err error) {
	err = s.addLocations()
	for side, f := range s.files {
		if err == nil && f.rows > 0 {
			var data iceberg.DataFile
			if data, err = f.finish(ctx, table.UnsortedSortOrderID); err == nil {
				out[side] = append(out[side], data)
			}
		}
	}
	if err != nil {
		err = errors.Join(err, s.remove())
	}
	return out, err
}

func (s *symbols) remove() error {
	var err error
	for _, f := range s.files {
		err = errors.Join(err, f.remove())
	}
	return err
}

// ofLines writes a column of locations.
func (w *leaves) ofLines(rows []locationLine, name string) error {
	switch name {
	case columnLocation:
		return w.flat(name, len(rows), func(i int) (uint32, bool) { return rows[i].id, true })
	case columnFunction, columnSystemName, columnSourceFile, columnBinary, columnBuildID:
		return w.flat(name, len(rows), func(i int) (uint32, bool) {
			text, has := rows[i].text(name)
			if !has {
				return 0, false
			}
			return w.texts.code(text), true
		})
	}
	return w.ints(name, len(rows), func(i int) (int64, bool) { return rows[i].number(name), true })
}

// text returns a text of a line or its mapping. has is false if there is no function, or no mapping.
func (l *locationLine) text(name string) (text string, has bool) {
	m := l.of.Mapping
	switch {
	case name == columnFunction:
		return l.line.Function, !l.line.NoFunction
	case name == columnSystemName:
		return l.line.SystemName, !l.line.NoFunction
	case name == columnSourceFile:
		return l.line.File, !l.line.NoFunction
	case m == nil:
		return "", false
	case name == columnBinary:
		return m.File, true
	default: // columnBuildID
		return m.BuildID, true
	}
}

// number returns a number of a line, its location or its mapping.
func (l *locationLine) number(name string) int64 {
	switch name {
	case columnInlined:
		return int64(l.inlined)
	case columnStartLine:
		return l.line.StartLine
	case columnLine:
		return l.line.Line
	case columnLineColumn:
		return l.line.Column
	case columnAddress:
		return int64(l.of.Address)
	case columnFlags:
		return flagsOf(l.of)
	}
	m := l.of.Mapping
	switch {
	case m == nil:
		return 0
	case name == columnMappingStart:
		return int64(m.Start)
	case name == columnMappingLimit:
		return int64(m.Limit)
	default: // columnMappingOffset
		return int64(m.Offset)
	}
}

// flagsOf returns a location's flags.
func flagsOf(l *codec.LocationRecord) int64 {
	flags := 0
	if l.Folded {
		flags |= flagFolded
	}
	if m := l.Mapping; m != nil {
		flags |= flagMapping
		for bit, set := range map[int]bool{
			codec.HasFunctions: m.HasFunctions, codec.HasFilenames: m.HasFilenames, codec.HasLineNumbers: m.HasLineNumbers,
			codec.HasInlineFrames: m.HasInlineFrames, codec.IsProgram: l.Program,
		} {
			if set {
				flags |= bit << mappingShift
			}
		}
	}
	return int64(flags)
}
