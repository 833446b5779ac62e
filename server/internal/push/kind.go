package push

import (
	"slices"
	"strings"
	"unicode"

	"google.golang.org/protobuf/encoding/protowire"
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
	var indices []uint64 // string indexes of the period type and the sample types
	indices = append(indices, 0)
	eachField(data, func(number protowire.Number, value []byte) {
		switch {
		case number == fieldSampleType && len(indices) <= maxKindTypes:
			indices = append(indices, typeName(value))
		case number == fieldPeriodType:
			indices[0] = typeName(value)
		}
	})
	names, at := make([]string, len(indices)), uint64(0)
	eachField(data, func(number protowire.Number, value []byte) {
		if number != fieldStringTable {
			return
		}
		for i, index := range indices {
			if index == at && len(value) <= maxKindName {
				names[i] = string(value)
			}
		}
		at++
	})
	return names[1:], names[0]
}

// typeName returns the index of an encoded type's name.
func typeName(data []byte) (index uint64) {
	for len(data) > 0 {
		number, kind, n := protowire.ConsumeTag(data)
		if n < 0 {
			return index
		}
		data = data[n:]
		if number == fieldTypeName && kind == protowire.VarintType {
			index, _ = protowire.ConsumeVarint(data)
		}
		if n = protowire.ConsumeFieldValue(number, kind, data); n < 0 {
			return index
		}
		data = data[n:]
	}
	return index
}

// eachField calls f with the length-delimited fields of a message, up to the first error.
func eachField(data []byte, f func(protowire.Number, []byte)) {
	for len(data) > 0 {
		number, kind, n := protowire.ConsumeTag(data)
		if n < 0 {
			return
		}
		data = data[n:]
		if n = protowire.ConsumeFieldValue(number, kind, data); n < 0 {
			return
		}
		if kind == protowire.BytesType {
			value, _ := protowire.ConsumeBytes(data)
			f(number, value)
		}
		data = data[n:]
	}
}
