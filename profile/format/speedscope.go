package format

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	pprof "github.com/google/pprof/profile"
)

// speedscopeFile is a file in the JSON of speedscope.
type speedscopeFile struct {
	Shared   struct{ Frames []speedscopeFrame }
	Profiles []speedscopeProfile
	Active   int    `json:"activeProfileIndex"`
	Exporter string // granary names profiles by their types
}

type speedscopeFrame struct {
	Name, File string
	Line, Col  int64
}

// speedscopeProfile is a list of stacks with weights, root first, or of events that open and close frames.
type speedscopeProfile struct {
	Type, Name, Unit string

	Samples [][]int
	Weights []json.Number

	Events []struct {
		Type  string // O or C
		At    json.Number
		Frame int
	}
}

// speedscopeUnits are the sample types for units of speedscope, with the number that values are multiplied by.
var speedscopeUnits = map[string]struct {
	name, unit string
	times      int64
}{
	"none": {"samples", "count", 1}, "bytes": {"space", "bytes", 1}, "nanoseconds": {"wall", "nanoseconds", 1},
	"microseconds": {"wall", "nanoseconds", 1e3}, "milliseconds": {"wall", "nanoseconds", 1e6}, "seconds": {"wall", "nanoseconds", 1e9},
}

// isSpeedscope reports whether head begins as a file of speedscope: an object with the address of its schema.
func isSpeedscope(head []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(head, " \t\r\n"), []byte("{")) && bytes.Contains(head, []byte("speedscope.app/file-format-schema"))
}

// parseSpeedscope returns the profile of a file of speedscope. Units make types: times are wall in nanoseconds, because a
// file does not say what was measured, bytes are space, and values without a unit samples in count. If a file has several
// profiles, as for threads, samples have the label thread with the name of theirs. In a file of Granary, profiles are
// sample types by their names.
func parseSpeedscope(data []byte, h Hints) (*pprof.Profile, error) {
	text, err := textOf(data, h.Limits)
	if err != nil {
		return nil, fmt.Errorf("file of speedscope: %w", err)
	}
	var file speedscopeFile
	if err := json.Unmarshal(text, &file); err != nil {
		return nil, invalid("file of speedscope: " + err.Error() + placeInJSON(err))
	}
	s := speedscope{sampleBuilder: newBuilder(h), file: &file}
	for i := range file.Profiles {
		if err := s.add(&file.Profiles[i]); err != nil {
			return nil, fmt.Errorf("file of speedscope, profile %d: %w", i, err)
		}
		if i == file.Active && s.isOurs() {
			s.to.DefaultSampleType = s.to.SampleType[s.value].Type
		}
	}
	if len(file.Profiles) == 0 {
		return nil, invalid("file of speedscope: it has no profiles")
	}
	return s.done(), nil
}

// placeInJSON says where an error of encoding/json is, if it knows it.
func placeInJSON(err error) string {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return fmt.Sprintf(", at byte %d", syntax.Offset)
	case errors.As(err, &kind):
		return fmt.Sprintf(", at byte %d", kind.Offset)
	}
	return ""
}

// speedscope makes a profile from a file.
type speedscope struct {
	*sampleBuilder
	file   *speedscopeFile
	value  int     // index of the sample type
	times  int64   // what values are multiplied by
	labels *labels // nil: none
}

func (s *speedscope) isOurs() bool { return s.file.Exporter == "granary" }

// add adds a profile.
func (s *speedscope) add(p *speedscopeProfile) (err error) {
	unit, known := speedscopeUnits[p.Unit]
	if !known {
		return invalid(fmt.Sprintf("unit %.100q", p.Unit))
	}
	if s.times = unit.times; s.isOurs() {
		unit.name = p.Name
	} else if len(s.file.Profiles) > 1 {
		s.labels, err = s.labelsOf(p.Name, func(l *labels) error {
			l.text = map[string][]string{"thread": {p.Name}}
			return nil
		})
		if err != nil {
			return err
		}
	}
	t := pprof.ValueType{Type: unit.name, Unit: unit.unit}
	s.value = slices.IndexFunc(s.to.SampleType, func(known *pprof.ValueType) bool { return *known == t })
	if s.value < 0 {
		if len(s.to.SampleType) == maxEvents {
			return invalid(fmt.Sprintf("more than %d types", maxEvents))
		}
		s.value, s.to.SampleType = len(s.to.SampleType), append(s.to.SampleType, &t)
	}
	switch p.Type {
	case "sampled":
		return s.addSampled(p)
	case "evented":
		return s.addEvented(p)
	}
	return invalid(fmt.Sprintf("type %.100q: want sampled or evented", p.Type))
}

