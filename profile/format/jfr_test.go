package format_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	library "github.com/google/pprof/profile"

	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/internal/gzipped"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/profile/format"
)

var update = flag.Bool("update", false, "write the golden files of testdata anew")

// jfrNumber is a number in a recording: 7 bits a byte, low ones first, and 8 in the ninth.
func jfrNumber(n uint64) (out []byte) {
	for len(out) < 8 && n >= 0x80 {
		out = append(out, byte(n)|0x80)
		n >>= 7
	}
	return append(out, byte(n))
}

// jfrText is a text in UTF-8.
func jfrText(s string) []byte { return append(append([]byte{3}, jfrNumber(uint64(len(s)))...), s...) }

// jfrValues are numbers, texts and bytes behind each other.
func jfrValues(all ...any) (out []byte) {
	for _, v := range all {
		switch v := v.(type) {
		case int:
			out = append(out, jfrNumber(uint64(v))...)
		case uint64:
			out = append(out, jfrNumber(v)...)
		case string:
			out = append(out, jfrText(v)...)
		case []byte:
			out = append(out, v...)
		}
	}
	return out
}

// jfrEvent is an event with its size.
func jfrEvent(class int, all ...any) []byte {
	body := append(jfrNumber(uint64(class)), jfrValues(all...)...)
	size := len(body) + 1
	for len(jfrNumber(uint64(size)))+len(body) != size {
		size++
	}
	return append(jfrNumber(uint64(size)), body...)
}

// jfrClass is a class of the metadata: its fields are "name class", with * in front of a constant and [] in front of a list.
type jfrClass struct {
	id     int
	name   string
	fields []string
}

// The classes of the recordings below.
const (
	longClass = iota + 1
	intClass
	booleanClass
	stringClass
	floatClass
	threadClass
	classClass
	stateClass
	stackClass
	frameClass
	methodClass
	symbolClass
	frameTypeClass
	executionClass
	tlabClass
	outsideClass
	allocationClass
	liveClass
	mallocClass
	monitorClass
	parkClass
	wallClass
	settingClass
	otherClass
	cpuTimeClass
)

var classes = []jfrClass{
	{longClass, "long", nil},
	{intClass, "int", nil},
	{booleanClass, "boolean", nil},
	{stringClass, "java.lang.String", nil},
	{floatClass, "float", nil},
	{threadClass, "java.lang.Thread", []string{"osName 4", "osThreadId 1"}},
	{classClass, "java.lang.Class", []string{"name *12", "modifiers 2"}},
	{stateClass, "jdk.types.ThreadState", []string{"name 4"}},
	{stackClass, "jdk.types.StackTrace", []string{"truncated 3", "frames []10"}},
	{frameClass, "jdk.types.StackFrame", []string{"method *11", "lineNumber 2", "type *13"}},
	{methodClass, "jdk.types.Method", []string{"type *7", "name *12"}},
	{symbolClass, "jdk.types.Symbol", []string{"string 4"}},
	{frameTypeClass, "jdk.types.FrameType", []string{"description 4"}},
	{executionClass, "jdk.ExecutionSample", []string{"startTime 1", "sampledThread *6", "stackTrace *9", "state *8", "contextId 1", "spanId 1", "spanName 1", "traceIdHi 1", "traceIdLo 1"}},
	{tlabClass, "jdk.ObjectAllocationInNewTLAB", []string{"startTime 1", "stackTrace *9", "allocationSize 1", "tlabSize 1"}},
	{outsideClass, "jdk.ObjectAllocationOutsideTLAB", []string{"stackTrace *9", "allocationSize 1"}},
	{allocationClass, "jdk.ObjectAllocationSample", []string{"stackTrace *9", "weight 1"}},
	{liveClass, "profiler.LiveObject", []string{"stackTrace *9", "allocationSize 1"}},
	{mallocClass, "profiler.Malloc", []string{"load 5", "names []4", "places []6", "threads []*6", "stackTrace *9", "size 1"}},
	{monitorClass, "jdk.JavaMonitorEnter", []string{"duration 1", "stackTrace *9"}},
	{parkClass, "jdk.ThreadPark", []string{"duration 1", "stackTrace *9"}},
	{wallClass, "profiler.WallClockSample", []string{"stackTrace *9", "state *8", "samples 2"}},
	{settingClass, "jdk.ActiveSetting", []string{"id 1", "name 4", "value 4"}},
	{otherClass, "jdk.CPULoad", []string{"load 5"}},
	{cpuTimeClass, "jdk.CPUTimeSample", []string{"stackTrace *9", "failed 3", "samplingPeriod 1"}},
}

