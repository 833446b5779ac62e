package chrome

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/internal/heldtest"
	"github.com/granarydb/granary/trace"
)

// imported imports a trace.
func imported(in io.Reader) (*history.View, trace.Outcome, error) {
	return heldtest.Imported(Import, in)
}

// TestImport_Small has small traces with each kind of events, and what becomes of them.
func TestImport_Small(t *testing.T) {
	for _, tc := range []struct {
		name, json string
		want       []string
		leftOut    string
		lost       string // "": nothing
	}{
		{
			"slices of a thread", `[{"ph":"X","pid":1,"tid":2,"ts":10,"dur":5,"name":"inner"},{"ph":"B","pid":1,"tid":2,"ts":8,"name":"outer"},
			{"ph":"E","pid":1,"tid":2,"ts":20},{"ph":"X","pid":1,"tid":2,"ts":20,"dur":2,"name":"next"}]`,
			[]string{"Processes/1/Threads/2/1 8000-19999 outer", "Processes/1/Threads/2/1 20000-21999 next", "Processes/1/Threads/2/2 10000-14999 inner"},
			"", "",
		},
		{
			"names, numbers as texts, no numbers", `{"displayTimeUnit":"ns","traceEvents":[{"ph":"X","pid":"7","tid":"w/1","ts":"1","dur":"1","name":"a"},
			{"ph":"M","pid":7,"name":"process_name","args":{"x":[1],"name":"no\u0064e"}},{"args":{"name":"main"},"ph":"M","pid":7,"tid":"w/1","name":"thread_name"},
			{"ph":"X","ts":3,"dur":1,"name":"\"\ud83d\ude00\""},{"ph":"M","name":"num_cpus"},{"ph":"M","name":"thread_sort_index"}],"otherData":{"a":[{}]}}`,
			[]string{`Processes/0/Threads/0/1 3000-3999 "😀"`, `Processes/node 7/Threads/main w\/1/1 1000-1999 a`},
			"", "",
		},
		{
			"processes with one name", `[{"ph":"M","pid":1,"name":"process_name","args":{"name":"a 2"}},{"ph":"M","pid":"2 1","name":"process_name","args":{"name":"a"}},
			{"ph":"X","pid":1,"ts":1,"dur":1,"name":"x"},{"ph":"X","pid":"2 1","ts":1,"dur":1,"name":"y"}]`,
			[]string{"Processes/a 2 1 (2)/Threads/0/1 1000-1999 y", "Processes/a 2 1/Threads/0/1 1000-1999 x"},
			"", "",
		},
		{
			"broken escapes, spaces", `[{"ph":"C","ts":1,"name":"\uZ1","args":{"\uZ2" : 1,"\uZ3":2 , "\u\u\u\uZ4" : 3}}]`,
			[]string{"Processes/0/Counters/\ufffdZ1/\ufffdZ2 1000-1000 1", "Processes/0/Counters/\ufffdZ1/\ufffdZ3 1000-1000 2", "Processes/0/Counters/\ufffdZ1/\ufffd\ufffd\ufffd\ufffdZ4 1000-1000 3"},
			"", "",
		},
		{
			"exact times", `[{"ph":"X","ts":1769850000000000.123,"dur":0.001,"name":"a"},{"ph":"X","ts":1769850000000000.124,"dur":1e-2,"name":"b"},
			{"ph":"X","ts":1.7698500000000002E15,"dur":1.0000005,"name":"c"},{"ph":"X","ts":1769850000000201.0000005,"dur":0.9999994,"name":"d"}]`,
			[]string{
				"Processes/0/Threads/0/1 1769850000000000123-1769850000000000123 a", "Processes/0/Threads/0/1 1769850000000000124-1769850000000000133 b",
				"Processes/0/Threads/0/1 1769850000000000200-1769850000000001199 c", "Processes/0/Threads/0/1 1769850000000201000-1769850000000201998 d",
			},
			"", "",
		},
		{
			"asynchronous", `[{"ph":"b","pid":1,"ts":1,"id":"0x1","cat":"net","name":"get"},{"ph":"b","pid":1,"ts":2,"id":"0x2","cat":"net","name":"get"},
			{"ph":"b","pid":1,"ts":2,"id":"0x1","cat":"net","name":"dns"},{"ph":"n","pid":1,"ts":2,"id":"0x1","cat":"net","name":"found"},{"ph":"e","pid":1,"ts":3,"id":"0x1","cat":"net","name":"dns"},
			{"ph":"e","pid":1,"ts":4,"id":"0x1","cat":"net","name":"get"},{"ph":"e","pid":1,"ts":5,"id":"0x2","cat":"net","name":"get"},
			{"ph":"S","pid":1,"ts":1,"id":9,"cat":"old","name":"s"},{"ph":"F","pid":1,"ts":2,"id":9,"cat":"old","name":"s"},{"ph":"T","pid":1,"ts":2,"id":9,"cat":"old","name":"s"},
			{"ph":"b","pid":1,"ts":1,"id2":{"global":"7"},"cat":"g","name":"all"},{"ph":"e","pid":2,"ts":3,"id2":{"global":"7"},"cat":"g","name":"all"},
			{"ph":"b","pid":1,"ts":1,"id2":{"local":"7"},"cat":"l","name":"one"},{"ph":"e","pid":2,"ts":3,"id2":{"local":"7"},"cat":"l","name":"one"}]`,
			[]string{
				"Processes/1/Async/g/1 1000-2999 all", "Processes/1/Async/l/1 1000-4999 one", "Processes/1/Async/net/1 1000-3999 get", "Processes/1/Async/net/2 2000-2999 dns",
				"Processes/1/Async/net/instants 2000-2000 found", "Processes/1/Async/net/lane 2/1 2000-4999 get", "Processes/1/Async/old/1 1000-1999 s",
			},
			"[{ends of slices without a begin 1} {steps of asynchronous slices 1}]", "",
		},
		{
			"counters, instants", `[{"args":{"used":1,"free":2.5},"ph":"C","pid":1,"ts":1,"name":"heap"},{"ph":"C","pid":1,"ts":2,"name":"heap","args":{"used":"3","free":4,"x":null}},
			{"ph":"C","pid":1,"ts":2,"name":"heap","id":"0x5","args":{"":9007199254740993}},{"ph":"i","s":"g","pid":1,"tid":1,"ts":3,"name":"click"},{"ph":"I","pid":1,"tid":1,"ts":3,"name":"b"},{"ph":"R","pid":1,"tid":1,"ts":3.001,"name":"c"}]`,
			[]string{
				"Processes/1/Counters/heap 0x5/value 2000-3001 9007199254740993", "Processes/1/Counters/heap/free 1000-1999 2.5", "Processes/1/Counters/heap/free 2000-3001 4",
				"Processes/1/Counters/heap/used 1000-1999 1", "Processes/1/Counters/heap/used 2000-3001 3", "Processes/1/Threads/1/instants 3000-3000 click", "Processes/1/Threads/1/instants 3001-3001 c",
			},
			"[{instants at the time of others 1} {values of counters that are no numbers 1}]", "",
		},
		{
			"left out", `[{"ph":"s","ts":1},{"ph":"t","ts":1},{"ph":"f","ts":1},{"ph":"P","ts":1},{"ph":"N"},{"ph":"v"},{"ph":"Z"},{},{"ph":"X","ts":1,"name":"a"},{"ph":"X","dur":1},{"ph":"B","ts":"x"},
			{"ph":"X","ts":1,"dur":-1},{"ph":"X","ts":1e30,"dur":1},{"ph":"i","ts":1,"name":"only"},7,null,"x",[{"ph":"i"}]]`,
			[]string{"Processes/0/Threads/0/instants 1000-1000 only"},
			"[{flow events 3} {events without a time 2} {events at impossible times 1} {events of objects 1} {events of unknown phases 1} {events without a phase 1} {memory dumps 1} {samples 1} {slices that end before they begin 1} {slices without a duration or an end 1}]", "",
		},
		{
			"a base time", `{"schemaVersion":1,"traceEvents":[{"ph":"X","ts":1.5,"dur":1,"name":"a"}],"baseTimeNanoseconds":1700000000000000000}`,
			[]string{"Processes/0/Threads/0/1 1700000000000001500-1700000000000002499 a"},
			"", "",
		},
		{"not closed", "\ufeff[\n" + `{"ph":"X","ts":1,"dur":1,"name":"a"},` + "\n", []string{"Processes/0/Threads/0/1 1000-1999 a"}, "", "where ']' should be"},
		{"cut", `{"traceEvents":[{"ph":"X","ts":1,"dur":1,"name":"a"},{"ph":"X","ts":5,"dur":1,"name":"b"`, []string{"Processes/0/Threads/0/1 1000-1999 a"}, "", "where '}' should be"},
		{
			"open slices", `[{"ph":"B","ts":1,"name":"a"},{"ph":"B","tid":1,"ts":2,"name":"b"},{"ph":"E","ts":3,"name":"other"}]`,
			[]string{"Processes/0/Threads/0/1 1000-2999 a", "Processes/0/Threads/1/1 2000-2999 b"},
			"[{ends of slices without a begin 1}]", "",
		},
		{"commas, NaN, texts that are no UTF-8", `[,{"ph":"X",,"args":{"x":NaN,"y":-Infinity},"ts":1,"dur":1,"name":"a` + "\xff" + `b"},]`, []string{"Processes/0/Threads/0/1 1000-1999 a\ufffdb"}, "", ""},
	} {
		view, outcome, err := imported(iotest.OneByteReader(strings.NewReader(tc.json)))
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		var got []string
		for _, h := range heldtest.All(t, view) {
			got = append(got, h.String())
		}
		slices.Sort(got)
		slices.Sort(tc.want)
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: the history has\n%s\nwant\n%s", tc.name, strings.Join(got, "\n"), strings.Join(tc.want, "\n"))
		}
		if left := fmt.Sprint(outcome.LeftOut()); left != cmp.Or(tc.leftOut, "[]") {
			t.Errorf("%s: left out %s, want %s", tc.name, left, tc.leftOut)
		}
		if (tc.lost == "") != (outcome.Lost == nil) || outcome.Lost != nil && (!strings.Contains(outcome.Lost.Error(), tc.lost) || !errors.Is(outcome.Lost, ErrFormat)) {
			t.Errorf("%s: lost %v, want %q", tc.name, outcome.Lost, tc.lost)
		}
		if view.End() != outcome.End || !view.Closed() {
			t.Errorf("%s: the history ends at %d, the outcome at %d", tc.name, view.End(), outcome.End)
		}
	}
}

