package push

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"maps"
	"strconv"

	pprof "github.com/google/pprof/profile"
	commonv1 "go.opentelemetry.io/proto/otlp/common/v1"
	profilesv1 "go.opentelemetry.io/proto/otlp/profiles/v1development"

	"github.com/granarydb/granary/server/internal/fault"
)

// maxListed bounds the locations of all stacks in a request, 8 bytes each.
const maxListed = 16 << 20

// otlpDictionary has the tables that the profiles in a request share, and the converted entries so far.
// Entry 0 of each table stands for none.
type otlpDictionary struct {
	*profilesv1.ProfilesDictionary
	limits     Limits
	share      *share // share of the push
	attributes int    // number of attribute references that may still be resolved
	listed     int    // number of stack locations that may still be resolved

	mappings  map[int32]*pprof.Mapping
	functions map[int32]*pprof.Function
	locations map[int32]*pprof.Location
	stacks    map[int32][]*pprof.Location
}

func newOTLPDictionary(from *profilesv1.ProfilesDictionary, l Limits, sh *share) *otlpDictionary {
	return &otlpDictionary{
		ProfilesDictionary: from, limits: l, share: sh, attributes: 2 * l.Profile.Samples, listed: maxListed,
		mappings: map[int32]*pprof.Mapping{}, functions: map[int32]*pprof.Function{},
		locations: map[int32]*pprof.Location{}, stacks: map[int32][]*pprof.Location{},
	}
}

// entry returns an entry of a table, or nil for index 0.
func entry[T any](what string, table []*T, index int32) (*T, error) {
	switch {
	case index == 0:
		return nil, nil
	case index < 0 || int(index) >= len(table):
		return nil, fault.Invalid("%s %d of %d", what, index, len(table))
	}
	return table[index], nil
}

// text returns a string, or "" for index 0.
func (d *otlpDictionary) text(index int32) (string, error) {
	switch table := d.GetStringTable(); {
	case index == 0:
		return "", nil
	case index < 0 || int(index) >= len(table):
		return "", fault.Invalid("string %d of %d", index, len(table))
	default:
		return table[index], nil
	}
}

// texts sets several strings. It stops at the first error.
func (d *otlpDictionary) texts(indices []int32, to ...*string) (err error) {
	for i, index := range indices {
		if *to[i], err = d.text(index); err != nil {
			return err
		}
	}
	return nil
}

// labels returns the attributes of a resource as labels. Keys and texts can be indices.
func (d *otlpDictionary) labels(attributes []*commonv1.KeyValue) (map[string]string, error) {
	labels := make(map[string]string, len(attributes))
	for _, a := range attributes {
		key := a.GetKey()
		if index := a.GetKeyStrindex(); index != 0 {
			var err error
			if key, err = d.text(index); err != nil {
				return nil, err
			}
		}
		text, ok, err := d.value(a.GetValue())
		if err != nil {
			return nil, err
		}
		if ok {
			labels[key] = text
		}
	}
	return labels, nil
}

// value returns the value of an attribute as text. ok is false for lists and bytes.
func (d *otlpDictionary) value(v *commonv1.AnyValue) (text string, ok bool, err error) {
	switch v := v.GetValue().(type) {
	case *commonv1.AnyValue_StringValue:
		return v.StringValue, true, nil
	case *commonv1.AnyValue_StringValueStrindex:
		text, err = d.text(v.StringValueStrindex)
		return text, true, err
	case *commonv1.AnyValue_BoolValue:
		return strconv.FormatBool(v.BoolValue), true, nil
	case *commonv1.AnyValue_IntValue:
		return strconv.FormatInt(v.IntValue, 10), true, nil
	case *commonv1.AnyValue_DoubleValue:
		return strconv.FormatFloat(v.DoubleValue, 'g', -1, 64), true, nil
	}
	return "", false, nil
}

// eachAttribute calls f with attributes of the table.
func (d *otlpDictionary) eachAttribute(indices []int32, f func(key, unit string, v *commonv1.AnyValue) error) error {
	if d.attributes -= len(indices); d.attributes < 0 {
		return fault.TooLarge("more than %d attributes in a request", 2*d.limits.Profile.Samples)
	}
	if err := d.share.take(int64(len(indices)) * attributeBytes); err != nil {
		return err
	}
	for _, index := range indices {
		a, err := entry("attribute", d.GetAttributeTable(), index)
		if err != nil {
			return err
		}
		var key, unit string
		if err := d.texts([]int32{a.GetKeyStrindex(), a.GetUnitStrindex()}, &key, &unit); err != nil {
			return err
		}
		if err := f(key, unit, a.GetValue()); err != nil {
			return err
		}
	}
	return nil
}