// jfrMetadata is the event with the classes.
func jfrMetadata(classes []jfrClass) []byte {
	var names []string
	index := map[string]int{}
	of := func(name string) int {
		if _, known := index[name]; !known {
			index[name] = len(names)
			names = append(names, name)
		}
		return index[name]
	}
	element := func(kind string, children int, attributes ...string) []byte {
		out := jfrValues(of(kind), len(attributes)/2)
		for _, text := range attributes {
			out = append(out, jfrNumber(uint64(of(text)))...)
		}
		return append(out, jfrNumber(uint64(children))...)
	}
	tree := append(element("root", 2), element("metadata", len(classes))...)
	for _, c := range classes {
		tree = append(tree, element("class", len(c.fields), "id", fmt.Sprint(c.id), "name", c.name)...)
		for _, f := range c.fields {
			name, class, _ := strings.Cut(f, " ")
			attributes := []string{"name", name}
			if rest, ok := strings.CutPrefix(class, "[]"); ok {
				class, attributes = rest, append(attributes, "dimension", "1")
			}
			if rest, ok := strings.CutPrefix(class, "*"); ok {
				class, attributes = rest, append(attributes, "constantPool", "true")
			}
			tree = append(tree, element("field", 1, append(attributes, "class", class)...)...)
			tree = append(tree, element("annotation", 0)...)
		}
	}
	tree = append(tree, element("region", 0, "locale", "en_US")...)
	all := jfrValues(0, 0, 0, len(names))
	for _, name := range names {
		all = append(all, jfrText(name)...)
	}
	return jfrEvent(0, all, tree)
}

// jfrPools is an event with lists of constants, each with its class. before is the distance to the list before it.
func jfrPools(before int, all ...[]byte) []byte {
	return jfrEvent(1, 0, 0, uint64(-before), 1, len(all), bytes.Join(all, nil))
}

// jfrPool is a list of constants of a class: ids and their values.
func jfrPool(class, count int, all ...any) []byte { return jfrValues(class, count, jfrValues(all...)) }

// jfrFile is a recording of one chunk.
type jfrFile struct {
	header   func([]byte) // changes it
	metadata []byte
	events   [][]byte
	pools    []byte
}

const jfrTicks = 2_000_000_000 // per second

func (f *jfrFile) bytes() []byte {
	out := make([]byte, 68)
	copy(out, "FLR\x00\x00\x02\x00\x01")
	put := func(at, n int) { binary.BigEndian.PutUint64(out[at:], uint64(n)) }
	out[67] = 1
	put(24, len(out))
	put(32, 1_790_000_000_000_000_000)
	put(40, int(3*time.Second))
	put(56, jfrTicks)
	out = append(append(out, f.metadata...), bytes.Join(f.events, nil)...)
	put(16, len(out))
	out = append(out, f.pools...)
	put(8, len(out))
	if f.header != nil {
		f.header(out)
	}
	return out
}