// addSampled adds the stacks of a profile.
func (s *speedscope) addSampled(p *speedscopeProfile) error {
	if len(p.Samples) != len(p.Weights) {
		return invalid(fmt.Sprintf("%d samples with %d weights", len(p.Samples), len(p.Weights)))
	}
	for i, stack := range p.Samples {
		if err := s.addStack(stack, p.Weights[i]); err != nil {
			return fmt.Errorf("sample %d: %w", i, err)
		}
	}
	return nil
}

// addStack adds a stack with its weight.
func (s *speedscope) addStack(stack []int, weight json.Number) error {
	s.stack = s.stack[:0]
	for _, frame := range slices.Backward(stack) {
		if err := s.pushFrame(frame); err != nil {
			return err
		}
	}
	value, err := s.number(weight)
	if err != nil {
		return err
	}
	return s.count(s.labels, s.value, value)
}

// openCall is a place in the tree of calls of events.
type openCall struct{ parent, frame int }

// addEvented adds the time that each stack of a profile was on top.
func (s *speedscope) addEvented(p *speedscopeProfile) error {
	calls, self, index := []openCall{{}}, []int64{0}, map[openCall]int{} // the first call is the root, which is no frame
	at, last := 0, int64(0)
	for i, e := range p.Events {
		now, err := s.number(e.At)
		switch {
		case err != nil:
		case i > 0 && now < last:
			err = invalid(fmt.Sprintf("its time %s is before that of the last one", e.At))
		case e.Frame < 0 || e.Frame >= len(s.file.Shared.Frames):
			err = s.noFrame(e.Frame)
		case e.Type == "C" && (at == 0 || calls[at].frame != e.Frame):
			err = invalid(fmt.Sprintf("it closes frame %d, which is not the last one that was opened", e.Frame))
		case e.Type != "O" && e.Type != "C":
			err = invalid(fmt.Sprintf("type %.100q: want O or C", e.Type))
		case i > 0 && at > 0:
			if now-last < 0 {
				err = invalid("a time of more than 64 bits")
				break
			}
			err = addTo(&self[at], now-last)
		}
		if err != nil {
			return fmt.Errorf("event %d: %w", i, err)
		}
		last = now
		if e.Type == "C" {
			at = calls[at].parent
			continue
		}
		next := openCall{at, e.Frame}
		if known, ok := index[next]; ok {
			at = known
			continue
		}
		at = len(calls)
		index[next], calls, self = at, append(calls, next), append(self, 0)
	}
	return s.addCalls(calls, self)
}

// addCalls adds the stack of each call that has a value of its own.
func (s *speedscope) addCalls(calls []openCall, self []int64) error {
	for i, value := range self {
		if value == 0 {
			continue
		}
		s.stack = s.stack[:0]
		for at := i; at > 0; at = calls[at].parent {
			if err := s.pushFrame(calls[at].frame); err != nil {
				return err
			}
		}
		if err := s.expand(); err != nil {
			return err
		}
		if err := s.count(s.labels, s.value, value); err != nil {
			return err
		}
	}
	return nil
}

// pushFrame adds a shared frame to the stack of the next sample.
func (s *speedscope) pushFrame(i int) error {
	if i < 0 || i >= len(s.file.Shared.Frames) {
		return s.noFrame(i)
	}
	f := s.file.Shared.Frames[i]
	return s.push(stackFrame{function: f.Name, file: f.File, line: f.Line, column: f.Col})
}

func (s *speedscope) noFrame(i int) error {
	return invalid(fmt.Sprintf("frame %d of %d", i, len(s.file.Shared.Frames)))
}

// number returns a number in the unit of the sample type. Whole numbers are exact, and others are rounded.
func (s *speedscope) number(text json.Number) (int64, error) {
	if n, err := strconv.ParseInt(string(text), 10, 64); err == nil {
		return scaled(n, s.times)
	}
	value, err := strconv.ParseFloat(strings.TrimSpace(string(text)), 64)
	if err != nil {
		return 0, invalid(fmt.Sprintf("want a number, not %.100q", text))
	}
	return whole(math.Round(value * float64(s.times)))
}
