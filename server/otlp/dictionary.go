package otlp

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

// Upper bounds of the memory that parts of a request take.
const (
	attributeBytes = 256 // of a sample, in maps
	locationBytes  = 16  // of a stack
)

// dictionary has the tables that the profiles in a request share, and the converted entries so far.
// Entry 0 of each table stands for none.
type dictionary struct {
	*profilesv1.ProfilesDictionary
	most       int               // samples of a profile
	take       func(int64) error // reserves memory
	attributes int               // number of attribute references that may still be resolved
	listed     int               // number of stack locations that may still be resolved
	err        error             // the first error of the resource or profile that is converted; its result is not used

	mappings  map[int32]*pprof.Mapping
	functions map[int32]*pprof.Function
	locations map[int32]*pprof.Location
	stacks    map[int32][]*pprof.Location
}

func newDictionary(from *profilesv1.ProfilesDictionary, o Options) *dictionary {
	most := o.Limits.Samples
	return &dictionary{
		ProfilesDictionary: from, most: most, take: o.Take, attributes: 2 * most, listed: maxListed,
		mappings: map[int32]*pprof.Mapping{}, functions: map[int32]*pprof.Function{},
		locations: map[int32]*pprof.Location{}, stacks: map[int32][]*pprof.Location{},
	}
}

// fail keeps the first error.
func (d *dictionary) fail(err error) { d.err = cmp.Or(d.err, err) }

// keep keeps a converted entry for later profiles, unless there was an error.
func keep[T any](d *dictionary, in map[int32]T, index int32, e T) T {
	if d.err == nil {
		in[index] = e
	}
	return e
}

// entry returns an entry of a table, or nil for index 0 and after an error.
func entry[T any](d *dictionary, what string, table []*T, index int32) *T {
	switch {
	case index == 0 || d.err != nil:
		return nil
	case index < 0 || int(index) >= len(table):
		d.fail(fault.Invalid("%s %d of %d", what, index, len(table)))
		return nil
	}
	return table[index]
}

// text returns a string, or "" for index 0 and for a wrong index.
func (d *dictionary) text(index int32) string {
	table := d.GetStringTable()
	switch {
	case index == 0:
		return ""
	case index < 0 || int(index) >= len(table):
		d.fail(fault.Invalid("string %d of %d", index, len(table)))
		return ""
	}
	return table[index]
}

// labels returns the attributes of a resource as labels. Keys and texts can be indices.
func (d *dictionary) labels(attributes []*commonv1.KeyValue) (map[string]string, error) {
	d.err = nil
	labels := make(map[string]string, len(attributes))
	for _, a := range attributes {
		key := a.GetKey()
		if index := a.GetKeyStrindex(); index != 0 {
			key = d.text(index)
		}
		if text, ok := d.value(a.GetValue()); ok {
			labels[key] = text
		}
	}
	return labels, d.err
}

// value returns the value of an attribute as text. ok is false for lists and bytes.
func (d *dictionary) value(v *commonv1.AnyValue) (text string, ok bool) {
	switch v := v.GetValue().(type) {
	case *commonv1.AnyValue_StringValue:
		return v.StringValue, true
	case *commonv1.AnyValue_StringValueStrindex:
		return d.text(v.StringValueStrindex), true
	case *commonv1.AnyValue_BoolValue:
		return strconv.FormatBool(v.BoolValue), true
	case *commonv1.AnyValue_IntValue:
		return strconv.FormatInt(v.IntValue, 10), true
	case *commonv1.AnyValue_DoubleValue:
		return strconv.FormatFloat(v.DoubleValue, 'g', -1, 64), true
	}
	return "", false
}

// eachAttribute calls f with attributes of the table, until there is an error.
func (d *dictionary) eachAttribute(indices []int32, f func(key, unit string, v *commonv1.AnyValue)) {
	if d.err != nil {
		return // what is not used does not count
	}
	if d.attributes -= len(indices); d.attributes < 0 {
		d.fail(fault.TooLarge("more than %d attributes in a request", 2*d.most))
		return
	}
	d.fail(d.take(int64(len(indices)) * attributeBytes))
	for _, index := range indices {
		a := entry(d, "attribute", d.GetAttributeTable(), index)
		key, unit := d.text(a.GetKeyStrindex()), d.text(a.GetUnitStrindex())
		if d.err != nil {
			return
		}
		f(key, unit, a.GetValue())
	}
}