// jfrConstants are the constants of the recording below. Stack 1 is Busy.fib called by Busy.main, stack 2 memset by Busy.main.
var jfrConstants = [][]byte{
	jfrPool(frameTypeClass, 4, 0, "Interpreted", 3, "Native", 4, "C++", 5, "Kernel"),
	jfrPool(stateClass, 2, 0, "STATE_RUNNABLE", 1, "STATE_SLEEPING"),
	jfrPool(symbolClass, 6, 0, "Busy", 1, "main", 2, "libc.so.6", 3, []byte{5, 4, 'm', 0xe9, 'm', 's'}, 4, []byte{4, 3, 'f', 'i', 'b'}, 5, "a/B$$Lambda$14.0x0000000800fd7318"),
	jfrPool(classClass, 3, 7, 0, 1, 8, 2, 1, 9, 5, 1),
	jfrPool(methodClass, 4, 1, 7, 1, 2, 7, 4, 3, 8, 3, 4, 9, 1),
	jfrPool(stackClass, 3,
		1, []byte{0}, 2, jfrValues(2, 11, 0), jfrValues(1, 3, 0),
		2, []byte{0}, 2, jfrValues(3, 0, 4), jfrValues(1, 4, 0),
		uint64(1)<<62, []byte{1}, 1, jfrValues(4, 9, 0)),
	jfrPool(threadClass, 1, 1, "main", 77),
	jfrPool(stringClass, 2, 0, "interval", 1, "itimer"),
}

// malloc is an event of a class with all forms of fields.
func malloc(stack int, size uint64) []byte {
	return jfrEvent(mallocClass, []byte{1, 2, 3, 4}, 3, "a", []byte{0}, []byte{2, 1}, 1, "b", 3, 2, 1, 1, stack, size)
}

// busy is a recording of async-profiler.
func busy() *jfrFile {
	sample := func(stack, state, context, span int, trace uint64) []byte {
		return jfrEvent(executionClass, 0, 1, stack, state, context, span, 0, trace, trace)
	}
	return &jfrFile{
		metadata: jfrMetadata(classes),
		events: [][]byte{
			jfrEvent(settingClass, settingClass, "event", []byte{2, 1}),
			jfrEvent(settingClass, executionClass, []byte{2, 0}, "1000000"),
			jfrEvent(otherClass, []byte{0, 0, 0, 0}),
			sample(1, 0, 0, 0, 0), sample(1, 0, 0, 0, 0), sample(1, 1, 0, 0, 0), sample(2, 0, 7, 0, 0), sample(1, 0, 0, 255, 1), sample(99, 0, 0, 0, 0),
			jfrEvent(executionClass, 0, 1, uint64(1)<<62, 0, 0, 0, 0, 0, 0),
			jfrEvent(tlabClass, 0, 1, 24, 1000), jfrEvent(tlabClass, 0, 1, 30, 0), jfrEvent(outsideClass, 2, 5000), jfrEvent(allocationClass, 2, 600),
			jfrEvent(liveClass, 1, 16), malloc(2, 64), jfrEvent(monitorClass, 10, 1), jfrEvent(monitorClass, 30, 1), jfrEvent(parkClass, 2_000, 2),
			jfrEvent(wallClass, 1, 1, 5), jfrEvent(wallClass, 1, 0, 1),
			jfrEvent(200, "of a class that is not there"),
		},
		pools: jfrPools(0, jfrConstants...),
	}
}

// busyTwice is busy with two lists of constants, as the JDK writes them.
func busyTwice() []byte {
	f := busy()
	first := jfrPools(0, jfrConstants[:3]...)
	f.pools = append(first, jfrPools(len(first), jfrConstants[3:]...)...)
	f.header = func(b []byte) {
		binary.BigEndian.PutUint64(b[16:], binary.BigEndian.Uint64(b[16:])+uint64(len(first)))
	}
	return f.bytes()
}

