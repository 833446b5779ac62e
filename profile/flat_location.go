package profile

import (
	"encoding/binary"

	"github.com/google/uuid"
	"github.com/zeebo/xxh3"

	codec "github.com/granarydb/granary/profile/pprof"
)

// appendLocation appends the record of location i to dst and returns its id.
func (f *flat) appendLocation(dst []byte, i uint32) ([]byte, uuid.UUID) {
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
	if f.Strings[m.BuildID] != "" { // better than a path, which depends on mounts
		identity, rest = rest, identity
	}
	dst = appendString(dst, f.Strings[m.BuildID])
	dst = appendString(dst, identity)
	dst = binary.AppendUvarint(dst, l.Address-m.Start+m.Offset) // segments of a file differ in their offset
	lines := f.LinesOf(i)
	dst = binary.AppendUvarint(dst, uint64(len(lines)))
	for k := range lines {
		dst = f.appendLine(dst, &lines[k])
	}
	id := locationID(dst[start:])
	dst = appendString(dst, rest)
	dst = binary.AppendUvarint(dst, m.Start)
	dst = binary.AppendUvarint(dst, m.Limit-m.Start)
	dst = binary.AppendUvarint(dst, m.Offset)
	return binary.AppendUvarint(dst, m.Has), id
}

func (f *flat) appendLine(dst []byte, ln *codec.FlatLine) []byte {
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

// locationID returns a version 8 UUID from the 128-bit xxh3 of an identity. The hash is not
// keyed: the same code has the same id in every process and store.
func locationID(identity []byte) uuid.UUID {
	id := uuid.UUID(xxh3.Hash128(identity).Bytes())
	id[6] = id[6]&0x0f | 0x80
	id[8] = id[8]&0x3f | 0x80
	return id
}

func appendString(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}