// withAttributes returns labels together with attributes of the table.
func (d *dictionary) withAttributes(labels map[string]string, indices []int32) map[string]string {
	if len(indices) == 0 {
		return labels
	}
	labels = maps.Clone(labels)
	d.eachAttribute(indices, func(key, _ string, v *commonv1.AnyValue) {
		if text, ok := d.value(v); ok {
			labels[key] = text
		}
	})
	return labels
}

// stack returns a stack's locations, leaf first. Samples share the slice.
func (d *dictionary) stack(index int32) []*pprof.Location {
	if known, ok := d.stacks[index]; ok {
		return known
	}
	indices := entry(d, "stack", d.GetStackTable(), index).GetLocationIndices()
	if d.listed -= len(indices); d.listed < 0 {
		d.fail(fault.TooLarge("more than %d locations of stacks in a request", maxListed))
		return nil
	}
	if d.fail(d.take(int64(len(indices)) * locationBytes)); d.err != nil {
		return nil
	}
	stack := make([]*pprof.Location, 0, len(indices))
	for _, i := range indices {
		if l := d.location(i); l != nil {
			stack = append(stack, l)
		}
	}
	return keep(d, d.stacks, index, stack)
}

// location returns a location, or nil for index 0.
func (d *dictionary) location(index int32) *pprof.Location {
	if known, ok := d.locations[index]; ok {
		return known
	}
	from := entry(d, "location", d.GetLocationTable(), index)
	if from == nil {
		return nil
	}
	l := &pprof.Location{ID: uint64(index), Address: from.GetAddress(), Mapping: d.mapping(from.GetMappingIndex())}
	for _, line := range from.GetLines() {
		if f := d.function(line.GetFunctionIndex()); f != nil {
			l.Line = append(l.Line, pprof.Line{Function: f, Line: line.GetLine(), Column: line.GetColumn()})
		}
	}
	return keep(d, d.locations, index, l)
}

// function returns a function, or nil for index 0.
func (d *dictionary) function(index int32) *pprof.Function {
	if known, ok := d.functions[index]; ok {
		return known
	}
	from := entry(d, "function", d.GetFunctionTable(), index)
	if from == nil {
		return nil
	}
	return keep(d, d.functions, index, &pprof.Function{
		ID: uint64(index), StartLine: from.GetStartLine(),
		Name: d.text(from.GetNameStrindex()), SystemName: d.text(from.GetSystemNameStrindex()), Filename: d.text(from.GetFilenameStrindex()),
	})
}

// buildIDs are the attributes of a mapping that identify its file. The first present one counts.
var buildIDs = []string{
	"process.executable.build_id.gnu", "process.executable.build_id.go", "process.executable.build_id.htlhash",
}

// mapping returns a mapping, or nil for index 0.
func (d *dictionary) mapping(index int32) *pprof.Mapping {
	if known, ok := d.mappings[index]; ok {
		return known
	}
	from := entry(d, "mapping", d.GetMappingTable(), index)
	if from == nil {
		return nil
	}
	m := &pprof.Mapping{ID: uint64(index), Start: from.GetMemoryStart(), Limit: from.GetMemoryLimit(), Offset: from.GetFileOffset(), File: d.text(from.GetFilenameStrindex())}
	attributes := d.withAttributes(map[string]string{}, from.GetAttributeIndices())
	for _, name := range buildIDs {
		m.BuildID = cmp.Or(m.BuildID, attributes[name])
	}
	return keep(d, d.mappings, index, m)
}

// link returns the ids of a trace and a span in hexadecimal digits. They are "" for index 0, and for ids
// that are all zeros.
func (d *dictionary) link(index int32) (trace, span string) {
	text := func(id []byte, size int) string {
		if len(id) != 0 && len(id) != size {
			d.fail(fault.Invalid("link %d: an id of %d bytes, want %d", index, len(id), size))
		}
		if isZero(id) {
			return ""
		}
		return hex.EncodeToString(id)
	}
	from := entry(d, "link", d.GetLinkTable(), index)
	return text(from.GetTraceId(), 16), text(from.GetSpanId(), 8)
}

func isZero(id []byte) bool { return len(bytes.Trim(id, "\x00")) == 0 }