// decodedJFR returns the profiles of a recording, as lines of a kind, a type, a stack and a value.
func decodedJFR(t testing.TB, data []byte, h format.Hints) (lines []string, err error) {
	t.Helper()
	for d, err := range format.Decode(data, h) {
		if err != nil {
			return nil, err
		}
		p := d.Parsed
		if p == nil {
			continue // other bytes are taken for pprof
		}
		if err := p.CheckValid(); err != nil {
			t.Fatal(err)
		}
		period := library.ValueType{}
		if p.PeriodType != nil {
			period = *p.PeriodType
		}
		for _, s := range p.Sample {
			var names []string
			for _, l := range slices.Backward(s.Location) {
				name := l.Line[0].Function.Name + fmt.Sprint(":", l.Line[0].Line)
				if l.Mapping != nil {
					name = l.Mapping.File + "!" + name
				}
				names = append(names, name)
			}
			for i, typ := range p.SampleType {
				line := fmt.Sprintf("%s:%s:%s:%s:%s %s %d", d.Kind, typ.Type, typ.Unit, period.Type, period.Unit, strings.Join(names, ";"), s.Value[i])
				for _, name := range slices.Sorted(maps.Keys(s.Label)) {
					line += fmt.Sprintf(" %s=%s", name, s.Label[name][0])
				}
				lines = append(lines, line)
			}
		}
	}
	return lines, nil
}

// TestJFR reads a recording with each kind of samples.
func TestJFR(t *testing.T) {
	labels := &format.JFRLabels{
		Contexts: map[int64]map[int64]int64{7: {1: 2, 3: 4}},
		Strings:  map[int64]string{1: "tenant", 2: "acme", 3: "empty"},
	}
	want := []string{
		"process_cpu:cpu:nanoseconds:cpu:nanoseconds Busy.main:3;Busy.fib:11 2000000",
		"process_cpu:cpu:nanoseconds:cpu:nanoseconds Busy.main:4;libc.so.6!méms:0 1000000 tenant=acme",
		"process_cpu:cpu:nanoseconds:cpu:nanoseconds Busy.main:3;Busy.fib:11 1000000 span_id=00000000000000ff trace_id=00000000000000010000000000000001",
		"process_cpu:cpu:nanoseconds:cpu:nanoseconds a/B$$Lambda_.main:9 1000000",
		"wall:wall:nanoseconds:wall:nanoseconds Busy.main:3;Busy.fib:11 300000000",
		"memory:alloc_in_new_tlab_objects:count:space:bytes Busy.main:3;Busy.fib:11 2",
		"memory:alloc_in_new_tlab_bytes:bytes:space:bytes Busy.main:3;Busy.fib:11 1030",
		"memory:alloc_outside_tlab_objects:count:space:bytes Busy.main:4;libc.so.6!méms:0 1",
		"memory:alloc_outside_tlab_bytes:bytes:space:bytes Busy.main:4;libc.so.6!méms:0 5000",
		"memory:alloc_sample_objects:count:space:bytes Busy.main:4;libc.so.6!méms:0 1",
		"memory:alloc_sample_bytes:bytes:space:bytes Busy.main:4;libc.so.6!méms:0 600",
		"memory:live:count:objects:count Busy.main:3;Busy.fib:11 1",
		"memory:malloc_objects:count:: Busy.main:4;libc.so.6!méms:0 1",
		"memory:malloc_bytes:bytes:: Busy.main:4;libc.so.6!méms:0 64",
		"mutex:contentions:count:mutex:count Busy.main:3;Busy.fib:11 2",
		"mutex:delay:nanoseconds:mutex:count Busy.main:3;Busy.fib:11 20",
		"block:contentions:count:block:count Busy.main:4;libc.so.6!méms:0 1",
		"block:delay:nanoseconds:block:count Busy.main:4;libc.so.6!méms:0 1000",
	}
	data := busy().bytes()
	const golden = "testdata/busy.jfr" // for tests of others
	if *update {
		if err := os.WriteFile(golden, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if is, err := os.ReadFile(golden); err != nil || !bytes.Equal(is, data) {
		t.Errorf("%s is not this recording, %v: -update writes it", golden, err)
	}
	for name, data := range map[string][]byte{"plain": data, "zipped": gzipped.Of(t, data), "with two lists of constants": busyTwice()} {
		if got, err := decodedJFR(t, data, format.Hints{JFR: labels}); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v\n%s\nwant\n%s", name, err, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		if is := format.Of(data); is != format.JFR {
			t.Errorf("%s: %q", name, is)
		}
	}
	twice, err := decodedJFR(t, append(bytes.Clone(data), data...), format.Hints{})
	if err != nil || len(twice) != 2*len(want) {
		t.Errorf("two chunks: %d lines, %v", len(twice), err)
	}
}

// TestJFR_Intervals says what a sample stands for.
func TestJFR_Intervals(t *testing.T) {
	const cpu, wall = "process_cpu:cpu:nanoseconds:cpu:nanoseconds Busy.main:3;Busy.fib:11 ", "wall:wall:nanoseconds:wall:nanoseconds Busy.main:3;Busy.fib:11 "
	set := func(name, value string) []byte { return jfrEvent(settingClass, executionClass, name, value) }
	run, sleep := jfrEvent(executionClass, 0, 1, 1, 0, 0, 0, 0, 0, 0), jfrEvent(executionClass, 0, 1, 1, 1, 0, 0, 0, 0, 0)
	for name, c := range map[string]struct {
		events [][]byte
		want   []string
	}{
		"async-profiler": {[][]byte{set("event", "itimer"), set("interval", "0"), run}, []string{cpu + "10000000"}},
		"an interval":    {[][]byte{set("event", "cpu"), set("interval", "20000"), run, run, sleep}, []string{cpu + "40000"}},
		"wall clock":     {[][]byte{set("event", "wall"), set("interval", "0"), run, sleep}, []string{cpu + "50000000", wall + "100000000"}},
		"wall beside":    {[][]byte{set("event", "cpu"), set("wall", "100"), run, jfrEvent(wallClass, 1, 0, 3)}, []string{cpu + "10000000", wall + "300"}},
		"wall, running":  {[][]byte{set("event", "wall"), set("interval", "10"), jfrEvent(wallClass, 1, 0, 3), jfrEvent(wallClass, 1, 1, 4)}, []string{cpu + "30", wall + "70"}},
		"the JDK":        {[][]byte{set("period", "10 ms"), run}, []string{cpu + "10000000"}},
		"the JDK, plain": {[][]byte{jfrEvent(settingClass, tlabClass, "period", "3 ms"), run}, []string{cpu + "20000000"}},
		"CPU time":       {[][]byte{set("period", "10 ms"), run, jfrEvent(cpuTimeClass, 1, 0, 7_000), jfrEvent(cpuTimeClass, 0, 1, 7_000), jfrEvent(cpuTimeClass, 1, 0, 5_000)}, []string{cpu + "6000"}},
		"another event":  {[][]byte{set("event", "cache-misses"), set("interval", "1000"), run}, []string{":samples:count:cache-misses:count Busy.main:3;Busy.fib:11 1"}},
	} {
		f := busy()
		f.events = c.events
		if got, err := decodedJFR(t, f.bytes(), format.Hints{}); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, %v, want %q", name, got, err, c.want)
		}
	}
}