// withAttributes returns labels together with attributes of the table.
func (d *otlpDictionary) withAttributes(labels map[string]string, indices []int32) (map[string]string, error) {
	if len(indices) == 0 {
		return labels, nil
	}
	labels = maps.Clone(labels)
	err := d.eachAttribute(indices, func(key, _ string, v *commonv1.AnyValue) error {
		text, ok, err := d.value(v)
		if ok {
			labels[key] = text
		}
		return err
	})
	return labels, err
}

// stack returns a stack's locations, leaf first. Samples share the slice.
func (d *otlpDictionary) stack(index int32) ([]*pprof.Location, error) {
	if known, ok := d.stacks[index]; ok {
		return known, nil
	}
	from, err := entry("stack", d.GetStackTable(), index)
	if err != nil {
		return nil, err
	}
	if d.listed -= len(from.GetLocationIndices()); d.listed < 0 {
		return nil, fault.TooLarge("more than %d locations of stacks in a request", maxListed)
	}
	if err := d.share.take(int64(len(from.GetLocationIndices())) * locationBytes); err != nil {
		return nil, err
	}
	stack := make([]*pprof.Location, 0, len(from.GetLocationIndices()))
	for _, i := range from.GetLocationIndices() {
		l, err := d.location(i)
		if err != nil {
			return nil, err
		}
		if l != nil {
			stack = append(stack, l)
		}
	}
	d.stacks[index] = stack
	return stack, nil
}

// location returns a location, or nil for index 0.
func (d *otlpDictionary) location(index int32) (*pprof.Location, error) {
	if known, ok := d.locations[index]; ok {
		return known, nil
	}
	from, err := entry("location", d.GetLocationTable(), index)
	if from == nil || err != nil {
		return nil, err
	}
	l := &pprof.Location{ID: uint64(index), Address: from.GetAddress()}
	if l.Mapping, err = d.mapping(from.GetMappingIndex()); err != nil {
		return nil, err
	}
	for _, line := range from.GetLines() {
		f, err := d.function(line.GetFunctionIndex())
		if err != nil {
			return nil, err
		}
		if f != nil {
			l.Line = append(l.Line, pprof.Line{Function: f, Line: line.GetLine(), Column: line.GetColumn()})
		}
	}
	d.locations[index] = l
	return l, nil
}

// function returns a function, or nil for index 0.
func (d *otlpDictionary) function(index int32) (*pprof.Function, error) {
	if known, ok := d.functions[index]; ok {
		return known, nil
	}
	from, err := entry("function", d.GetFunctionTable(), index)
	if from == nil || err != nil {
		return nil, err
	}
	f := &pprof.Function{ID: uint64(index), StartLine: from.GetStartLine()}
	err = d.texts([]int32{from.GetNameStrindex(), from.GetSystemNameStrindex(), from.GetFilenameStrindex()},
		&f.Name, &f.SystemName, &f.Filename)
	if err != nil {
		return nil, err
	}
	d.functions[index] = f
	return f, nil
}

// buildIDs are the attributes of a mapping that identify its file. The first present one counts.
var buildIDs = []string{
	"process.executable.build_id.gnu", "process.executable.build_id.go", "process.executable.build_id.htlhash",
}

// mapping returns a mapping, or nil for index 0.
func (d *otlpDictionary) mapping(index int32) (*pprof.Mapping, error) {
	if known, ok := d.mappings[index]; ok {
		return known, nil
	}
	from, err := entry("mapping", d.GetMappingTable(), index)
	if from == nil || err != nil {
		return nil, err
	}
	m := &pprof.Mapping{ID: uint64(index), Start: from.GetMemoryStart(), Limit: from.GetMemoryLimit(), Offset: from.GetFileOffset()}
	if m.File, err = d.text(from.GetFilenameStrindex()); err != nil {
		return nil, err
	}
	attributes, err := d.withAttributes(map[string]string{}, from.GetAttributeIndices())
	if err != nil {
		return nil, err
	}
	for _, name := range buildIDs {
		m.BuildID = cmp.Or(m.BuildID, attributes[name])
	}
	d.mappings[index] = m
	return m, nil
}

// link returns the ids of a trace and a span in hexadecimal digits. They are "" for index 0, and for ids
// that are all zeros.
func (d *otlpDictionary) link(index int32) (trace, span string, err error) {
	from, err := entry("link", d.GetLinkTable(), index)
	if err != nil {
		return "", "", err
	}
	for _, id := range []struct {
		bytes []byte
		size  int
		to    *string
	}{{from.GetTraceId(), 16, &trace}, {from.GetSpanId(), 8, &span}} {
		if len(id.bytes) != 0 && len(id.bytes) != id.size {
			return "", "", fault.Invalid("link %d: an id of %d bytes, want %d", index, len(id.bytes), id.size)
		}
		if isZero(id.bytes) {
			continue
		}
		*id.to = hex.EncodeToString(id.bytes)
	}
	return trace, span, nil
}

func isZero(id []byte) bool { return len(bytes.Trim(id, "\x00")) == 0 }
