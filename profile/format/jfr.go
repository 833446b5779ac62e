package format

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"iter"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	pprof "github.com/google/pprof/profile"

	"github.com/granarydb/granary/internal/jfr"
	"github.com/granarydb/granary/profile"
)

// JFRLabels are the labels of a recording's samples, which Pyroscope's agent for Java pushes beside it.
type JFRLabels struct {
	// Contexts are the ids of names and values, by the id of a context.
	Contexts map[int64]map[int64]int64
	Strings  map[int64]string
}

// isJFR reports whether head begins a recording.
func isJFR(head []byte) bool { return bytes.HasPrefix(head, []byte(jfr.ChunkMagic)) }

// decodeJFR returns the profiles of a recording of Java's Flight Recorder, by the JDK or async-profiler: one for each kind of
// samples. Their types and names are as in Pyroscope. Durations are in nanoseconds whatever the recording's clock.
func decodeJFR(data []byte, h Hints) iter.Seq2[Decoded, error] {
	return func(yield func(Decoded, error) bool) {
		r := recording{
			// go tool pprof takes the first mapping for the program, which no library is.
			places: newPlaces(&pprof.Profile{Mapping: []*pprof.Mapping{{ID: 1}}}),
			limits: h.Limits, from: h.JFR, labels: map[jfrSample]map[string][]string{},
		}
		data, err := inflated(data, h.Limits)
		for rest := data; err == nil && len(rest) > 0; {
			at := len(data) - len(rest)
			if rest, err = r.chunk(rest); err != nil {
				err = fmt.Errorf("chunk at byte %d: %w", at, jfrError(err))
			}
		}
		var profiles []Decoded
		for kind := jfrKind(0); kind < jfrKinds && err == nil; kind++ {
			profiles, err = r.profile(profiles, kind)
		}
		if err != nil {
			yield(Decoded{}, fmt.Errorf("JFR: %w", err))
			return
		}
		for _, p := range profiles {
			if !yield(p, nil) {
				return
			}
		}
	}
}

// jfrError returns the error of a chunk as one of profiles.
func jfrError(err error) error {
	switch {
	case errors.Is(err, jfr.ErrLimit):
		return fmt.Errorf("%w: %w", profile.ErrTooLarge, err)
	case errors.Is(err, jfr.ErrFormat):
		return invalid(err.Error())
	}
	return err
}

// jfrKind is a kind of samples.
type jfrKind int

const (
	jfrCPU     jfrKind = iota
	jfrCPUTime         // by the JDK's clock of CPU time, with the time that each stands for
	jfrWall
	jfrInTLAB
	jfrOutsideTLAB
	jfrAllocation
	jfrLive
	jfrMalloc
	jfrMonitor
	jfrPark
	jfrKinds
)

// jfrProfiles are the profiles of the kinds: the name, which is the label __name__, and the types.
var jfrProfiles = [jfrKinds]struct {
	name, period string
	types        []string
}{
	jfrCPU:         {"process_cpu", "cpu/nanoseconds", []string{"cpu/nanoseconds"}},
	jfrCPUTime:     {"process_cpu", "cpu/nanoseconds", []string{"cpu/nanoseconds"}},
	jfrWall:        {"wall", "wall/nanoseconds", []string{"wall/nanoseconds"}},
	jfrInTLAB:      {"memory", "space/bytes", []string{"alloc_in_new_tlab_objects/count", "alloc_in_new_tlab_bytes/bytes"}},
	jfrOutsideTLAB: {"memory", "space/bytes", []string{"alloc_outside_tlab_objects/count", "alloc_outside_tlab_bytes/bytes"}},
	jfrAllocation:  {"memory", "space/bytes", []string{"alloc_sample_objects/count", "alloc_sample_bytes/bytes"}},
	jfrLive:        {"memory", "objects/count", []string{"live/count"}},
	jfrMalloc:      {"memory", "", []string{"malloc_objects/count", "malloc_bytes/bytes"}},
	jfrMonitor:     {"mutex", "mutex/count", []string{"contentions/count", "delay/nanoseconds"}},
	jfrPark:        {"block", "block/count", []string{"contentions/count", "delay/nanoseconds"}},
}

func jfrTypeOf(text string) *pprof.ValueType {
	name, unit, _ := strings.Cut(text, "/")
	return &pprof.ValueType{Type: name, Unit: unit}
}

// Intervals of samples whose recording does not say them: the defaults of async-profiler, and of the JDK.
const (
	jfrInterval     = 10 * time.Millisecond
	jfrWallInterval = 50 * time.Millisecond
	jfrJDKInterval  = 20 * time.Millisecond
)

