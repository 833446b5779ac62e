package pprof

import (
	"fmt"
	"slices"
)

// link turns ids into indexes, and checks the indexes of strings.
func (d *decoder) link() error {
	if d.mostString >= uint64(len(d.Strings)) { // also if there are no strings
		return malformed("string_table", fmt.Sprintf("it has %d strings, and string %d is referred to", len(d.Strings), d.mostString))
	}
	for i, t := range append(d.Types, d.Period) {
		if !d.hasStrings(t.Name, t.Unit) {
			return malformed(fmt.Sprintf("sample_type %d, or period_type", i), noText)
		}
	}
	for i, m := range d.Mappings {
		if !d.hasStrings(m.File, m.BuildID) {
			return malformed(fmt.Sprintf("mapping %d", i-1), noText)
		}
	}
	for i, fn := range d.Functions {
		if !d.hasStrings(fn.Name, fn.SystemName, fn.File) {
			return malformed(fmt.Sprintf("function %d", i-1), noText)
		}
	}
	for i := range d.Lines {
		ln := &d.Lines[i]
		id := ln.Function
		if ln.Function = uint64(d.functionIDs.find(id)); ln.Function == 0 {
			at := slices.IndexFunc(d.Locations, func(l FlatLocation) bool { return l.Lines > uint32(i) })
			return malformed(fmt.Sprintf("location %d", at-1), fmt.Sprintf("there is no function with the id %d", id))
		}
	}
	for i := range d.Locations {
		l := &d.Locations[i]
		l.Mapping = uint64(d.mappingIDs.find(l.Mapping)) // unknown ids become 0, as in google/pprof
	}
	d.Preferred, d.DropFrames, d.KeepFrames = d.Strings[d.texts[0]], d.Strings[d.texts[1]], d.Strings[d.texts[2]]
	return nil
}

// noText reports that a table refers to a missing string. Tables count from 0 in errors.
const noText = "it refers to a string that is not in string_table"

// stringIndex narrows a string's index. An index that is too large becomes noString.
func stringIndex(i uint64) uint32 { return uint32(min(i, noString)) }

const noString = 1<<32 - 1

// hasStrings reports whether all indexes refer to strings.
func (d *decoder) hasStrings(indexes ...uint32) bool {
	for _, i := range indexes {
		if uint64(i) >= uint64(len(d.Strings)) {
			return false
		}
	}
	return true
}

// samplesOf reads the samples.
func (d *decoder) samplesOf(data string) error {
	for at := d.firstSample; len(d.Samples) < d.samplesSeen; {
		tag, _, text, next := field(data, at)
		if at = next; tag>>3 != fieldSample {
			continue
		}
		if err := d.sample(text); err != nil {
			return err
		}
	}
	return nil
}

func (d *decoder) sample(data string) error {
	stack, values := len(d.Stack), len(d.Values)
	for at := 0; at < len(data); {
		tag, number, text, next := field(data, at)
		if next > len(data) {
			return d.badSample(cutOff)
		}
		at = next
		wrong := ""
		switch tag {
		case sampleStack<<3 | wireBytes:
			wrong = d.addStack(text)
		case sampleStack<<3 | wireVarint:
			d.Stack = append(d.Stack, d.locationIDs.find(number))
			if d.Stack[len(d.Stack)-1] == 0 {
				wrong = noLocation(number)
			}
		case sampleValues<<3 | wireBytes:
			wrong = d.addValues(text)
		case sampleValues<<3 | wireVarint:
			d.Values = append(d.Values, int64(number))
		case sampleLabel<<3 | wireBytes:
			wrong = d.addLabel(text)
		default:
			if i := tag >> 3; i >= sampleStack && i <= sampleLabel {
				wrong = wrongType
			}
		}
		if wrong != "" {
			return d.badSample(wrong)
		}
		if err := d.boundSample(len(d.Stack)-stack, len(d.Values)-values); err != nil {
			return err
		}
	}
	if len(d.Values)-values != len(d.Types) {
		return fmt.Errorf("%w: sample %d has %d values, want %d", ErrProfile, len(d.Samples), len(d.Values)-values, len(d.Types))
	}
	d.Samples = append(d.Samples, FlatSample{uint32(len(d.Stack)), uint32(len(d.Labels))})
	return nil
}

// badSample reports a fault of the current sample.
func (d *decoder) badSample(what string) error {
	return malformed(fmt.Sprintf("sample %d", len(d.Samples)), what)
}

func noLocation(id uint64) string { return fmt.Sprintf("there is no location with the id %d", id) }

// boundSample bounds a sample while it grows, and the sums of all samples.
func (d *decoder) boundSample(depth, values int) error {
	switch {
	case depth > d.limits.Depth:
		return fmt.Errorf("%w: sample %d has a stack of more than %d locations", ErrTooLarge, len(d.Samples), d.limits.Depth)
	case values > len(d.Types):
		return fmt.Errorf("%w: sample %d has more values than the profile has types", ErrProfile, len(d.Samples))
	case len(d.Stack) > maxStackIDs:
		return bound("locations in all stacks", len(d.Stack), maxStackIDs)
	case len(d.Values) > maxSampleValues:
		return bound("values", len(d.Values), maxSampleValues)
	case len(d.Labels) > maxLabels:
		return bound("labels", len(d.Labels), maxLabels)
	}
	return nil
}

// addStack reads a sample's locations. It stops one beyond the limit, which boundSample then reports. It
// returns the fault, or "", as addValues and addLabel do.
func (d *decoder) addStack(data string) string {
	stack, most := d.Stack, min(len(d.Stack)+d.limits.Depth, maxStackIDs)
	at := 0
	for at < len(data) && len(stack) <= most {
		var id uint64
		id, at = uvarint(data, at)
		index := d.locationIDs.find(id)
		if index == 0 && at <= len(data) {
			return noLocation(id)
		}
		stack = append(stack, index)
	}
	if d.Stack = stack; at > len(data) {
		return "location_id: " + cutOff
	}
	return ""
}

// addValues reads a sample's values. It stops one beyond the number of types, which boundSample then
// reports.
func (d *decoder) addValues(data string) string {
	most := len(d.Values) + len(d.Types)
	at := 0
	for at < len(data) && len(d.Values) <= most {
		var v uint64
		v, at = uvarint(data, at)
		d.Values = append(d.Values, int64(v))
	}
	if at > len(data) {
		return "value: " + cutOff
	}
	return ""
}

// addLabel reads a label. It drops a label without a string, a number and a unit.
func (d *decoder) addLabel(data string) string {
	var v [5]uint64
	if !numbers(data, v[:]) {
		return "label: " + notNumbers
	}
	l := FlatLabel{Name: stringIndex(v[1]), Text: stringIndex(v[2]), Number: int64(v[3]), IsText: v[2] != 0}
	if !l.IsText {
		l.Text = stringIndex(v[4])
	}
	if !d.hasStrings(l.Name, l.Text) {
		return "label: " + noText
	}
	if l.IsText || l.Number != 0 || l.Text != 0 {
		d.Labels = append(d.Labels, l)
	}
	return ""
}