// TestJFR_Real reads what async-profiler 4.6 wrote.
func TestJFR_Real(t *testing.T) {
	data, err := os.ReadFile("../../../shared/data/clients/async-profiler.jfr")
	if err != nil {
		t.Skip("there is no folder with files of other profilers beside this repository: ", err)
	}
	sums, names := map[string]int64{}, map[string]bool{}
	for d, err := range format.Decode(data, format.Hints{}) {
		if err != nil {
			t.Fatal(err)
		}
		for i, typ := range d.Parsed.SampleType {
			for _, s := range d.Parsed.Sample {
				sums[d.Kind+" "+typ.Type] += s.Value[i]
			}
		}
		for _, f := range d.Parsed.Function {
			names[f.Name] = true
		}
	}
	want := map[string]int64{"process_cpu cpu": 27 * int64(10*time.Millisecond), "memory alloc_in_new_tlab_objects": 2117, "memory alloc_in_new_tlab_bytes": sums["memory alloc_in_new_tlab_bytes"]}
	if !maps.Equal(sums, want) || sums["memory alloc_in_new_tlab_bytes"] < 2117*16 || !names["Busy.fib"] || !names["__memset_avx512_unaligned_erms"] {
		t.Errorf("%v, want %v; functions %v", sums, want, names)
	}
	if got, err := inserted(t, data, format.Hints{}); err != nil || len(got) < 5 {
		t.Errorf("%d stacks, %v", len(got), err)
	}
}

