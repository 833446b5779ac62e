package otlp

import (
	"bytes"
	"cmp"
	"fmt"

	commonv1 "go.opentelemetry.io/proto/otlp/common/v1"
	profilesv1 "go.opentelemetry.io/proto/otlp/profiles/v1development"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/granarydb/granary/server/internal/fault"
	"github.com/granarydb/granary/server/internal/web"
)

// oldFactor bounds the memory that a byte of a request of 1.7 takes while it is upgraded.
const oldFactor = 64

// Tables of 1.7 by their numbers in the dictionary. In 1.6 they are in the request, with numbers greater by one.
const (
	oldMappings protowire.Number = iota + 1
	oldLocations
	oldFunctions
	oldLinks
	oldStrings
	oldAttributes
	oldUnits
)

// old upgrades a request of 1.6 or 1.7. Entry 0 of a table could be one of any kind then, so that all indices become greater by
// one.
type old struct {
	to      *profilesv1.ProfilesDictionary
	texts   map[string]int32 // indices of strings
	stacks  map[[3]int32]int32
	listed  int
	profile int32 // number of the profile
	err     error
}

// upgradeOld returns a request of 1.6 or 1.7 in the latest numbering.
func upgradeOld(request []byte) ([]byte, error) {
	o := old{
		to:     &profilesv1.ProfilesDictionary{},
		texts:  map[string]int32{},
		stacks: map[[3]int32]int32{},
	}
	o.tables(request)
	path := []protowire.Number{fieldResources, fieldScopes}
	out, ok := rewritten(request, path, o.scope)
	if !ok || o.err != nil {
		return request, o.err // decoding finds other malformed bytes again
	}
	dictionary, err := proto.Marshal(o.to)
	if err != nil {
		return nil, fault.Invalid("dictionary: %w", err)
	}
	out, _ = withNumbers(out, map[protowire.Number]protowire.Number{2: 0, 3: 0, 4: 0, 5: 0, 6: 0, 7: 0, 8: 0})
	return protowire.AppendBytes(protowire.AppendTag(out, fieldDictionary, protowire.BytesType), dictionary), nil
}

// tables fills the dictionary.
func (o *old) tables(request []byte) {
	content, shift := []byte(nil), protowire.Number(0)
	for f := range o.fields(request) {
		switch {
		case f.Number > 2: // the tables of 1.6
			content, shift = request, 1
		case f.Number == 2 && shift == 0:
			content = f.Bytes()
		}
	}
	var attributes, units [][]byte
	for f := range o.fields(content) {
		if f.Type != protowire.BytesType || f.Number <= shift {
			continue
		}
		switch f.Number - shift {
		case oldMappings:
			o.to.MappingTable = append(o.to.MappingTable, read(o, &profilesv1.Mapping{}, f.Bytes()))
		case oldLocations:
			o.to.LocationTable = append(o.to.LocationTable, o.location(f.Bytes()))
		case oldFunctions:
			o.to.FunctionTable = append(o.to.FunctionTable, read(o, &profilesv1.Function{}, f.Bytes()))
		case oldLinks:
			o.to.LinkTable = append(o.to.LinkTable, read(o, &profilesv1.Link{}, f.Bytes()))
		case oldStrings:
			o.text(string(bytes.ToValidUTF8(f.Bytes(), []byte("\ufffd"))), true)
		case oldAttributes:
			attributes = append(attributes, f.Bytes())
		case oldUnits:
			units = append(units, f.Bytes())
		}
	}
	o.to.MappingTable = append([]*profilesv1.Mapping{{}}, o.to.MappingTable...)
	o.to.LocationTable = append([]*profilesv1.Location{{}}, o.to.LocationTable...)
	o.to.FunctionTable = append([]*profilesv1.Function{{}}, o.to.FunctionTable...)
	o.to.LinkTable = append([]*profilesv1.Link{{}}, o.to.LinkTable...)
	o.to.StackTable = []*profilesv1.Stack{{}}
	for _, m := range o.to.MappingTable {
		shifted(m.AttributeIndices)
	}
	o.attributes(attributes, units)
}