// recording makes profiles from the events of a recording.
type recording struct {
	places // of all kinds
	limits profile.Limits
	from   *JFRLabels // nil: it has none

	samples    [jfrKinds][]*pprof.Sample
	start, end int64         // Unix nanoseconds
	event      string        // what async-profiler samples; "": the JDK made the recording
	interval   time.Duration // 0: unknown
	wall       time.Duration // of wall clock samples beside others
	cpuTime    uint64        // nanoseconds that the last sample of CPU time stands for

	labels map[jfrSample]map[string][]string // of contexts and ids

	sampled int // samples of all kinds
	frames  int // of their stacks
	labeled int // labels
	texts   int // bytes of names

	c       *jfr.Chunk // the chunk that is read
	known   map[jfrSample]*pprof.Sample
	stacks  map[uint64][]*pprof.Location
	methods map[jfrCall]stackFrame // without a line

	hasKernel bool // frames of the kernel have a type
}

// jfrCall is a method in frames of Java, or of libraries.
type jfrCall struct {
	method   uint64
	isNative bool
}

// jfrSample names a sample of a chunk.
type jfrSample struct {
	kind                                            jfrKind
	stack, context, span, name, traceHigh, traceLow uint64
}

// chunk adds the events of the first chunk, and returns what is behind it.
func (r *recording) chunk(data []byte) (rest []byte, err error) {
	c, rest, err := jfr.Read(data, r.limits.Bytes-r.texts)
	if err != nil {
		return nil, err
	}
	if r.start == 0 {
		r.start = c.Start
	}
	r.end = max(r.end, c.End)
	r.c, r.known, r.stacks = c, map[jfrSample]*pprof.Sample{}, map[uint64][]*pprof.Location{}
	r.methods, r.hasKernel = map[jfrCall]stackFrame{}, false
	c.EachConstant(jfr.FrameType, func(id uint64) {
		r.hasKernel = r.hasKernel || c.Label(jfr.FrameType, id, jfr.SlotDescription) == "Kernel"
	})
	if err := c.Events(func(name string) bool { return jfrEvents[name] }, r.add); err != nil {
		return nil, err
	}
	r.texts += c.Texts()
	return rest, nil
}

// jfrEvents are the events that add knows.
var jfrEvents = map[string]bool{
	"jdk.ActiveSetting": true, "jdk.ExecutionSample": true, "jdk.CPUTimeSample": true, "profiler.WallClockSample": true, "jdk.ObjectAllocationInNewTLAB": true,
	"jdk.ObjectAllocationOutsideTLAB": true, "jdk.ObjectAllocationSample": true, "profiler.LiveObject": true, "profiler.Malloc": true,
	"jdk.JavaMonitorEnter": true, "jdk.ThreadPark": true,
}

// add adds an event. Values of CPU and wall clock are numbers of samples until the end, when their interval is known.
func (r *recording) add(name string, v *jfr.Contents) error {
	switch name {
	case "jdk.ActiveSetting":
		r.set(v)
	case "jdk.ExecutionSample":
		if r.event == "wall" {
			if err := r.sample(jfrWall, v, 1); err != nil {
				return err
			}
		}
		if r.c.Label(jfr.ThreadState, v[jfr.SlotState], jfr.SlotName) != "STATE_SLEEPING" {
			return r.sample(jfrCPU, v, 1)
		}
	case "jdk.CPUTimeSample":
		r.cpuTime = r.c.Nanos(v[jfr.SlotSamplingPeriod])
		return r.sample(jfrCPUTime, v, r.cpuTime)
	case "profiler.WallClockSample":
		if r.event == "wall" && r.c.Label(jfr.ThreadState, v[jfr.SlotState], jfr.SlotName) == "STATE_RUNNABLE" {
			if err := r.sample(jfrCPU, v, v[jfr.SlotSamples]); err != nil {
				return err
			}
		}
		return r.sample(jfrWall, v, v[jfr.SlotSamples])
	case "jdk.ObjectAllocationInNewTLAB":
		return r.sample(jfrInTLAB, v, 1, cmp.Or(v[jfr.SlotTLAB], v[jfr.SlotAllocated]))
	case "jdk.ObjectAllocationOutsideTLAB":
		return r.sample(jfrOutsideTLAB, v, 1, v[jfr.SlotAllocated])
	case "jdk.ObjectAllocationSample":
		return r.sample(jfrAllocation, v, 1, v[jfr.SlotWeight])
	case "profiler.LiveObject":
		return r.sample(jfrLive, v, 1)
	case "profiler.Malloc":
		return r.sample(jfrMalloc, v, 1, v[jfr.SlotSize])
	case "jdk.JavaMonitorEnter":
		return r.sample(jfrMonitor, v, 1, r.c.Nanos(v[jfr.SlotDuration]))
	case "jdk.ThreadPark":
		return r.sample(jfrPark, v, 1, r.c.Nanos(v[jfr.SlotDuration]))
	}
	return nil
}