// TestJFR_JDK25 reads what the JDK 25 wrote about a program with a second of CPU time: by its command jfr, 51 events
// jdk.CPUTimeSample of 20 ms and one of 40, of which 49 and the last are in Spin.spin.
func TestJFR_JDK25(t *testing.T) {
	data, err := os.ReadFile("testdata/jdk25.jfr.gz")
	if err != nil {
		t.Fatal(err)
	}
	sums := map[string]int64{}
	for d, err := range format.Decode(data, format.Hints{}) {
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range d.Parsed.Sample {
			sums[d.Kind] += s.Value[0]
			if s.Location[0].Line[0].Function.Name == "Spin.spin" {
				sums["spin"] += s.Value[0]
			}
		}
		if d.Parsed.Period != 20_000_000 {
			t.Errorf("a period of %d", d.Parsed.Period)
		}
	}
	if ms := int64(time.Millisecond); sums["process_cpu"] != 1060*ms || sums["spin"] != 1000*ms || len(sums) != 2 {
		t.Errorf("%v", sums)
	}
}

// TestJFR_Hostile reads recordings that are cut off, contradict themselves, or ask for more memory than they have bytes.
func TestJFR_Hostile(t *testing.T) {
	put := func(at int, n uint64) func([]byte) { return func(b []byte) { binary.BigEndian.PutUint64(b[at:], n) } }
	with := func(change func(f *jfrFile)) []byte {
		f := busy()
		change(f)
		return f.bytes()
	}
	header := func(change func([]byte)) []byte { return with(func(f *jfrFile) { f.header = change }) }
	constants := func(all ...[]byte) []byte {
		return with(func(f *jfrFile) { f.pools = jfrPools(0, append(slices.Clone(jfrConstants), all...)...) })
	}
	events := func(all ...[]byte) []byte { return with(func(f *jfrFile) { f.events = append(f.events, all...) }) }
	described := func(all ...jfrClass) []byte {
		return with(func(f *jfrFile) { f.metadata = jfrMetadata(append(slices.Clone(classes), all...)) })
	}
	names := func(n uint64, all ...any) []byte {
		return with(func(f *jfrFile) { f.metadata = jfrEvent(0, 0, 0, 0, n, jfrValues(all...)) })
	}
	const huge = uint64(1) << 40
	for name, c := range map[string]struct {
		data   []byte
		saying string
	}{
		"only its magic":          {[]byte("FLR\x00"), "want a chunk"},
		"an old version":          {header(func(b []byte) { b[5] = 1 }), "version 1"},
		"plain numbers":           {header(func(b []byte) { b[67] = 0 }), "not compressed"},
		"a second chunk":          {append(busy().bytes(), header(put(24, huge))...), fmt.Sprintf("chunk at byte %d: ", len(busy().bytes()))},
		"not ended":               {header(put(8, 0)), "was not ended"},
		"no constants":            {header(put(16, 0)), "was not ended"},
		"larger than the file":    {header(put(8, huge)), "cut off"},
		"smaller than its header": {header(put(8, 20)), "cut off"},
		"of 2^64 bytes":           {header(put(8, 1<<64-1)), "cut off"},
		"metadata elsewhere":      {header(put(24, huge)), "outside of the chunk"},
		"metadata in the header":  {header(put(24, 2)), "outside of the chunk"},
		"constants elsewhere":     {header(put(16, 1<<63)), "outside of the chunk"},
		"no clock":                {header(put(56, 0)), "63 bits"},
		"a start in 2^64":         {header(put(32, 1<<64-1)), "63 bits"},
		"an end beyond 63 bits":   {header(put(40, 1<<63-1)), "63 bits"},
		"two chunks, one text":    {append(busy().bytes(), "main;f 3\n"...), "want a chunk"},
		"names":                   {names(huge), "values in"},
		"a name":                  {names(1, []byte{3}, huge), "values in"},
		"a name of characters":    {names(1, []byte{4}, huge), "values in"},
		"a form of names":         {names(1, []byte{9}), "form 9"},
		"elements of no name":     {names(1, "root", 5, 0, 0), "name 5 of 1"},
		"attributes":              {names(1, "class", 0, 70, bytes.Repeat([]byte{0}, 200)), "attributes of an element"},
		"elements":                {names(1, "root", 0, 0, huge), "values in"},
		"deep elements":           {names(1, "root", bytes.Repeat([]byte{0, 0, 1}, 40)), "elements in each other"},
		"a class of no number":    {names(4, "class", "id", "x", "name", 0, 1, 1, 2, 0), "no number of a class"},
		"a class in itself": {with(func(f *jfrFile) {
			f.metadata = jfrMetadata([]jfrClass{{6, "a", []string{"a 6"}}})
			f.pools = jfrPools(0, jfrPool(6, 1, 1, 1))
		}), "is in itself"},
		"lists in lists": {with(func(f *jfrFile) {
			f.metadata = jfrMetadata([]jfrClass{{6, "a", []string{"a []6"}}})
			f.pools = jfrPools(0, jfrPool(6, 1, 1, bytes.Repeat([]byte{1}, 40)))
		}), "is in itself"},
		"a class of nothing": {with(func(f *jfrFile) {
			f.metadata = jfrMetadata([]jfrClass{{6, "a", nil}})
			f.pools = jfrPools(0, jfrPool(6, 1, 1, 1))
		}), "no fields"},
		"no class": {described(jfrClass{50, "a", []string{"a 51"}}), ""},
		"a value of no class": {with(func(f *jfrFile) {
			f.metadata = jfrMetadata([]jfrClass{{6, "a", []string{"a 51"}}})
			f.pools = jfrPools(0, jfrPool(6, 1, 1, 1))
		}), "metadata do not have"},
		"constants of no class": {constants(jfrPool(99, 1)), "constants of class 99"},
		"constants":             {constants(jfrPool(symbolClass, 1<<40)), "values in"},
		"a stack":               {constants(jfrPool(stackClass, 1, 5, []byte{0}, huge)), "values in"},
		"lists of constants":    {with(func(f *jfrFile) { f.pools = jfrEvent(1, 0, 0, 0, 1, huge) }), "values in"},
		"constants in a circle": {with(func(f *jfrFile) { f.pools = append(jfrPools(-20), jfrPools(20)...) }), "in each other"},
		"constants behind":      {with(func(f *jfrFile) { f.pools = jfrPools(-1) }), "in each other"},
		"constants in constants": {with(func(f *jfrFile) {
			f.pools = append(jfrPools(0, jfrPool(stateClass, 9, 0, "a")), f.pools...)
			f.pools[0]++
		}), ""},
		"an event of no bytes":    {events([]byte{0, 1}), "an event of 0 bytes"},
		"a large event":           {events(jfrNumber(huge)), "an event of"},
		"an event in another":     {events([]byte{3, executionClass, 0}), "behind its end"},
		"a large value":           {events(malloc(1, 1<<63)), "63 bits"},
		"large values":            {events(malloc(2, 1<<62), malloc(2, 1<<62), malloc(2, 1<<62)), "63 bits"},
		"many wall clock samples": {events(jfrEvent(wallClass, 1, 0, uint64(1)<<62)), "64 bits"},
		"a stack of unknowns":     {constants(jfrPool(stackClass, 1, 1, []byte{0}, 1, jfrValues(77, 1, 66))), ""},
		"a text in itself":        {constants(jfrPool(stringClass, 1, 0, []byte{2, 0})), "form 2"},
		"numbers without an end":  {events(append([]byte{60, settingClass}, bytes.Repeat([]byte{0xff}, 58)...)), "form 255"},
	} {
		before := allocated()
		_, err := decodedJFR(t, c.data, format.Hints{})
		if took := allocated() - before; took > 8<<20 {
			t.Errorf("%s: it took %d bytes", name, took)
		}
		switch {
		case c.saying == "" && err != nil && !errors.Is(err, profile.ErrProfile):
			t.Errorf("%s: %v", name, err)
		case c.saying != "" && (!errors.Is(err, profile.ErrProfile) && !errors.Is(err, profile.ErrTooLarge) || !strings.Contains(err.Error(), c.saying)):
			t.Errorf("%s: %v, want %q", name, err, c.saying)
		}
	}
}