// fields yields the fields of a message.
func (o *old) fields(data []byte) func(yield func(web.Field) bool) {
	return func(yield func(web.Field) bool) {
		for f, err := range web.Fields(data) {
			if err != nil {
				o.err = cmp.Or(o.err, fault.Invalid("a message of OpenTelemetry: %w", err))
				return
			}
			if !yield(f) {
				return
			}
		}
	}
}

// shifted adds one to indices.
func shifted(indices []int32) []int32 {
	for i := range indices {
		indices[i]++
	}
	return indices
}

// read decodes an entry whose fields have today's numbers.
func read[M proto.Message](o *old, to M, data []byte) M {
	if err := (proto.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(data, to); err != nil {
		o.err = cmp.Or(o.err, fault.Invalid("a message of OpenTelemetry: %w", err))
	}
	return to
}

// text returns the index of a string. isEntry adds it as the next entry of the table.
func (o *old) text(s string, isEntry bool) int32 {
	at, known := o.texts[s]
	if !known || isEntry {
		n := int32(len(o.to.StringTable))
		o.to.StringTable = append(o.to.StringTable, s)
		if !known {
			o.texts[s], at = n, n
		}
	}
	return at
}

// attributes adds the attributes, whose units are in a table of their own, by their names.
func (o *old) attributes(attributes, units [][]byte) {
	unitOf := map[string]int32{}
	for _, data := range units {
		key, unit := uint64(0), uint64(0)
		for f := range o.fields(data) {
			switch f.Number {
			case 1:
				key = f.Varint()
			case 2:
				unit = f.Varint()
			}
		}
		if texts := o.to.StringTable; key < uint64(len(texts)) && unit < uint64(len(texts)) {
			unitOf[texts[key]] = int32(unit)
		}
	}
	o.to.AttributeTable = []*profilesv1.KeyValueAndUnit{{}}
	for _, data := range attributes {
		a := read(o, &commonv1.KeyValue{}, data)
		o.to.AttributeTable = append(o.to.AttributeTable, &profilesv1.KeyValueAndUnit{
			KeyStrindex: o.text(a.GetKey(), false), Value: a.GetValue(), UnitStrindex: unitOf[a.GetKey()],
		})
	}
}

// location returns a location.
func (o *old) location(data []byte) *profilesv1.Location {
	l := &profilesv1.Location{}
	for f := range o.fields(data) {
		switch f.Number {
		case 1:
			l.MappingIndex = int32(f.Varint()) + 1
		case 2:
			l.Address = f.Varint()
		case 3:
			line := read(o, &profilesv1.Line{}, f.Bytes())
			line.FunctionIndex++
			l.Lines = append(l.Lines, line)
		case 5:
			l.AttributeIndices = indices(l.AttributeIndices, f)
		}
	}
	shifted(l.AttributeIndices)
	return l
}

// indices appends the numbers of a list to dst, packed or not.
func indices(dst []int32, f web.Field) []int32 {
	for n := range numbers(f) {
		dst = append(dst, int32(n))
	}
	return dst
}

// scope returns the profiles of a scope, one for each type.
func (o *old) scope(data []byte) (out []byte, ok bool) {
	for f, err := range web.Fields(data) {
		if err != nil {
			return nil, false
		}
		if f.Number != fieldProfiles {
			out = f.Append(out, f.Number)
			continue
		}
		for _, p := range o.profilesOf(f.Bytes()) {
			encoded, err := proto.Marshal(p)
			if err != nil {
				return nil, false
			}
			out = protowire.AppendBytes(protowire.AppendTag(out, fieldProfiles, protowire.BytesType), encoded)
		}
	}
	return out, true
}

// profilesOf returns the profiles of one with several types.
func (o *old) profilesOf(data []byte) (out []*profilesv1.Profile) {
	o.profile++
	var common profilesv1.Profile
	var locations []int32
	var samples [][]byte
	for f := range o.fields(data) {
		switch f.Number {
		case 1:
			out = append(out, &profilesv1.Profile{SampleType: read(o, &profilesv1.ValueType{}, f.Bytes())})
		case 2:
			samples = append(samples, f.Bytes())
		case 3:
			locations = indices(locations, f)
		case 4:
			common.TimeUnixNano = f.Varint()
		case 5:
			common.DurationNano = f.Varint()
		case 6:
			common.PeriodType = read(o, &profilesv1.ValueType{}, f.Bytes())
		case 7:
			common.Period = int64(f.Varint())
		case 10:
			common.ProfileId = f.Bytes()
		case 12:
			common.OriginalPayloadFormat = string(bytes.ToValidUTF8(f.Bytes(), nil))
		case 13:
			common.OriginalPayload = f.Bytes()
		case 14:
			common.AttributeIndices = indices(common.AttributeIndices, f)
		}
	}
	shifted(common.AttributeIndices)
	for i, p := range out {
		p.TimeUnixNano, p.DurationNano, p.PeriodType, p.Period = common.TimeUnixNano, common.DurationNano, common.PeriodType, common.Period
		p.OriginalPayloadFormat, p.OriginalPayload, p.AttributeIndices = common.OriginalPayloadFormat, common.OriginalPayload, common.AttributeIndices
		if p.ProfileId = bytes.Clone(common.ProfileId); len(p.ProfileId) > 0 {
			p.ProfileId[len(p.ProfileId)-1] ^= byte(i) // ids are distinct
		}
	}
	for i, sample := range samples {
		if o.err != nil {
			return nil
		}
		if o.sample(sample, locations, out); o.err != nil {
			o.err = fault.At(fmt.Sprint("sample ", i), o.err)
		}
	}
	return out
}

// sample adds a sample to the profile of each of its values. With one type, all values are of that.
func (o *old) sample(data []byte, locations []int32, to []*profilesv1.Profile) {
	var start, length, link int32
	var attributes []int32
	var values []int64
	var times []uint64
	for f := range o.fields(data) {
		switch f.Number {
		case 1:
			start = int32(f.Varint())
		case 2:
			length = int32(f.Varint())
		case 3:
			for v := range numbers(f) {
				values = append(values, int64(v))
			}
		case 4:
			attributes = indices(attributes, f)
		case 5:
			link = int32(f.Varint()) + 1
		case 6:
			for v := range numbers(f) {
				times = append(times, v)
			}
		}
	}
	stack := o.stack(start, length, locations)
	shifted(attributes)
	for i, p := range to {
		s := &profilesv1.Sample{StackIndex: stack, AttributeIndices: attributes, LinkIndex: link}
		switch {
		case len(to) == 1 && len(values) > 0:
			s.Values = values
		case len(to) == 1:
			s.TimestampsUnixNano = times
		case i < len(values):
			s.Values = values[i : i+1]
		}
		p.Samples = append(p.Samples, s)
	}
}

// stack returns the index of a stack: a range of the profile's locations.
func (o *old) stack(start, length int32, locations []int32) int32 {
	if length == 0 {
		return 0
	}
	key := [3]int32{o.profile, start, length}
	if at, known := o.stacks[key]; known {
		return at
	}
	if start < 0 || length < 0 || int(start)+int(length) > len(locations) {
		o.err = fault.Invalid("locations %d to %d of %d", start, int(start)+int(length), len(locations))
		return 0
	}
	if o.listed += int(length); o.listed > maxListed {
		o.err = fault.TooLarge("more than %d locations of stacks in a request", maxListed)
		return 0
	}
	stack := &profilesv1.Stack{LocationIndices: shifted(append([]int32(nil), locations[start:start+length]...))}
	at := int32(len(o.to.StackTable))
	o.to.StackTable = append(o.to.StackTable, stack)
	o.stacks[key] = at
	return at
}
