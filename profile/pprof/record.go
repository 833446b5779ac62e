package pprof

import (
	"encoding/binary"
	"fmt"
	"path"

	pprof "github.com/google/pprof/profile"
	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding/dict"
)

// LocationRecord is a location in the form that a store keeps beside its id. It has everything needed to
// rebuild the pprof location.
//
// It is encoded as a record. The first part of the record is the identity, whose hash is the id (P3 of
// package profile). The rest describes the mapping in the first process that was inserted.
//
//	identity: flags | build id | file, if no build id | address in the file:
//	          from mapping start, plus its offset | lines
//	line:     1, or 0 if no function | function | system name | file | start line | line |
//	          column
//	rest:     file, if build id | mapping start, size, offset | bits of FlatMapping.Has
//
// Numbers are varints. Strings are preceded by their length, lines by their count.
type LocationRecord struct {
	Folded  bool
	Mapping *pprof.Mapping // without an ID; nil for no mapping
	Program bool           // the mapping is the program itself
	Address uint64         // as in the profile, including the mapping start
	Lines   []RecordLine
}

// RecordLine is a function at a location. The innermost function comes first.
type RecordLine struct {
	NoFunction           bool
	Function, SystemName string
	Shown                string // Function, as Demangled returns it
	File                 string
	StartLine            int64
	Line, Column         int64
	// Number numbers the functions, distinct by shown name and file, that a NewRecordDecoder has decoded, from
	// 1 up in order of first lines. Other decoders leave it 0.
	Number uint32
}

const (
	flagFolded = 1 << iota
	flagMapping
)

// Unnamed returns the name for a function without a name: its binary, as in pprof.
func (l *LocationRecord) Unnamed() string {
	if l.Mapping == nil || l.Mapping.File == "" {
		return "<unknown>"
	}
	return "[" + path.Base(l.Mapping.File) + "]"
}

// CheckRecords returns ErrTooLarge if a location's record can have more than `most` bytes, or all records
// together more than `all`.
func (f *Flat) CheckRecords(most, all int) error {
	bytes := 0
	for i := range f.Locations[1:] {
		record := 64
		for _, ln := range f.LinesOf(uint32(i + 1)) {
			fn := &f.Functions[ln.Function]
			record += 32 + len(f.Strings[fn.Name]) + len(f.Strings[fn.SystemName]) + len(f.Strings[fn.File])
		}
		if record > most {
			return fmt.Errorf("%w: the record of the location at %#x has %d bytes, at most %d", ErrTooLarge, f.Locations[i+1].Address, record, most)
		}
		if bytes += record; bytes > all {
			return fmt.Errorf("%w: more than %d bytes of location records", ErrTooLarge, all)
		}
	}
	return nil
}

// AppendLocation appends the record of location i to dst and returns its id, which depends on the
// identity alone.
func (f *Flat) AppendLocation(dst []byte, i uint32) ([]byte, uuid.UUID) {
	start := len(dst)
	l := &f.Locations[i]
	m := &f.Mappings[l.Mapping]
	var flags byte
	if l.Folded {
		flags |= flagFolded
	}
	if l.Mapping != 0 {
		flags |= flagMapping
	}
	dst = append(dst, flags)
	identity, rest := f.Strings[m.File], ""
	if f.Strings[m.BuildID] != "" { // better than a path, because a path depends on mounts
		identity, rest = rest, identity
	}
	dst = appendString(dst, f.Strings[m.BuildID])
	dst = appendString(dst, identity)
	dst = binary.AppendUvarint(dst, l.Address-m.Start+m.Offset) // segments of a file have different offsets
	lines := f.LinesOf(i)
	dst = binary.AppendUvarint(dst, uint64(len(lines)))
	for k := range lines {
		dst = f.appendLine(dst, &lines[k])
	}
	id := dict.RecordID(dst[start:])
	dst = appendString(dst, rest)
	dst = binary.AppendUvarint(dst, m.Start)
	dst = binary.AppendUvarint(dst, m.Limit-m.Start)
	dst = binary.AppendUvarint(dst, m.Offset)
	return binary.AppendUvarint(dst, m.Has), id
}

func (f *Flat) appendLine(dst []byte, ln *FlatLine) []byte {
	fn := &f.Functions[ln.Function]
	hasFunction := byte(1)
	if ln.Function == 0 {
		hasFunction = 0
	}
	dst = append(dst, hasFunction)
	dst = appendString(dst, f.Strings[fn.Name])
	dst = appendString(dst, f.Strings[fn.SystemName])
	dst = appendString(dst, f.Strings[fn.File])
	dst = binary.AppendVarint(dst, fn.StartLine)
	dst = binary.AppendVarint(dst, ln.Line)
	return binary.AppendVarint(dst, ln.Column)
}

func appendString(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

// EncodeLocation is the inverse of ParseLocation: it returns a location's record, and its id. It does not change the location. The errors are
// those of Flatten. It costs 5 us: a profile's locations are encoded by Flat.AppendLocation.
func EncodeLocation(l *LocationRecord) (record []byte, id uuid.UUID, err error) {
	p := &pprof.Profile{SampleType: []*pprof.ValueType{{Type: "n", Unit: "n"}}}
	at := NewAssembler(p).Location(l)
	if l.Mapping != nil && !l.Program { // the first mapping is the program's
		p.Mapping = append([]*pprof.Mapping{{ID: uint64(len(p.Mapping) + 1)}}, p.Mapping...)
	}
	p.Sample = []*pprof.Sample{{Location: []*pprof.Location{at}, Value: []int64{1}}}
	var flat Flat
	if err := Flatten(p, Limits{}.WithDefaults(), &flat); err != nil {
		return nil, id, err
	}
	record, id = flat.AppendLocation(nil, flat.Stack[0])
	return record, id, nil
}
