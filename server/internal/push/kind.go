package push

import (
	"slices"
	"strings"
	"unicode"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/granarydb/granary/server/internal/web"
)

// kindOf returns the label __name__ for profiles that are pushed without one: Pyroscope's name for Go's
// types, otherwise the last sample type. Mutex and block profiles have the same types: hint tells them
// apart, and without a hint they get no name.
func kindOf(types []string, period, hint string) string {
	has := func(name string) bool { return slices.Contains(types, name) }
	switch {
	case len(types) == 0:
		return ""
	case has("cpu"), period == "cpu" && has("samples"):
		return "process_cpu"
	case has("inuse_space"), has("inuse_objects"), has("alloc_space"), has("alloc_objects"):
		return "memory"
	case has("contentions"), has("delay"):
		return hint
	}
	return types[len(types)-1]
}

// hintOf returns the hint in a file's name, such as mutex-1.pb.gz, or "".
func hintOf(origin string) string {
	words := strings.FieldsFunc(strings.ToLower(origin), func(r rune) bool { return !unicode.IsLetter(r) })
	for _, kind := range []string{"mutex", "block"} {
		if slices.Contains(words, kind) {
			return kind
		}
	}
	return ""
}

// maxKindTypes bounds the sample types that kindOf reads, and maxKindName the bytes of their names.
// Profiles have one to four types, with names of one or two words.
const (
	maxKindTypes = 16
	maxKindName  = 200
)

// Fields of the protobuf messages of pprof.
const (
	fieldSampleType  protowire.Number = 1
	fieldStringTable protowire.Number = 6
	fieldPeriodType  protowire.Number = 11
	fieldTypeName    protowire.Number = 1
)

// typesOf returns the names of the sample types and of the period type in an encoded profile that is not
// gzipped. It skips everything else, so it costs about 10 ns a sample. For malformed bytes it returns the
// types before the error.
func typesOf(data []byte) (types []string, period string) {
	indices := []uint64{0} // string indexes of the period type and the sample types
	for f, err := range web.Fields(data) {
		switch {
		case err != nil || f.Type != protowire.BytesType:
		case f.Number == fieldSampleType && len(indices) <= maxKindTypes:
			indices = append(indices, typeName(f.Bytes()))
		case f.Number == fieldPeriodType:
			indices[0] = typeName(f.Bytes())
		}
	}
	names, at := make([]string, len(indices)), uint64(0)
	for f, err := range web.Fields(data) {
		if err != nil || f.Type != protowire.BytesType || f.Number != fieldStringTable {
			continue
		}
		value := f.Bytes()
		for i, index := range indices {
			if index == at && len(value) <= maxKindName {
				names[i] = string(value)
			}
		}
		at++
	}
	return names[1:], names[0]
}

// typeName returns the index of an encoded type's name.
func typeName(data []byte) (index uint64) {
	for f, err := range web.Fields(data) {
		if err == nil && f.Number == fieldTypeName && f.Type == protowire.VarintType {
			index = f.Varint()
		}
	}
	return index
}
