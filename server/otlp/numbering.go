package otlp

import (
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/granarydb/granary/server/internal/web"
)

// numbering is what the numbers of fields mean in a request: OpenTelemetry changed them from version to version of its protocol.
type numbering int

const (
	unknown numbering = iota
	v17               // 1.6 and 1.7: a sample names a range of its profile's locations, and a profile has several types
	v18
	v19
	latest // 1.10 and 1.11
)

// Fields that have the same numbers in all numberings.
const (
	fieldResources protowire.Number = 1 // of the request
	fieldScopes    protowire.Number = 2 // of a resource
	fieldProfiles  protowire.Number = 2 // of a scope
	fieldSamples   protowire.Number = 2 // of a profile

	fieldDictionary protowire.Number = 2 // of the request, except in 1.6
)

// numberingOf returns the numbering of an encoded request: that of its first profile whose fields tell it by their numbers and types.
func numberingOf(request []byte) numbering {
	for resource := range messages(request, fieldResources) {
		for scope := range messages(resource, fieldScopes) {
			for profile := range messages(scope, fieldProfiles) {
				if of := numberingOfProfile(profile, request); of != unknown {
					return of
				}
			}
		}
	}
	return unknown
}

// messages yields the messages in a field, up to the first malformed byte.
func messages(data []byte, number protowire.Number) func(yield func([]byte) bool) {
	return func(yield func([]byte) bool) {
		for f, err := range web.Fields(data) {
			if err != nil {
				return
			}
			if f.Number == number && f.Type == protowire.BytesType && !yield(f.Bytes()) {
				return
			}
		}
	}
}

func numberingOfProfile(profile, request []byte) numbering {
	isV18 := false
	for f, err := range web.Fields(profile) {
		if err != nil {
			return unknown
		}
		isBytes := f.Type == protowire.BytesType
		switch f.Number {
		case 3: // locations, or the time as a fixed number
			if f.Type != protowire.Fixed64Type {
				return v17
			}
		case 5: // duration, or the type of the period
			if !isBytes {
				return v17
			}
		case 6: // the type of the period, or the period
			if isBytes {
				return v17
			}
		case 8: // an id, or the number of dropped attributes
			isV18 = isV18 || isBytes
		case 9: // the number of dropped attributes, or a format
			isV18 = isV18 || !isBytes
		case 12: // attributes, or none
			isV18 = true
		}
	}
	of := numberingOfSamples(profile, request)
	if isV18 && of != latest { // which may have more fields one day
		return v18
	}
	return of
}

// numberingOfSamples tells values and attributes, which are lists, from a link. Encoders may write a list as single numbers: then
// attributes and links are told by the sizes of their tables.
func numberingOfSamples(profile, request []byte) numbering {
	var most [6]uint64 // numbers of the fields
	hasFour, isBare := false, false
	for sample := range messages(profile, fieldSamples) {
		var has [6]bool
		for f, err := range web.Fields(sample) {
			if err != nil {
				return unknown
			}
			switch isBytes := f.Type == protowire.BytesType; {
			case f.Number == 3 && isBytes: // attributes, and no link
				return v19
			case f.Number == 4 && isBytes: // values, and no link
				return latest
			case f.Number > 5:
				continue
			}
			has[f.Number] = true
			if f.Number < 5 {
				for n := range numbers(f) {
					most[f.Number] = max(most[f.Number], n)
				}
			}
		}
		hasFour = hasFour || has[4]
		isBare = isBare || has[2] && !has[4] && !has[5]
	}
	switch {
	case !hasFour && isBare: // field 2 has values, because nothing else has
		return v19
	case !hasFour:
		return unknown
	}
	attributes, links := uint64(0), uint64(0)
	for dictionary := range messages(request, fieldDictionary) {
		for f, err := range web.Fields(dictionary) {
			switch {
			case err != nil: // decoding finds it again
			case f.Number == 4:
				links++
			case f.Number == 6:
				attributes++
			}
		}
	}
	if most[2] < max(1, attributes) && most[3] < max(1, links) {
		return latest
	}
	return v19
}

// rewritten copies a message, with the messages at the end of a path of fields as rewrite returns them. ok is false for malformed
// bytes.
func rewritten(data []byte, path []protowire.Number, rewrite func([]byte) ([]byte, bool)) (out []byte, ok bool) {
	if len(path) == 0 {
		return rewrite(data)
	}
	for f, err := range web.Fields(data) {
		if err != nil {
			return nil, false
		}
		if f.Number != path[0] || f.Type != protowire.BytesType {
			out = f.Append(out, f.Number)
			continue
		}
		inner, ok := rewritten(f.Bytes(), path[1:], rewrite)
		if !ok {
			return nil, false
		}
		out = protowire.AppendBytes(protowire.AppendTag(out, f.Number, f.Type), inner)
	}
	return out, true
}

// The numbers that fields of 1.8 have today. The numbers in samples were the same in 1.9. 0 leaves out comments.
var (
	profileNumbers = map[protowire.Number]protowire.Number{7: 0, 8: 7, 9: 8, 10: 9, 11: 10, 12: 11}
	sampleNumbers  = map[protowire.Number]protowire.Number{2: 4, 3: 2, 4: 3}
)

// renumbered copies a profile of 1.8 or 1.9 with today's numbers.
func renumbered(profile []byte, of numbering) (out []byte, ok bool) {
	samples := func(sample []byte) ([]byte, bool) { return withNumbers(sample, sampleNumbers) }
	if out, ok = rewritten(profile, []protowire.Number{fieldSamples}, samples); !ok || of == v19 {
		return out, ok
	}
	return withNumbers(out, profileNumbers)
}

func withNumbers(data []byte, numbers map[protowire.Number]protowire.Number) (out []byte, ok bool) {
	for f, err := range web.Fields(data) {
		if err != nil {
			return nil, false
		}
		number, isOther := numbers[f.Number]
		if !isOther {
			number = f.Number
		}
		if number != 0 {
			out = f.Append(out, number)
		}
	}
	return out, true
}

// numbers yields the numbers of a list, packed or not.
func numbers(f web.Field) func(yield func(uint64) bool) {
	return func(yield func(uint64) bool) {
		if f.Type == protowire.VarintType {
			yield(f.Varint())
			return
		}
		for data := f.Bytes(); len(data) > 0; {
			v, n := protowire.ConsumeVarint(data)
			if n < 0 || !yield(v) {
				return
			}
			data = data[n:]
		}
	}
}
