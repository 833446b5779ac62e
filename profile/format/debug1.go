package format

import (
	"bytes"
	"fmt"
	"iter"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	pprof "github.com/google/pprof/profile"

	"github.com/granarydb/granary/profile"
)

// The lines of the text that runtime/pprof of Go writes with debug=1. Functions are in comments below the
// addresses of a sample, and labels too. Heaps of gperftools have the same form, with the mappings of the process
// instead of functions.
var (
	heapHead       = regexp.MustCompile(`^heap profile: *\d+: *\d+ *\[ *\d+: *\d+ *\] *@ *(?:(heap|heapz?_v2)/(\d+)|heapprofile)$`)
	countHead      = regexp.MustCompile(`^(\S+) profile: total \d+$`)
	contentionHead = regexp.MustCompile(`^--- (contention|mutex):$`)

	heapLine       = regexp.MustCompile(`^ *(-?\d+): *(-?\d+) *\[ *(\d+): *(\d+) *\] @((?: 0x[0-9a-f]+)*)$`)
	countLine      = regexp.MustCompile(`^(\d+) @((?: 0x[0-9a-f]+)*)$`)
	contentionLine = regexp.MustCompile(`^(\d+) +(\d+) @((?: 0x[0-9a-f]+)*)$`)

	// A frame has an address, a function with an offset, and a file with a line.
	frameLine = regexp.MustCompile(`^#\t+0x([0-9a-f]+)(?:\t+(.+?)\+0x[0-9a-f]+\t+(.*):(\d+))?$`)
)

// isDebug1 reports whether head begins with the first line of a profile as text.
func isDebug1(head []byte) bool {
	line := firstLine(head)
	return heapHead.Match(line) || countHead.Match(line) || contentionHead.Match(line)
}

// firstLine returns the first line of head that is not empty, without white space around it.
func firstLine(head []byte) []byte {
	line, _, _ := bytes.Cut(bytes.TrimLeft(head, " \t\r\n"), []byte("\n"))
	return bytes.TrimRight(line, " \t\r")
}

// decodeDebug1 returns the profile of a text of debug=1. Its types and values are those of go tool pprof for
// this text. A stack has the frames that the text names: it leaves functions of the runtime out at the ends.
// google/pprof reads such texts too, but without the names and the labels, which are comments in them.
func decodeDebug1(data []byte, h Hints) iter.Seq2[Decoded, error] {
	return func(yield func(Decoded, error) bool) {
		d := debug1{sampleBuilder: newBuilder(h)}
		what := "text of debug=1"
		if m := heapHead.FindSubmatch(firstLine(headOf(data))); m != nil && string(m[1]) != "heap" {
			what = "heap of gperftools"
		}
		err := eachLine(data, h, what, d.add)
		if err == nil {
			if err = d.endSample(); err != nil {
				err = fmt.Errorf("%s, at the end: %w", what, err)
			}
		}
		place(d.to)
		yield(Decoded{Parsed: d.to, Kind: d.kind}, err)
	}
}

// heapTypes are the names and units of the sample types of heaps.
var heapTypes = []string{"alloc_objects", "count", "alloc_space", "bytes", "inuse_objects", "count", "inuse_space", "bytes"}

// debug1 makes a profile from a text.
type debug1 struct {
	*sampleBuilder // without its samples: a line is one
	kind           string
	read           func(numbers []int64) (*pprof.Sample, error) // nil until the first line was read
	form           *regexp.Regexp                               // of a sample's line: its numbers, then its addresses
	cycles         int64                                        // per second, of contentions; 0: unknown

	inMappings bool // of a heap of gperftools

	sample    *pprof.Sample // the last one; nil: none
	addresses string        // its stack, if no frame follows
	texts     int           // labels of all samples
}

// add adds a line.
func (d *debug1) add(line string) error {
	switch {
	case line == "":
		return nil
	case d.read == nil:
		return d.head(line)
	case d.inMappings:
		return addMapping(d.to, line)
	case isMappings(line):
		d.inMappings = true
		return nil
	case line[0] == '#':
		return d.comment(line)
	case d.kind != "" && len(d.to.Sample) == 0 && strings.Contains(line, "="):
		return d.setting(line)
	}
	if most := d.hints.Limits.Samples; len(d.to.Sample) == most {
		return fmt.Errorf("%w: more than %d samples", profile.ErrTooLarge, most)
	}
	if err := d.endSample(); err != nil {
		return err
	}
	return d.begin(line)
}

