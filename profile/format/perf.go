package format

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"

	pprof "github.com/google/pprof/profile"

	"github.com/granarydb/granary/profile"
)

// The lines of perf script. A sample begins with a command, the number of a thread or of a process and a thread, a
// processor, a time, a period and an event. The frames of its stack follow, each an address, a function and a file. Behind
// the event is the only frame of a sample without a stack, or the text of a tracepoint.
var (
	perfHead   = regexp.MustCompile(`^\s*(\S.*?) +(?:(-?\d+)/)?(-?\d+) +(?:\[\d+\] +)?\d+\.\d+: +(?:(\d+) +)?(\S*[^\s:]):+(?: +(.*))?$`)
	perfFrame  = regexp.MustCompile(`^\s*([0-9a-f]+) +(\S.*)$`)
	perfSource = regexp.MustCompile(`^\s+\S.*:\d+$`) // a file and a line, of -F +srcline

	// perfPrecision matches what perf adds to the name of an event, such as :ppp or :u.
	perfPrecision = regexp.MustCompile(`:[ukhpPGHSDWe]+$`)
)

// maxEvents bounds the events of a profile, because a sample has a value for each.
const maxEvents = 32

// isPerfScript reports whether head begins with a sample of perf script, after comments.
func isPerfScript(head []byte) bool {
	for line := range bytes.Lines(head) {
		if line = bytes.TrimRight(line, " \t\r\n"); len(line) > 0 && line[0] != '#' {
			return perfHead.Match(line)
		}
	}
	return false
}

// parsePerfScript returns the profile of what perf script writes. Its types are samples in count, and for each event whose
// periods are written the sum of these: cpu in nanoseconds of cpu-clock and task-clock, and others by their names in count.
// A sample has the labels comm and tid, and pid if that is written.
func parsePerfScript(data []byte, h Hints) (*pprof.Profile, error) {
	p := perf{sampleBuilder: newBuilder(h, "samples", "count")}
	if err := eachLine(data, h, "text of perf script", p.add); err != nil {
		return nil, err
	}
	return p.done(), nil
}

// perf makes a profile from a text.
type perf struct {
	*sampleBuilder
	labels *labels // of the sample that was begun; nil: none
	event  int     // of that sample: its type, or 0
	period int64
}

// add adds a line.
func (p *perf) add(line string) error {
	switch {
	case line == "":
		return p.end()
	case line[0] == '#':
		return nil
	case p.labels != nil && line[0] == '\t':
		return p.frame(line)
	}
	if m := perfHead.FindStringSubmatch(line); m != nil {
		if err := p.end(); err != nil {
			return err
		}
		return p.begin(m[1], m[2], m[3], m[4], m[5], m[6])
	}
	if p.labels != nil {
		return p.frame(line)
	}
	return invalid(fmt.Sprintf("want a sample, not %.100q", line))
}

// begin begins a sample.
func (p *perf) begin(command, process, thread, period, event, place string) (err error) {
	p.labels, err = p.labelsOf(command+"\x00"+process+"\x00"+thread, func(l *labels) error {
		l.text, l.numbers = map[string][]string{"comm": {command}}, map[string][]int64{}
		for name, text := range map[string]string{"pid": process, "tid": thread} {
			if text == "" {
				continue
			}
			n, err := number(text)
			if err != nil {
				return err
			}
			l.numbers[name] = []int64{n}
		}
		return nil
	})
	if err != nil {
		return err
	}
	p.event, p.period = 0, 0
	if period != "" {
		if p.period, err = number(period); err == nil {
			p.event, err = p.typeOf(event)
		}
	}
	if err == nil && perfFrame.MatchString(place) {
		if err = p.frame(place); err == nil {
			err = p.end()
		}
	}
	return err
}

// typeOf returns the index of an event's sample type.
func (p *perf) typeOf(event string) (int, error) {
	t := pprof.ValueType{Type: perfPrecision.ReplaceAllString(event, ""), Unit: "count"}
	if t.Type == "cpu-clock" || t.Type == "task-clock" {
		t = pprof.ValueType{Type: "cpu", Unit: "nanoseconds"}
	}
	types := p.to.SampleType
	for i, known := range types {
		if *known == t {
			return i, nil // 0 for an event that is called samples
		}
	}
	if len(types) > maxEvents {
		return 0, fmt.Errorf("%w: more than %d events", profile.ErrTooLarge, maxEvents)
	}
	p.to.SampleType = append(types, &t)
	return len(types), nil
}

// frame adds a frame to the sample that was begun, or a line of source code, which it leaves out.
func (p *perf) frame(line string) error {
	m := perfFrame.FindStringSubmatch(line)
	if m == nil {
		if perfSource.MatchString(line) {
			return nil
		}
		return invalid(fmt.Sprintf("want an address, a function and a file in parentheses, not %.100q", line))
	}
	address, err := hexAddress(m[1])
	if err != nil {
		return err
	}
	function, file := m[2], ""
	if text, isDeleted := strings.CutSuffix(function, " (deleted))"); isDeleted {
		function = text + ")"
	}
	if at := strings.LastIndex(function, " ("); at >= 0 && strings.HasSuffix(function, ")") {
		function, file = function[:at], function[at+2:len(function)-1]
	} else if strings.HasPrefix(function, "(") && strings.HasSuffix(function, ")") {
		function, file = "", function[1:len(function)-1]
	}
	if at := strings.LastIndex(function, "+0x"); at > 0 {
		function = function[:at]
	}
	switch isKnown := function != "" && function != "[unknown]"; {
	case file == "inlined":
		return p.push(stackFrame{function: function})
	case isKnown:
		return p.push(stackFrame{function: function, mapping: file, address: address})
	case file != "" && file != "[unknown]":
		return p.push(stackFrame{mapping: file, address: address, bare: true})
	}
	return p.push(stackFrame{function: "[unknown]"})
}

// end ends the sample that was begun.
func (p *perf) end() error {
	if p.labels == nil {
		return nil
	}
	s, err := p.sample(p.labels)
	p.labels, p.stack = nil, p.stack[:0]
	if err != nil {
		return err
	}
	s.Value[0]++
	if p.event == 0 {
		return nil
	}
	return addValue(s, p.event, p.period)
}
