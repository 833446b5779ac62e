package pprof

import (
	"fmt"
	"math/bits"
	"slices"
)

// maxParse bounds the bytes that google/pprof allocates to parse a profile. It counts all allocations,
// including memory that is freed again, so the heap grows by no more, whenever the garbage collector
// runs.
const maxParse = 1 << 30

// cost counts an encoded profile's parts, each as often as it occurs, and the bytes that google/pprof
// allocates for them, because google/pprof allocates before it checks anything: a label of two bytes
// takes up to 400, even if it is empty.
//
// A message costs its struct and a pointer to it. Slices grow by appends. The tables of mappings,
// functions and locations are indexed by slices and by maps of their size. A sample with labels has three
// maps with room for all its labels: texts, numbers and units.
type cost struct {
	bytes int // for samples, lines and strings; total adds the bytes of tables

	strings, types, mappings, functions, locations, lines int
	samples, stack, values, labels, comments, periods     int

	longest int // greatest number of lines of a location
}

// Bytes of the structs of google/pprof, as they are allocated.
const (
	costSample   = 128
	costLocation = 64
	costLine     = 32
	costMapping  = 112
	costFunction = 96
	costType     = 48
	costLabel    = 32
	costString   = 16
	costNumber   = 8
	costPointer  = 8
	costMap      = 48
	// costGroup is the cost of the eight places in a small map from strings to slices, and costPlace a
	// place's cost in a larger map.
	costGroup = 352
	costPlace = 48
	// costID is an entry's cost in the maps by id: the map of google/pprof has room for all ids, and the
	// map of Decode grows.
	costID = 150
)

// costOf counts a profile. It stops at the first malformed bytes, which Decode reports.
func costOf(data string) cost {
	var c cost
	for at := 0; at < len(data); {
		tag, _, text, next := field(data, at)
		if next > len(data) {
			break
		}
		at = next
		switch tag {
		case fieldSampleType<<3 | wireBytes:
			c.types++
		case fieldSample<<3 | wireBytes:
			c.sample(text)
		case fieldMapping<<3 | wireBytes:
			c.mappings++
		case fieldLocation<<3 | wireBytes:
			c.location(text)
		case fieldFunction<<3 | wireBytes:
			c.functions++
		case fieldString<<3 | wireBytes:
			c.strings++
			c.bytes += allocated(len(text))
		case fieldPeriodType<<3 | wireBytes:
			c.periods++
		case fieldComment<<3 | wireVarint:
			c.comments++
		case fieldComment<<3 | wireBytes:
			c.comments += varints(text)
		}
	}
	return c
}

func (c *cost) location(data string) {
	lines := 0
	for at := 0; at < len(data); {
		tag, _, _, next := field(data, at)
		if next > len(data) {
			break
		}
		at = next
		if tag == locationLine<<3|wireBytes {
			lines++
		}
	}
	c.locations++
	c.lines += lines
	c.longest = max(c.longest, lines)
	c.bytes += costLocation + allocated(lines*costLine)
}

func (c *cost) sample(data string) {
	var stack, values list
	labels, texts, nums, units := 0, 0, 0, 0
	for at := 0; at < len(data); {
		tag, _, text, next := field(data, at)
		if next > len(data) {
			break
		}
		at = next
		switch tag {
		case sampleStack<<3 | wireVarint, sampleStack<<3 | wireBytes:
			stack.add(tag, text)
		case sampleValues<<3 | wireVarint, sampleValues<<3 | wireBytes:
			values.add(tag, text)
		case sampleLabel<<3 | wireBytes:
			labels++
			var v [5]uint64
			switch ok := numbers(text, v[:]); {
			case !ok:
			case v[2] != 0:
				texts++
			case v[4] != 0:
				units++
				nums++
			case v[3] != 0:
				nums++
			}
		}
	}
	c.samples++
	c.stack += stack.n
	c.values += values.n
	c.labels += labels
	c.bytes += costSample + stack.cost() + values.cost()
	if labels > 0 {
		c.bytes += appended(labels, costLabel) + costOfMaps(labels, texts, nums, units)
	}
}