// begin begins a sample.
func (d *debug1) begin(line string) (err error) {
	m := d.form.FindStringSubmatch(line)
	if m == nil {
		return invalid(fmt.Sprintf("want a sample, not %.100q", line))
	}
	numbers, err := numbersOf(m[1 : len(m)-1])
	if err != nil {
		return err
	}
	if d.sample, err = d.read(numbers); err != nil {
		return err
	}
	d.addresses = m[len(m)-1]
	d.to.Sample = append(d.to.Sample, d.sample)
	return nil
}

// head reads the first line, and sets the types.
func (d *debug1) head(line string) (err error) {
	d.to.Period = 1
	if m := heapHead.FindStringSubmatch(line); m != nil {
		d.form, d.read, d.to.PeriodType = heapLine, d.heap, &pprof.ValueType{Type: "space", Unit: "bytes"}
		d.to.SampleType = typesOf(heapTypes...)
		if m[1] == "" {
			return nil // each allocation is counted
		}
		d.to.Period, err = number(m[2])
		if m[1] == "heap" {
			d.to.Period /= 2 // the runtime writes twice its rate, as early profilers of C++ did
		}
		return err
	}
	if m := contentionHead.FindStringSubmatch(line); m != nil {
		d.form, d.read, d.to.SampleType = contentionLine, d.contention, typesOf("contentions", "count", "delay", "nanoseconds")
		d.to.PeriodType = d.to.SampleType[0]
		d.kind = map[string]string{"contention": "block", "mutex": "mutex"}[m[1]]
		return nil
	}
	m := countHead.FindStringSubmatch(line)
	if m == nil {
		return invalid(fmt.Sprintf("want the first line of a profile, not %.100q", line))
	}
	d.form, d.read, d.to.SampleType = countLine, plainSample, typesOf(m[1], "count")
	d.to.PeriodType = d.to.SampleType[0]
	return nil
}

// setting reads a line before the first sample of contentions.
func (d *debug1) setting(line string) (err error) {
	name, value, _ := strings.Cut(line, "=")
	switch name {
	case "cycles/second":
		d.cycles, err = number(value)
	case "sampling period":
		d.to.Period, err = number(value)
	default:
		err = invalid(fmt.Sprintf("want cycles/second, sampling period or a sample, not %.100q", line))
	}
	return err
}

// comment reads a frame, or the labels, of the last sample. Others say nothing about a sample.
func (d *debug1) comment(line string) error {
	if d.sample == nil {
		return nil
	}
	if text, ok := strings.CutPrefix(line, "# labels: "); ok {
		return d.label(text)
	}
	m := frameLine.FindStringSubmatch(line)
	if m == nil {
		return nil
	}
	address, err := hexAddress(m[1])
	if err != nil {
		return err
	}
	if address == 0 && m[2] == "" {
		return nil // the runtime's form of an empty stack
	}
	if err := d.push(stackFrame{address: address, bare: true}); err != nil {
		return err
	}
	l := d.stack[len(d.stack)-1]
	if m[2] == "" || len(l.Line) > 0 {
		return nil
	}
	at, err := number(m[4])
	l.Line = []pprof.Line{{Function: d.function(m[2], m[3]).Function, Line: at}}
	return err
}

// label reads labels such as {"job":"api", "shard":"7"}.
func (d *debug1) label(text string) error {
	return quotedPairs(text, ":", func(name, value string) error {
		if d.texts++; d.texts > maxTexts {
			return fmt.Errorf("%w: more than %d labels", profile.ErrTooLarge, maxTexts)
		}
		if d.sample.Label == nil {
			d.sample.Label = map[string][]string{}
		}
		d.sample.Label[name] = append(d.sample.Label[name], value)
		return nil
	})
}