// set reads a setting of the profiler, or of a kind of events of the JDK.
func (r *recording) set(v *jfr.Contents) {
	name := r.c.TextAt(v[jfr.SlotName])
	switch name {
	case "event", "interval", "wall", "period":
	default:
		return
	}
	value := r.c.TextAt(v[jfr.SlotValue])
	nanos, _ := strconv.ParseInt(value, 10, 64) // 0 is the default of the profiler
	switch of := r.c.Class(v[jfr.SlotID]); {
	case name == "event":
		r.event = value
	case name == "interval" && nanos > 0:
		r.interval = time.Duration(nanos)
	case name == "wall" && nanos > 0:
		r.wall = time.Duration(nanos)
	case name == "period" && of == "jdk.ExecutionSample":
		if every, err := time.ParseDuration(strings.ReplaceAll(value, " ", "")); err == nil && every > 0 {
			r.interval = every
		}
	}
}

// sample adds values to the sample of a stack. Events without a stack are no samples.
func (r *recording) sample(kind jfrKind, v *jfr.Contents, values ...uint64) error {
	key := jfrSample{kind, v[jfr.SlotStack], v[jfr.SlotContext], v[jfr.SlotSpan], v[jfr.SlotSpanName], v[jfr.SlotTraceHigh], v[jfr.SlotTraceLow]}
	s := r.known[key]
	if s == nil {
		stack, ok, err := r.stack(key.stack)
		if !ok || err != nil {
			return err
		}
		r.sampled++
		r.frames += len(stack)
		labels := r.labelsOf(&key)
		switch {
		case r.sampled > r.limits.Samples:
			return fmt.Errorf("%w: more than %d samples", profile.ErrTooLarge, r.limits.Samples)
		case r.frames > maxFrames:
			return fmt.Errorf("%w: more than %d functions in all stacks", profile.ErrTooLarge, maxFrames)
		case r.labeled > maxTexts:
			return fmt.Errorf("%w: more than %d labels", profile.ErrTooLarge, maxTexts)
		}
		s = &pprof.Sample{Location: stack, Label: labels, Value: make([]int64, len(values))}
		r.known[key], r.samples[kind] = s, append(r.samples[kind], s)
	}
	for i, value := range values {
		if value > math.MaxInt64 || s.Value[i] > math.MaxInt64-int64(value) {
			return invalid("values of more than 63 bits")
		}
		s.Value[i] += int64(value)
	}
	return nil
}

// labelsOf returns the labels of a sample's context, and its ids. Samples share them.
func (r *recording) labelsOf(key *jfrSample) map[string][]string {
	of := *key
	of.kind, of.stack = 0, 0
	if of == (jfrSample{}) && r.from == nil {
		return nil
	}
	labels, ok := r.labels[of]
	if ok {
		return labels
	}
	add := func(name, value string) {
		if name != "" && value != "" {
			labels[name] = []string{value}
		}
	}
	labels = map[string][]string{}
	if of.traceHigh|of.traceLow != 0 {
		add("trace_id", fmt.Sprintf("%016x%016x", of.traceHigh, of.traceLow))
	}
	if of.span != 0 {
		add("span_id", fmt.Sprintf("%016x", of.span))
	}
	if r.from != nil {
		for name, value := range r.from.Contexts[int64(of.context)] {
			add(r.from.Strings[name], r.from.Strings[value])
		}
		add("span_name", r.from.Strings[int64(of.name)])
	}
	r.labeled += len(labels)
	r.labels[of] = labels
	return labels
}

// stack returns the locations of a stack, leaf first. ok is false if the recording has none.
func (r *recording) stack(id uint64) (stack []*pprof.Location, ok bool, err error) {
	if stack, ok = r.stacks[id]; ok {
		return stack, true, nil
	}
	begin := func(n int) error {
		if n > r.limits.Depth {
			return fmt.Errorf("%w: a stack of %d functions, at most %d", profile.ErrTooLarge, n, r.limits.Depth)
		}
		return nil
	}
	ok, err = r.c.EachFrame(id, begin, func(v *jfr.Contents) error {
		l, err := r.lineOf(v)
		stack = append(stack, l)
		return err
	})
	if !ok || err != nil {
		return nil, false, err
	}
	r.stacks[id] = stack
	return stack, true, nil
}

// lineOf returns the location of a frame.
func (r *recording) lineOf(v *jfr.Contents) (*pprof.Location, error) {
	f := r.methodOf(v)
	f.line = int64(v[jfr.SlotLine])
	if r.texts > r.limits.Bytes {
		return nil, fmt.Errorf("%w: more than %d bytes of names", profile.ErrTooLarge, r.limits.Bytes)
	}
	l := r.location(&f)
	if l.ID > maxLocations {
		return nil, fmt.Errorf("%w: more than %d lines of functions", profile.ErrTooLarge, maxLocations)
	}
	return l, nil
}

