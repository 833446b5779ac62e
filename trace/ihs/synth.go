package ihs

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Synth is the model of section 4.4 of the R-SHT paper: Attributes attributes change in turn,
// Changes times each, in an order that is shuffled once. Every 1000 ns, from 0 on, one
// attribute changes; its values cycle through 1 to 8, and are null before its first change.
// The set has Attributes*(Changes+1)-1 intervals.
type Synth struct {
	Attributes, Changes int
}

// synthStep is the time from one change to the next, in nanoseconds.
const synthStep = 1000

// parseSynth returns the model named by "synth:A:I", or nil for a name without the prefix.
func parseSynth(name string) (*Synth, error) {
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

// Header returns the header of the set, or ErrLimit if the set exceeds the limits.
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

// Set computes the set. The attributes are all at the top, and their names are their numbers.
// ErrLimit means that the set exceeds the limits.
func (m Synth) Set(limits Limits) (*Set, error) {
	h, err := m.Header(limits)
	if err != nil {
		return nil, err
	}
	s := &Set{Header: h}
	s.grow(h.Intervals)
	ongoing := make([]Interval, h.Keys)
	for key := range ongoing {
		ongoing[key].Key = uint32(key)
		s.Attributes = append(s.Attributes, Attribute{Parent: NoParent, Name: strconv.Itoa(key)})
	}
	order := m.Order()
	t := int64(0)
	for i := range m.Changes {
		for _, key := range order {
			iv := &ongoing[key]
			if t > 0 {
				iv.End = t - 1
				s.append(*iv)
			}
			iv.Start, iv.Kind, iv.Word = t, KindInt, uint64(i%8)+1
			t += synthStep
		}
	}
	for _, iv := range ongoing {
		iv.End = h.End
		s.append(iv)
	}
	return s, nil
}