// quotedPairs calls add with each pair of {"job":"api", "shard":"7"}, where the text between stands between a name and its value.
func quotedPairs(text, between string, add func(name, value string) error) error {
	wrong := invalid(fmt.Sprintf("want labels, not %.100q", text))
	rest, ok := strings.CutPrefix(text, "{")
	for ok && rest != "}" {
		var pair [2]string
		for i, end := range []string{between, ""} {
			quoted, err := strconv.QuotedPrefix(rest)
			if err != nil {
				return wrong
			}
			pair[i], _ = strconv.Unquote(quoted)
			if rest, ok = strings.CutPrefix(rest[len(quoted):], end); !ok {
				return wrong
			}
		}
		if err := add(pair[0], pair[1]); err != nil {
			return err
		}
		if rest != "}" {
			rest, ok = strings.CutPrefix(rest, ", ")
		}
	}
	if !ok {
		return wrong
	}
	return nil
}

// endSample ends the last sample. Without frames its stack has the addresses of the calls.
func (d *debug1) endSample() error {
	if d.sample == nil {
		return nil
	}
	if len(d.stack) == 0 {
		if err := d.pushCalls(d.addresses); err != nil {
			return err
		}
	}
	if d.frames += len(d.stack); d.frames > maxFrames {
		return fmt.Errorf("%w: more than %d functions in all stacks", profile.ErrTooLarge, maxFrames)
	}
	d.sample.Location, d.sample, d.stack = slices.Clone(d.stack), nil, d.stack[:0]
	return nil
}

// plainSample returns a sample of goroutines, threads or the like.
func plainSample(numbers []int64) (*pprof.Sample, error) { return &pprof.Sample{Value: numbers}, nil }

// contention returns a sample of a block or mutex profile. As in go tool pprof its values are multiplied by the
// sampling period.
func (d *debug1) contention(numbers []int64) (*pprof.Sample, error) {
	delay, contentions := numbers[0], numbers[1]
	if times := d.to.Period; times > 0 {
		if d.cycles > 0 {
			scaled, err := whole(float64(delay) * float64(times) / (float64(d.cycles) / 1e9))
			if err != nil {
				return nil, err
			}
			delay = scaled
		}
		scaled, err := scaled(contentions, times)
		if err != nil {
			return nil, err
		}
		contentions = scaled
	}
	return &pprof.Sample{Value: []int64{contentions, delay}}, nil
}

func (d *debug1) heap(numbers []int64) (*pprof.Sample, error) {
	return heapSample(d.to.Period, numbers)
}

// heapSample returns a sample of a heap profile with the numbers of objects and bytes, in use and then allocated: an estimate
// of all allocations from the sampled ones, which are chosen with the probability 1-exp(-size/period).
func heapSample(period int64, numbers []int64) (_ *pprof.Sample, err error) {
	s := &pprof.Sample{}
	for _, of := range [][]int64{numbers[2:], numbers[:2]} { // alloc, inuse
		objects, size := of[0], of[1]
		switch {
		case objects == 0 && size != 0:
			return nil, invalid(fmt.Sprintf("%d bytes of no object", size))
		case objects == 0:
		default:
			if one := size / objects; one != 0 {
				s.NumLabel = map[string][]int64{"bytes": {one}} // as in the profile without debug=1
			}
			if size == 0 {
				objects = 0
			} else if period > 1 {
				scale := 1 / (1 - math.Exp(-float64(size)/float64(objects)/float64(period)))
				if objects, err = whole(float64(objects) * scale); err != nil {
					return nil, err
				}
				if size, err = whole(float64(size) * scale); err != nil {
					return nil, err
				}
			}
		}
		s.Value = append(s.Value, objects, size)
	}
	return s, nil
}

// whole returns a value as an integer, toward zero.
func whole(v float64) (int64, error) {
	if !(math.Abs(v) < math.MaxInt64) { // the negation also catches NaN
		return 0, invalid("a value of more than 64 bits")
	}
	return int64(v), nil
}

// scaled returns a value times a positive number.
func scaled(v, times int64) (int64, error) {
	if v > math.MaxInt64/times || v < math.MinInt64/times {
		return 0, invalid("a value of more than 64 bits")
	}
	return v * times, nil
}

// numbersOf returns the numbers that texts have.
func numbersOf(texts []string) (_ []int64, err error) {
	numbers := make([]int64, len(texts))
	for i := 0; i < len(texts) && err == nil; i++ {
		numbers[i], err = number(texts[i])
	}
	return numbers, err
}

func number(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, invalid(fmt.Sprintf("want a number of 64 bits, not %.100q", text))
	}
	return n, nil
}