// total returns the bytes that Decode and google/pprof allocate for a profile.
func (c *cost) total() int {
	decoded := c.strings*costString + c.types*8 + (c.mappings+1)*48 + (c.functions+c.lines+c.locations+2)*24 +
		c.samples*8 + c.stack*4 + c.values*8 + c.labels*24
	ids := 0
	for _, n := range []int{c.mappings, c.functions, c.locations} {
		ids += n*(costID+costPointer) + appended(n, costPointer)
	}
	return decoded + ids + c.bytes +
		appended(c.strings, costString) +
		c.types*costType + appended(c.types, costPointer) +
		c.periods*costType +
		c.mappings*costMapping + c.functions*costFunction +
		appended(c.longest, costLine) +
		appended(c.samples, costPointer) + c.stack*costPointer +
		appended(c.comments, costNumber) + appended(c.comments, costString)
}

// check refuses a profile that costs too much.
func (c *cost) check(before int) error {
	if n := c.total() + before; n > maxParse {
		return fmt.Errorf("%w: to parse %d samples, %d labels, %d comments, %d strings and %d locations takes %d bytes, at most %d",
			ErrTooLarge, c.samples, c.labels, c.comments, c.strings, c.locations, n, maxParse)
	}
	return nil
}

// reserve allocates a flat profile's slices, so that they do not grow.
func (c *cost) reserve(f *Flat) {
	f.Strings = slices.Grow(f.Strings, c.strings)
	f.Types = slices.Grow(f.Types, c.types)
	f.Mappings = slices.Grow(f.Mappings, c.mappings+1)
	f.Functions = slices.Grow(f.Functions, c.functions+1)
	f.Lines = slices.Grow(f.Lines, c.lines)
	f.Locations = slices.Grow(f.Locations, c.locations+1)
	f.Samples = slices.Grow(f.Samples, c.samples)
	f.Stack = slices.Grow(f.Stack, c.stack)
	f.Values = slices.Grow(f.Values, c.values)
	f.Labels = slices.Grow(f.Labels, c.labels)
}

// list is a list of numbers in a sample, in one packed field or in many fields.
type list struct{ n, fields int }

func (l *list) add(tag uint64, packed string) {
	l.fields++
	if tag&7 == wireBytes {
		l.n += varints(packed)
		return
	}
	l.n++
}

func (l list) cost() int {
	if l.fields <= 1 {
		return allocated(l.n * costNumber)
	}
	// Pieces of packed numbers lead to capacities of any size, whose sum is up to 4n.
	return max(appended(l.n, costNumber), allocated(4*l.n*costNumber))
}

// costOfMaps returns the bytes of the maps for a sample's labels.
func costOfMaps(labels, texts, numbers, units int) int {
	bytes := 3 * costMap
	if labels > 8 { // the maps have room for all labels at once
		bytes += 3 * costPlace << bits.Len(uint(labels*8/7))
	} else {
		for _, n := range []int{texts, numbers, units} {
			if n > 0 {
				bytes += costGroup
			}
		}
	}
	bytes += ofNames(texts, costString) + ofNames(numbers, costNumber)
	if units > 0 { // numbers without a unit get an empty one
		bytes += ofNames(numbers, costString) * 3 / 2
	}
	return bytes
}

// ofNames returns an upper bound for the bytes of slices that grow by appends to n elements in total.
func ofNames(n, size int) int {
	switch {
	case n <= 1:
		return n * max(size, 16)
	case n <= 256:
		return 4 * n * size
	}
	return appended(n, size)
}

// appended returns an upper bound for the bytes that n appends of one element allocate. The capacity
// doubles up to 256 elements, and then grows by a quarter or more.
func appended(n, size int) int {
	switch {
	case n == 0:
		return 0
	case n <= 256:
		return (2<<bits.Len(uint(n-1)) - 1) * size
	}
	return 511*size + 6*(n+256)*size + n*size/2
}

// allocated returns an upper bound for the bytes of an allocation of n bytes.
func allocated(n int) int {
	if n == 0 {
		return 0
	}
	return n + min(n/4, 8<<10) + 16 // sizes are rounded up: to size classes, and above 32 KiB to pages
}

// varints returns the number of packed varints.
func varints(packed string) int {
	n := 0
	for i := range len(packed) {
		if packed[i] < 0x80 {
			n++
		}
	}
	return n
}