// allocated returns the bytes that this program allocated so far.
func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

// TestJFR_Damaged reads a recording that is cut off at each byte, and with each byte changed.
func TestJFR_Damaged(t *testing.T) {
	effort.Slow(t)
	data := busy().bytes()
	try := func(what string, data []byte) {
		before := allocated()
		_, err := decodedJFR(t, data, format.Hints{})
		if took := allocated() - before; took > 8<<20 || err != nil && !errors.Is(err, profile.ErrProfile) && !errors.Is(err, profile.ErrTooLarge) {
			t.Fatalf("%s: it took %d bytes, %v", what, took, err)
		}
	}
	for i := range data {
		try(fmt.Sprint("cut at ", i), data[:i])
		for _, b := range []byte{0, 0x80, 0xff} {
			damaged := bytes.Clone(data)
			damaged[i] = b
			try(fmt.Sprint("byte ", i, " is ", b), damaged)
		}
	}
}

// TestJFR_Limits bounds samples, stacks and names.
func TestJFR_Limits(t *testing.T) {
	for name, c := range map[string]struct {
		limits profile.Limits
		saying string
	}{
		"samples": {profile.Limits{Samples: 3}, "more than 3 samples"},
		"depth":   {profile.Limits{Depth: 1}, "a stack of 2 functions, at most 1"},
		"bytes":   {profile.Limits{Bytes: 100}, "more than 100 bytes"},
		"names":   {profile.Limits{Bytes: len(busy().bytes())}, ""},
	} {
		_, err := decodedJFR(t, busy().bytes(), format.Hints{Limits: c.limits})
		if c.saying != "" && (!errors.Is(err, profile.ErrTooLarge) || !strings.Contains(err.Error(), c.saying)) || c.saying == "" && err != nil {
			t.Errorf("%s: %v, want %q", name, err, c.saying)
		}
	}
	f := busy()
	long := strings.Repeat("x", 4000)
	f.pools = jfrPools(0, append(slices.Clone(jfrConstants), jfrPool(symbolClass, 1, 0, long), jfrPool(stackClass, 40, func() (all []byte) {
		for i := range 40 {
			all = append(all, jfrValues(100+i, []byte{0}, 1, jfrValues(1000+i, 1, 0))...)
		}
		return all
	}()), jfrPool(methodClass, 40, func() (all []byte) {
		for i := range 40 {
			all = append(all, jfrValues(1000+i, 7, 1)...)
		}
		return all
	}()))...)
	for i := range 40 {
		f.events = append(f.events, malloc(100+i, 1))
	}
	data := f.bytes()
	if _, err := decodedJFR(t, data, format.Hints{Limits: profile.Limits{Bytes: len(data) + 1000}}); !errors.Is(err, profile.ErrTooLarge) || !strings.Contains(err.Error(), "bytes of names") {
		t.Errorf("a long name of a class in 40 names: %v", err)
	}
}

// FuzzJFR reads any recording.
func FuzzJFR(f *testing.F) {
	f.Add(busy().bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		data = append([]byte("FLR\x00"), bytes.TrimPrefix(data, []byte("FLR\x00"))...)
		limits := profile.Limits{Bytes: 1 << 16, Samples: 100, Depth: 10}
		if _, err := decodedJFR(t, data, format.Hints{Limits: limits}); err != nil && !errors.Is(err, profile.ErrProfile) && !errors.Is(err, profile.ErrTooLarge) {
			t.Fatal(err)
		}
	})
}
