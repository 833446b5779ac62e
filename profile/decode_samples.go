package profile

import "fmt"

// link turns ids into indexes, and checks what refers to strings.
func (d *decoder) link() error {
	good := d.mostString < uint64(len(d.strings)) // false if there are no strings
	for _, t := range append(d.types, d.period) {
		good = good && d.hasString(t.name) && d.hasString(t.unit)
	}
	for _, m := range d.mappings {
		good = good && d.hasString(m.file) && d.hasString(m.buildID)
	}
	for _, fn := range d.functions {
		good = good && d.hasString(fn.name) && d.hasString(fn.systemName) && d.hasString(fn.file)
	}
	for i := range d.lines {
		ln := &d.lines[i]
		ln.function = uint64(d.functionIDs.find(ln.function))
		good = good && ln.function != 0
	}
	for i := range d.locations {
		l := &d.locations[i]
		l.mapping = uint64(d.mappingIDs.find(l.mapping)) // one that is not there is none, says google/pprof
	}
	if !good {
		return errMalformed
	}
	d.preferred = d.strings[d.preferredX]
	return nil
}

// stringIndex narrows the index of a string: what is too large is no string's.
func stringIndex(i uint64) uint32 { return uint32(min(i, noString)) }

const noString = 1<<32 - 1

func (d *decoder) hasString(i uint32) bool { return uint64(i) < uint64(len(d.strings)) }

// samplesOf reads the samples.
func (d *decoder) samplesOf(data string) error {
	for at := d.firstSample; len(d.samples) < d.samplesSeen; {
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
	stack, values := len(d.stack), len(d.values)
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
			d.stack = append(d.stack, d.locationIDs.find(number))
			good = d.stack[len(d.stack)-1] != 0
		case sampleValues<<3 | wireBytes:
			good = d.addValues(text)
		case sampleValues<<3 | wireVarint:
			d.values = append(d.values, int64(number))
		case sampleLabel<<3 | wireBytes:
			good = d.addLabel(text)
		default:
			i := tag >> 3
			good = i < sampleStack || i > sampleLabel
		}
		if !good {
			return errMalformed
		}
		if err := d.boundSample(len(d.stack)-stack, len(d.values)-values); err != nil {
			return err
		}
	}
	if len(d.values)-values != len(d.types) {
		return fmt.Errorf("%w: sample %d has %d values, not %d", ErrProfile, len(d.samples), len(d.values)-values, len(d.types))
	}
	d.samples = append(d.samples, flatSample{uint32(len(d.stack)), uint32(len(d.labels))})
	return nil
}

// boundSample bounds a sample while it grows, and what samples have together.
func (d *decoder) boundSample(depth, values int) error {
	switch {
	case depth > d.limits.Depth:
		return fmt.Errorf("%w: sample %d has a stack of over %d", ErrTooLarge, len(d.samples), d.limits.Depth)
	case values > len(d.types):
		return fmt.Errorf("%w: sample %d has more values than there are types", ErrProfile, len(d.samples))
	case len(d.stack) > maxStackIDs:
		return bound("locations in all stacks", len(d.stack), maxStackIDs)
	case len(d.values) > maxSampleValues:
		return bound("values", len(d.values), maxSampleValues)
	case len(d.labels) > maxLabelCells:
		return bound("labels", len(d.labels), maxLabelCells)
	}
	return nil
}

// addStack reads the locations of a sample. It stops at the limit: the caller
// sees that there are too many.
func (d *decoder) addStack(data string) bool {
	stack, most := d.stack, min(len(d.stack)+d.limits.Depth, maxStackIDs)
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
	d.stack = stack
	return at <= len(data)
}

// addValues reads the values of a sample. It stops when there are too many: the
// caller sees that.
func (d *decoder) addValues(data string) bool {
	most := len(d.values) + len(d.types)
	at := 0
	for at < len(data) && len(d.values) <= most {
		var v uint64
		v, at = uvarint(data, at)
		d.values = append(d.values, int64(v))
	}
	return at <= len(data)
}

// addLabel reads a label. One that is neither a string nor a number is none.
func (d *decoder) addLabel(data string) bool {
	var v [5]uint64
	if !numbers(data, v[:]) {
		return false
	}
	l := flatLabel{name: stringIndex(v[1]), text: stringIndex(v[2]), number: int64(v[3]), isText: v[2] != 0}
	if !l.isText {
		l.text = stringIndex(v[4])
	}
	if !d.hasString(l.name) || !d.hasString(l.text) {
		return false
	}
	if l.isText || l.number != 0 || l.text != 0 {
		d.labels = append(d.labels, l)
	}
	return true
}

// ids finds an entry of a table by its id. Writers number entries from 1 up, in
// order: then an id is its own index, and nothing is kept.
type ids struct {
	n    uint32
	byID map[uint64]uint32 // nil as long as each id was its own index
}

// add gives the next index to id. It says false for an id that is 0 or taken.
func (t *ids) add(id uint64) bool {
	t.n++
	if t.byID == nil {
		if id == uint64(t.n) {
			return true
		}
		t.byID = make(map[uint64]uint32, t.n)
		for i := uint32(1); i < t.n; i++ {
			t.byID[uint64(i)] = i
		}
	}
	if _, taken := t.byID[id]; taken || id == 0 {
		return false
	}
	t.byID[id] = t.n
	return true
}

// find returns the index of id, or 0.
func (t *ids) find(id uint64) uint32 {
	if t.byID != nil {
		return t.byID[id]
	}
	if id > uint64(t.n) {
		return 0
	}
	return uint32(id)
}
