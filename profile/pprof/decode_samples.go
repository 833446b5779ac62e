package pprof

import "fmt"

// link turns ids into indexes, and checks the indexes of strings.
func (d *decoder) link() error {
	good := d.mostString < uint64(len(d.Strings)) // false if there are no strings
	for _, t := range append(d.Types, d.Period) {
		good = good && d.hasString(t.Name) && d.hasString(t.Unit)
	}
	for _, m := range d.Mappings {
		good = good && d.hasString(m.File) && d.hasString(m.BuildID)
	}
	for _, fn := range d.Functions {
		good = good && d.hasString(fn.Name) && d.hasString(fn.SystemName) && d.hasString(fn.File)
	}
	for i := range d.Lines {
		ln := &d.Lines[i]
		ln.Function = uint64(d.functionIDs.find(ln.Function))
		good = good && ln.Function != 0
	}
	for i := range d.Locations {
		l := &d.Locations[i]
		l.Mapping = uint64(d.mappingIDs.find(l.Mapping)) // unknown ids become 0, as in google/pprof
	}
	if !good {
		return errMalformed
	}
	d.Preferred, d.DropFrames, d.KeepFrames = d.Strings[d.texts[0]], d.Strings[d.texts[1]], d.Strings[d.texts[2]]
	return nil
}

// stringIndex narrows the index of a string. An index that is too large becomes noString.
func stringIndex(i uint64) uint32 { return uint32(min(i, noString)) }

const noString = 1<<32 - 1

func (d *decoder) hasString(i uint32) bool { return uint64(i) < uint64(len(d.Strings)) }

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
			return errMalformed
		}
		at = next
		good := true
		switch tag {
		case sampleStack<<3 | wireBytes:
			good = d.addStack(text)
		case sampleStack<<3 | wireVarint:
			d.Stack = append(d.Stack, d.locationIDs.find(number))
			good = d.Stack[len(d.Stack)-1] != 0
		case sampleValues<<3 | wireBytes:
			good = d.addValues(text)
		case sampleValues<<3 | wireVarint:
			d.Values = append(d.Values, int64(number))
		case sampleLabel<<3 | wireBytes:
			good = d.addLabel(text)
		default:
			i := tag >> 3
			good = i < sampleStack || i > sampleLabel
		}
		if !good {
			return errMalformed
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

// addStack reads the locations of a sample. It stops one beyond the limit, which boundSample
// then reports.
func (d *decoder) addStack(data string) bool {
	stack, most := d.Stack, min(len(d.Stack)+d.limits.Depth, maxStackIDs)
	at := 0
	for at < len(data) && len(stack) <= most {
		var id uint64
		id, at = uvarint(data, at)
		index := d.locationIDs.find(id)
		if index == 0 {
			return false
		}
		stack = append(stack, index)
	}
	d.Stack = stack
	return at <= len(data)
}

// addValues reads the values of a sample. It stops one beyond the number of types, which
// boundSample then reports.
func (d *decoder) addValues(data string) bool {
	most := len(d.Values) + len(d.Types)
	at := 0
	for at < len(data) && len(d.Values) <= most {
		var v uint64
		v, at = uvarint(data, at)
		d.Values = append(d.Values, int64(v))
	}
	return at <= len(data)
}

// addLabel reads a label. It drops a label without a string, a number and a unit.
func (d *decoder) addLabel(data string) bool {
	var v [5]uint64
	if !numbers(data, v[:]) {
		return false
	}
	l := FlatLabel{Name: stringIndex(v[1]), Text: stringIndex(v[2]), Number: int64(v[3]), IsText: v[2] != 0}
	if !l.IsText {
		l.Text = stringIndex(v[4])
	}
	if !d.hasString(l.Name) || !d.hasString(l.Text) {
		return false
	}
	if l.IsText || l.Number != 0 || l.Text != 0 {
		d.Labels = append(d.Labels, l)
	}
	return true
}