// TestImport_Errors refuses what is no trace, and passes on the errors of the input and the target.
func TestImport_Errors(t *testing.T) {
	for _, bad := range []string{"", " ", "x", "7", `"a"`, "{", "[", "[]", "{}", `{"traceEvents":{}}`, `{"traceEvents":[]}`, `[{"ph":"M","name":"process_name"}]`, `[{"ph":"s","ts":1}]`, `[{"ph"`, `{"a":}`, `[{"ph" 1}]`, `[{"ph":"E","ts":1}]`} {
		if _, _, err := imported(strings.NewReader(bad)); !errors.Is(err, ErrFormat) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	const good = `[{"ph":"X","ts":1,"dur":1,"name":"a"}]`
	broken := errors.New("broken")
	if _, _, err := imported(io.MultiReader(strings.NewReader(good[:10]), iotest.ErrReader(broken))); !errors.Is(err, broken) {
		t.Errorf("%v, want %v", err, broken)
	}
	if _, err := Import(t.Context(), strings.NewReader(good), trace.Target{Begin: func(int64) (*history.Writer, error) { return nil, broken }}); !errors.Is(err, broken) {
		t.Errorf("%v, want %v", err, broken)
	}
}

func TestMagic(t *testing.T) {
	for _, is := range []string{
		`{"traceEvents":[`, ` {"otherData":{"a":"}"},"traceEvents":[{}]}`, `[{"ph":"X"`, "[\n{\"args\":{\"name\":\"[\"},\"ph\":\"M\"}", "\ufeff[{\"ph\":\"X\"}]", `{"schemaVersion":1,"deviceProperties":[{"id":0`,
	} {
		if !Magic([]byte(is)) {
			t.Errorf("%q is no trace", is)
		}
	}
	for _, is := range []string{"", "[", "[[", "{", `{"a":{"traceEvents":[]}}`, `[{"a":{"ph":"X"}}]`, `[1,{"ph":1}]`, `{"nodes":[],"startTime":1}`, "time,attribute,value\n", `{"traceEvents`} {
		if Magic([]byte(is)) {
			t.Errorf("%q is a trace", is)
		}
	}
}

// TestParseStamp holds times to their exact values.
func TestParseStamp(t *testing.T) {
	for text, want := range map[string]stamp{
		"0": {}, "1": {nanos: 1000}, "1.5": {nanos: 1500}, "0.0000015": {parts: 1500}, "0.000000001": {parts: 1}, "0.0000000009": {}, "-1.5": {nanos: -1500}, "-0.0015": {-2, 500000},
		"1e3": {nanos: 1_000_000}, "12.5E-3": {nanos: 12, parts: 500000}, "1e-5": {parts: 10_000}, "1e-9": {parts: 1}, "1e-10": {}, "1e-99999999999": {}, "0e99999999999": {}, "1e99999999999": {nanos: beyond},
		"123456789012345678901234567890": {nanos: beyond}, "2305843009213693.951": {nanos: 2305843009213693951}, "-1e30": {nanos: -beyond}, "8.14454834e+08": {nanos: 814454834000},
		"0.1234567891234": {nanos: 123, parts: 456789}, "00012": {nanos: 12000}, strings.Repeat("0", 70) + "1": {nanos: 1000}, "1" + strings.Repeat("0", 70) + "e-70": {nanos: 1000},
	} {
		if got, ok := parseStamp([]byte(text)); !ok || got != want {
			t.Errorf("%s is %+v, %v, want %+v", text, got, ok, want)
		}
	}
	for _, bad := range []string{"", "-", ".", "e5", "1e", "1e+", "1.2.3", "NaN", "true", "0x10", "1 2", "--1", "1e5.5"} {
		if got, ok := parseStamp([]byte(bad)); ok {
			t.Errorf("%q is %+v", bad, got)
		}
	}
}

// TestImport_Windows reads a trace of several windows, with texts and arguments longer than is kept.
func TestImport_Windows(t *testing.T) {
	var b bytes.Buffer
	b.WriteString(`{"stackFrames":{"x":"` + strings.Repeat(`\"]}`, 200_000) + `"},"traceEvents":[`)
	for i := range 3000 {
		fmt.Fprintf(&b, `{"name":"a%d","args":{"data":[%q]},"ph":"X","ts":%d,"dur":1},`, i%3, strings.Repeat("x", i), i)
	}
	long := strings.Repeat("é", 100_000)
	fmt.Fprintf(&b, `{"name":"%s","ph":"X","ts":3000,"dur":1},`, long)
	fmt.Fprintf(&b, `{"args":{"a":"%s","b":1},"name":"c","ph":"C","ts":3001},{"args":{"b":1},"name":"c","ph":"C","ts":3001}]}`, long)
	view, outcome, err := imported(&b)
	if err != nil || outcome.Lost != nil || fmt.Sprint(outcome.LeftOut()) != "[{counters with more than 64 KiB of arguments 1}]" {
		t.Fatal(err, outcome)
	}
	all := heldtest.All(t, view)
	if len(all) != 3002 {
		t.Fatalf("%d intervals", len(all))
	}
	for i, h := range all[1:3001] {
		if want := fmt.Sprintf("Processes/0/Threads/0/1 %d-%d a%d", 1000*i, 1000*i+999, i%3); h.String() != want {
			t.Fatalf("%v, want %s", h, want)
		}
	}
	if name := all[3001].Value; len(name) != 4096 || !strings.HasPrefix(long, name) {
		t.Errorf("a long name is %.20s with %d bytes", name, len(name))
	}
}
