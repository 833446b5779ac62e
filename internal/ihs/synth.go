package ihs

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// Synth is the model in section 4.4 of the R-SHT paper: Attributes attributes change in turn, Changes times
// each, in an order that is shuffled once. One attribute changes every 1000 ns, from 0 on; its values cycle
// through 1 to 8, and are null before its first change. The set has Attributes*(Changes+1)-1 intervals.
type Synth struct {
	Attributes, Changes int
}

// synthStep is the time from one change to the next, in nanoseconds.
const synthStep = 1000

// ParseSynth returns the model named by "synth:A:I", or nil for a name without the prefix.
func ParseSynth(name string) (*Synth, error) {
	rest, found := strings.CutPrefix(name, "synth:")
	if !found {
		return nil, nil
	}
	a, i, _ := strings.Cut(rest, ":")
	attributes, errA := strconv.Atoi(a)
	changes, errI := strconv.Atoi(i)
	if errA != nil || errI != nil || attributes < 1 || changes < 1 {
		return nil, fmt.Errorf("%w: %q: want synth:ATTRIBUTES:CHANGES, both at least 1", ErrFormat, name)
	}
	return &Synth{Attributes: attributes, Changes: changes}, nil
}

// Header returns the set's header, or ErrLimit if the set exceeds the limits.
func (m Synth) Header(limits Limits) (Header, error) {
	limits = limits.withDefaults()
	if m.Attributes < 1 || m.Changes < 1 {
		return Header{}, fmt.Errorf("%w: %d attributes, %d changes", ErrFormat, m.Attributes, m.Changes)
	}
	// These bounds keep the products below from overflowing.
	if m.Attributes > limits.Keys || m.Changes > limits.Intervals ||
		m.Attributes > math.MaxInt32 || m.Changes > math.MaxInt64/synthStep/m.Attributes-1 {
		return Header{}, fmt.Errorf("%w: %d attributes, %d changes", ErrLimit, m.Attributes, m.Changes)
	}
	h := Header{
		Keys:      m.Attributes,
		Intervals: m.Attributes*(m.Changes+1) - 1,
		End:       int64(m.Attributes*m.Changes) * synthStep,
	}
	return h, h.check(limits)
}

// Order returns the attributes in the order in which they change.
func (m Synth) Order() []uint32 {
	order := make([]uint32, m.Attributes)
	for i := range order {
		order[i] = uint32(i)
	}
	state := uint64(42)
	for i := len(order) - 1; i > 0; i-- {
		state += 0x9E3779B97F4A7C15 // splitmix64
		z := state
		z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
		z = (z ^ z>>27) * 0x94D049BB133111EB
		j := (z ^ z>>31) % uint64(i+1)
		order[i], order[j] = order[j], order[i]
	}
	return order
}

// Names returns the set's attributes. All are at the top, and their names are their numbers.
func (m Synth) Names() []Attribute {
	all := make([]Attribute, m.Attributes)
	for key := range all {
		all[key] = Attribute{Parent: NoParent, Name: strconv.Itoa(key)}
	}
	return all
}

// Next returns a function that computes the set's intervals one by one, ordered by end, and then returns
// io.EOF. It keeps 20 bytes per attribute, and no intervals.
func (m Synth) Next() func() (Interval, error) {
	order, starts, values := m.Order(), make([]int64, m.Attributes), make([]uint64, m.Attributes)
	n, all := 1, m.Attributes*m.Changes // at 0 the first attribute changes, and no state ends
	left := 0
	end := int64(all) * synthStep
	state := func(key uint32, end int64) Interval {
		iv := Interval{Start: starts[key], End: end, Key: key}
		if values[key] > 0 {
			iv.Kind, iv.Word = KindInt, values[key]
		}
		return iv
	}
	values[order[0]] = 1
	return func() (Interval, error) {
		switch {
		case n < all:
			key, t := order[n%m.Attributes], int64(n)*synthStep
			iv := state(key, t-1)
			starts[key], values[key] = t, uint64(n/m.Attributes%8)+1
			n++
			return iv, nil
		case left < m.Attributes:
			left++
			return state(uint32(left-1), end), nil
		}
		return Interval{}, io.EOF
	}
}

// Set computes the set. ErrLimit means that the set exceeds the limits.
func (m Synth) Set(limits Limits) (*Set, error) {
	h, err := m.Header(limits)
	if err != nil {
		return nil, err
	}
	s := &Set{Header: h, Attributes: m.Names()}
	s.grow(h.Intervals)
	next := m.Next()
	for iv, err := next(); err == nil; iv, err = next() {
		s.Append(iv)
	}
	return s, nil
}