// jfrGenerated matches names of classes with the numbers that a JVM gives them, which are others in each process.
var jfrGenerated = regexp.MustCompile(`(\$\$Lambda|GeneratedMethodAccessor|\$\$EnhancerBySpringCGLIB\$\$)[$./]?[0-9a-fx./]+`)

// methodOf returns the function of a frame: a method with its class, or a function of a library, whose name is in the place of
// the class.
func (r *recording) methodOf(v *jfr.Contents) stackFrame {
	c := r.c
	call := jfrCall{v[jfr.SlotMethod], r.isNative(v[jfr.SlotType])}
	of, known := r.methods[call]
	if known {
		return of
	}
	m, ok := c.Record(jfr.JavaMethod, call.method)
	if !ok {
		return stackFrame{function: "unknown"}
	}
	class, name := c.Label(jfr.JavaClass, m[jfr.SlotType], jfr.SlotName), c.Label(jfr.JavaSymbol, m[jfr.SlotName], jfr.SlotSymbolText)
	of.function = cmp.Or(name, "unknown")
	switch {
	case call.isNative:
		of.mapping = class
	case class != "":
		of.function = jfrGenerated.ReplaceAllString(class, "${1}_") + "." + of.function
	}
	r.texts += len(of.function)
	r.methods[call] = of
	return of
}

// isNative reports whether a type of frames is that of libraries. The JDK calls Java's native methods native, and
// async-profiler, which alone has frames of the kernel, does not.
func (r *recording) isNative(frame uint64) bool {
	switch r.c.Label(jfr.FrameType, frame, jfr.SlotDescription) {
	case "C++", "Kernel":
		return true
	case "Native":
		return r.hasKernel
	}
	return false
}

// every returns the time that a sample of CPU or wall clock stands for, or 0 if it stands for other events.
func (r *recording) every(kind jfrKind) time.Duration {
	every := r.interval
	if kind == jfrWall && r.event != "wall" {
		every = r.wall
	}
	switch {
	case !slices.Contains([]string{"", "cpu", "wall", "itimer", "ctimer"}, r.event) && kind == jfrCPU:
		return 0
	case every > 0:
		return every
	case kind == jfrWall || r.event == "wall":
		return jfrWallInterval
	case r.event == "":
		return jfrJDKInterval
	}
	return jfrInterval
}

// profile appends the profile of a kind, if it has samples.
func (r *recording) profile(to []Decoded, kind jfrKind) ([]Decoded, error) {
	samples, of := r.samples[kind], jfrProfiles[kind]
	if len(samples) == 0 || kind == jfrCPU && len(r.samples[jfrCPUTime]) > 0 { // which are of the same time
		return to, nil
	}
	p := &pprof.Profile{Sample: samples, TimeNanos: r.start, DurationNanos: r.end - r.start, Mapping: r.to.Mapping[:1:1]}
	for _, text := range of.types {
		p.SampleType = append(p.SampleType, jfrTypeOf(text))
	}
	if of.period != "" {
		p.PeriodType = jfrTypeOf(of.period)
	}
	if kind == jfrCPU || kind == jfrWall {
		p.Period = int64(r.every(kind))
		if p.Period == 0 {
			of.name, p.Period = "", int64(r.interval)
			p.SampleType[0], p.PeriodType = jfrTypeOf("samples/count"), &pprof.ValueType{Type: r.event, Unit: "count"}
		}
		for i := 0; i < len(samples) && of.name != ""; i++ {
			var err error
			if samples[i].Value[0], err = scaled(samples[i].Value[0], p.Period); err != nil {
				return nil, err
			}
		}
	}
	if kind == jfrCPUTime {
		p.Period = int64(min(r.cpuTime, math.MaxInt64))
	}
	seen := map[any]bool{}
	isNew := func(of any) bool {
		known := seen[of]
		seen[of] = true
		return !known
	}
	for _, s := range samples {
		if len(s.Location) == 0 || !isNew(&s.Location[0]) { // samples share a stack's slice
			continue
		}
		for _, l := range s.Location {
			if !isNew(l) {
				continue
			}
			p.Location = append(p.Location, l)
			if isNew(l.Line[0].Function) {
				p.Function = append(p.Function, l.Line[0].Function)
			}
			if l.Mapping != nil && isNew(l.Mapping) {
				p.Mapping = append(p.Mapping, l.Mapping)
			}
		}
	}
	return append(to, Decoded{Parsed: p, Kind: of.name}), nil
}
