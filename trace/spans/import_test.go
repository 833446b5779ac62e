package spans

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/internal/heldtest"
	"github.com/granarydb/granary/trace"
)

// given is a span as tests write it. Ids are single letters, which stand for whole ones.
type given struct {
	service, id, parent string
	start, end          uint64
}

func full(letter string, n int) []byte {
	if letter == "" {
		return nil
	}
	return bytes.Repeat([]byte(letter), n)
}

// asJSON returns a request with each span in a resource of its own.
func asJSON(all []given) []byte {
	resources := make([]string, 0, len(all))
	for _, g := range all {
		resources = append(resources, fmt.Sprintf(`{"resource":{"attributes":[{"key":"host","value":{"intValue":"1"}},{"key":"service.name","value":{"stringValue":%q}}]},"scopeSpans":[{"scope":{},"spans":[{"traceId":"%x","spanId":"%x","parentSpanId":"%x","name":%q,"startTimeUnixNano":"%d","endTimeUnixNano":%d,"attributes":[]}]}]}`,
			g.service, full("t", 16), full(g.id, 8), full(g.parent, 8), g.id, g.start, g.end))
	}
	return []byte(`{"resourceSpans":[` + strings.Join(resources, ",") + "]}\n")
}

func field(number uint64, data []byte) []byte {
	return append(binary.AppendUvarint(binary.AppendUvarint(nil, number<<3|2), uint64(len(data))), data...)
}

func fixed(number, value uint64) []byte {
	return binary.LittleEndian.AppendUint64(binary.AppendUvarint(nil, number<<3|1), value)
}

// asProtobuf returns the same request in protobuf.
func asProtobuf(all []given) (out []byte) {
	for _, g := range all {
		of := slices.Concat(field(1, full("t", 16)), field(2, full(g.id, 8)), field(4, full(g.parent, 8)), field(5, []byte(g.id)), fixed(7, g.start), fixed(8, g.end))
		name := slices.Concat(field(1, []byte("service.name")), field(2, field(1, []byte(g.service))))
		out = append(out, field(1, slices.Concat(field(1, field(1, name)), field(2, field(2, of))))...)
	}
	return out
}

func sized(requests ...[]byte) (out []byte) {
	for _, r := range requests {
		out = append(binary.BigEndian.AppendUint32(out, uint32(len(r))), r...)
	}
	return out
}

func imported(in io.Reader) (*history.View, trace.Outcome, error) {
	return heldtest.Imported(Import, in)
}

// allHeld returns all that is not null in a view, as sorted lines.
func allHeld(t heldtest.T, v *history.View) (lines []string) {
	t.Helper()
	for _, h := range heldtest.All(t, v) {
		lines = append(lines, h.String())
	}
	slices.Sort(lines)
	return lines
}

// TestImport nests spans by their parents, in each form of files.
func TestImport(t *testing.T) {
	all := []given{
		{"shop", "c", "b", 12, 15},
		{"shop", "b", "a", 10, 20},
		{"shop", "a", "", 10, 20},  // children first
		{"shop", "d", "a", 14, 18}, // beside b
		{"shop", "e", "a", 19, 25}, // longer than its parent
		{"db", "f", "b", 13, 14},   // of another service
		{"db", "g", "z", 13, 13},   // of a parent that is not there
		{"shop", "h", "", 11, 12},  // at the same time, of another request
		{"", "i", "j", 30, 31},
		{"", "j", "i", 30, 31},
		{"shop", "k", "", 0, 5},
		{"shop", "l", "", 40, 39},
		{"shop", "m", "", math.MaxUint64, 5},
	}
	want := []string{
		"Services/shop/1 10-19 a", "Services/shop/2 10-19 b", "Services/shop/3 12-14 c", "Services/shop/lane 2/1 11-11 h", "Services/shop/lane 2/1 14-17 d", "Services/shop/lane 2/1 19-24 e",
		"Services/db/1 13-13 f", "Services/db/lane 2/1 13-13 g", "Services/unknown/1 30-30 j", "Services/unknown/2 30-30 i",
	}
	slices.Sort(want)
	for name, data := range map[string][]byte{
		"JSON": asJSON(all), "JSON behind a mark": slices.Concat([]byte(byteOrderMark), asJSON(all)), "JSON, a request a line": slices.Concat(asJSON(all[:3]), asJSON(all[3:])), "protobuf": asProtobuf(all),
		"protobuf with sizes": sized(asProtobuf(all[:4]), asProtobuf(all[4:])),
	} {
		if !Magic(data[:min(len(data), 4096)]) {
			t.Errorf("%s is not known", name)
		}
		view, outcome, err := imported(iotest.OneByteReader(bytes.NewReader(data)))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := allHeld(t, view); !slices.Equal(got, want) {
			t.Errorf("%s: the history has\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		if left := fmt.Sprint(outcome.LeftOut()); left != "[{spans without a time 2} {slices that end before they begin 1}]" || outcome.Lost != nil {
			t.Errorf("%s: left out %s, lost %v", name, left, outcome.Lost)
		}
		// What is before a cut is there.
		view, outcome, err = imported(bytes.NewReader(data[:len(data)-30]))
		if err != nil || !errors.Is(outcome.Lost, ErrFormat) || len(allHeld(t, view)) < 8 {
			t.Errorf("%s: cut: %v, %v", name, outcome.Lost, err)
		}
	}
}

// TestImport_Events has instants for events, and counts links.
func TestImport_Events(t *testing.T) {
	event := slices.Concat(fixed(1, 12), field(2, []byte("retry")))
	of := slices.Concat(field(1, full("t", 16)), field(2, full("s", 8)), field(4, make([]byte, 8)), field(5, []byte("a")), fixed(7, 10), fixed(8, 20), field(11, event), field(13, nil))
	for name, data := range map[string][]byte{
		"protobuf": field(1, field(2, field(2, of))),
		"JSON":     []byte(`{"x":[{"y":1}],"resource_spans":[{"scope_spans":[{"spans":[{"trace_id":"","parentSpanId":"0000","name":"a","startTimeUnixNano":10,"endTimeUnixNano":"20","events":[{"timeUnixNano":"12","name":"retry"},{"name":"never"}],"links":[{}]}]}]}]}`),
	} {
		view, outcome, err := imported(bytes.NewReader(data))
		if err != nil {
			t.Fatal(name, err)
		}
		if got := allHeld(t, view); !slices.Equal(got, []string{"Services/unknown/1 10-19 a", "Services/unknown/instants 12-12 retry"}) || len(outcome.LeftOut()) == 0 {
			t.Errorf("%s: %q, %v", name, got, outcome.LeftOut())
		}
	}
}

// TestImport_Random holds random trees of spans to their parents: each span is there once, and below level 1 only in its parent (S1).
func TestImport_Random(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var all []given
		letters := strings.Split("abcdefghijklmnop", "")
		var want []string
		for _, id := range letters[:rapid.IntRange(1, len(letters)).Draw(t, "n")] {
			g := given{service: rapid.SampledFrom([]string{"x", "y"}).Draw(t, "service"), id: id, parent: rapid.SampledFrom(append(letters, "", "")).Draw(t, "parent"), start: rapid.Uint64Range(1, 30).Draw(t, "start")}
			g.end = g.start + rapid.Uint64Range(1, 20).Draw(t, "duration")
			all = append(all, g)
			want = append(want, fmt.Sprintf("%s %d-%d %s", g.service, g.start, g.end-1, g.id))
		}
		view, _, err := imported(bytes.NewReader(asProtobuf(all)))
		if err != nil {
			t.Fatal(err)
		}
		lines := allHeld(t, view)
		again, _, err := imported(bytes.NewReader(asJSON(all)))
		if err != nil || !slices.Equal(lines, allHeld(t, again)) {
			t.Fatal("JSON differs", err)
		}
		var got []string
		for _, line := range lines {
			path, _, _ := strings.Cut(line, " ")
			path, rest := line[:len(path)], line[len(path):]
			if strings.HasSuffix(path, "/lane") {
				more, after, _ := strings.Cut(rest[1:], " ")
				path, rest = path+" "+more, " "+after
			}
			got = append(got, path[len("Services/"):len("Services/x")]+rest)
			at := strings.LastIndexByte(path, '/')
			if level := path[at+1:]; level != "1" {
				g := all[strings.Index("abcdefghijklmnop", line[len(line)-1:])]
				above := fmt.Sprintf("%s/%c ", path[:at], level[0]-1)
				if !slices.ContainsFunc(lines, func(o string) bool { return strings.HasPrefix(o, above) && strings.HasSuffix(o, " "+g.parent) }) {
					t.Fatalf("%s is not below its parent %s: %q", line, g.parent, lines)
				}
			}
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Fatalf("%q, want %q", got, want)
		}
	})
}

// hostile are bytes that a reader must survive.
func hostile() map[string][]byte {
	good := []given{{"s", "a", "", 1, 5}}
	j, p := string(asJSON(good)), asProtobuf(good)
	many := make([]given, 0, 3000)
	for i := range 3000 {
		many = append(many, given{fmt.Sprint("s", i%100), string(rune('a' + i%26)), string(rune('a' + (i+1)%26)), uint64(i + 1), uint64(10_000 - i)})
	}
	of := func(fields ...[]byte) []byte { return field(1, field(2, field(2, slices.Concat(fields...)))) }
	in := func(text string) []byte { return []byte(j + text) }
	huge := bytes.Repeat([]byte{0xff}, 9)
	return map[string][]byte{
		"deep lists": in(`{"resourceSpans":` + strings.Repeat("[", 1<<16)), "deep objects": in(`{"x":` + strings.Repeat(`{"a":`, 1<<16)), "deep in a resource": in(`{"resourceSpans":[{"resource":` + strings.Repeat(`{"a":`, 1<<16)),
		"no list": in(`{"resourceSpans":{}}`), "other kinds": in(`{"resourceSpans":[{"resource":7}]}`), "a list of numbers": in(`{"resourceSpans":[1,2]}`), "null": in(`{"resourceSpans":null}`), "nulls": in(`{"resourceSpans":[null,{"scopeSpans":[null,{"spans":[null]}]}]}`),
		"giant numbers": in(`{"resourceSpans":[{"scopeSpans":[{"spans":[{"startTimeUnixNano":` + strings.Repeat("9", 1<<16) + `}]}]}]}`), "negative times": in(`{"resourceSpans":[{"scopeSpans":[{"spans":[{"startTimeUnixNano":"-5","endTimeUnixNano":1e9}]}]}]}`),
		"text times": in(`{"resourceSpans":[{"scopeSpans":[{"spans":[{"startTimeUnixNano":"x","endTimeUnixNano":{}}]}]}]}`), "a text without an end": in(`{"resourceSpans":[{"scopeSpans":[{"spans":[{"name":"` + strings.Repeat("x", 1<<16)), "garbage": in("\x00\xff"), "a number": in("7"), "a list": in("[1]"), "twice": in(j + j),
		"bad escapes": in(`{"resourceSpans":[{"scopeSpans":[{"spans":[{"name":"\ud800\x"}]}]}]}`), "no UTF-8": in(`{"resourceSpans":[{"scopeSpans":[{"spans":[{"name":"` + "\xff\xfe" + `","startTimeUnixNano":1,"endTimeUnixNano":2}]}]}]}`), "spaces": in(strings.Repeat(" ", 1<<20)),
		"a circle": asProtobuf([]given{{"s", "a", "b", 1, 5}, {"s", "b", "c", 1, 5}, {"s", "c", "a", 1, 5}}), "its own parent": asProtobuf([]given{{"s", "a", "a", 1, 5}}), "one id": asProtobuf([]given{{"s", "a", "", 1, 5}, {"s", "a", "a", 1, 5}, {"s", "a", "a", 2, 4}}),
		"spans": asProtobuf(many), "spans in JSON": asJSON(many), "a huge length": append(slices.Clone(p), append([]byte{0x0a}, huge...)...), "a large length": append(slices.Clone(p), 0x0a, 0xff, 0xff, 0xff, 0x7f), "a group": append(slices.Clone(p), 0x0b), "a bad resource": append(slices.Clone(p), field(1, huge)...),
		"a bad scope": append(slices.Clone(p), field(1, field(2, huge))...), "a bad span": append(slices.Clone(p), of(huge)...), "a span of nothing": append(slices.Clone(p), of()...), "wrong wire types": append(slices.Clone(p), of(fixed(1, 1), fixed(2, 2), fixed(5, 5), field(7, nil), field(8, nil), fixed(11, 1))...),
		"times at the bounds": append(slices.Clone(p), of(fixed(7, math.MaxUint64), fixed(8, math.MaxUint64))...), "times": append(slices.Clone(p), of(fixed(7, 1), fixed(8, math.MaxInt64/2))...), "a long name": append(slices.Clone(p), of(field(5, bytes.Repeat([]byte{0xff}, 1<<16)), fixed(7, 1), fixed(8, 2))...),
		"a size that lies": append(sized(p), 0x0f, 0xff, 0xff, 0xff, 0x0a), "a size of nothing": append(sized(p), 0, 0, 0, 0), "a cut size": append(sized(p), 0, 0), "a service of bytes": append(slices.Clone(p), field(1, slices.Concat(field(1, field(1, slices.Concat(field(1, []byte("service.name")), field(2, huge)))), field(2, field(2, slices.Concat(fixed(7, 1), fixed(8, 2))))))...),
	}
}

// TestImport_Hostile survives all of them, whole and cut, within memory that is in proportion to their size.
func TestImport_Hostile(t *testing.T) {
	cases := hostile()
	if len(cases) < 30 {
		t.Errorf("only %d", len(cases))
	}
	for name, data := range cases {
		t.Run(name, func(t *testing.T) {
			used := effort.Allocated(func() { _, _, _ = imported(bytes.NewReader(data)) })
			if most := uint64(6<<20 + 100*len(data)); used > most {
				t.Errorf("%d bytes of input took %d of memory", len(data), used)
			}
			for _, part := range []int{3, 2} {
				_, _, _ = imported(bytes.NewReader(data[:len(data)/part]))
			}
			view, _, err := imported(bytes.NewReader(data))
			if err != nil || len(allHeld(t, view)) == 0 {
				t.Errorf("the span before is not read: %v", err)
			}
		})
	}
}

// TestImport_Errors refuses what has no spans, and passes on the errors of the input.
func TestImport_Errors(t *testing.T) {
	for _, bad := range []string{"", "x", "{", "{}", "[]", `{"resourceSpans":[]}`, "\x0a\x00", "\x00\x00\x00\x02\x0a\x00"} {
		if _, _, err := imported(strings.NewReader(bad)); !errors.Is(err, ErrFormat) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	broken := errors.New("broken")
	for _, data := range [][]byte{asJSON([]given{{"s", "a", "", 1, 5}}), asProtobuf([]given{{"s", "a", "", 1, 5}}), sized(asProtobuf([]given{{"s", "a", "", 1, 5}}))} {
		if _, _, err := imported(io.MultiReader(bytes.NewReader(data[:len(data)-3]), iotest.ErrReader(broken))); !errors.Is(err, broken) {
			t.Errorf("%v, want %v", err, broken)
		}
	}
	if Magic([]byte(`{"resourceLogs":[]}`)) || Magic([]byte("\x0a\x04\x08\x01\x10\x02")) || Magic(nil) || Magic([]byte(hex.EncodeToString(full("a", 9)))) {
		t.Error("other bytes are spans")
	}
}

// TestImport_ManyRequests reads empty requests in memory that does not grow with their number.
func TestImport_ManyRequests(t *testing.T) {
	one := sized(asProtobuf([]given{{"s", "a", "", 1, 5}}))
	of := func(n int) uint64 {
		data := append(slices.Clone(one), make([]byte, 4*n)...)
		return effort.Allocated(func() {
			if _, outcome, err := imported(bytes.NewReader(data)); err != nil || outcome.Lost != nil {
				t.Error(outcome.Lost, err)
			}
		})
	}
	if few, many := of(1), of(1000); many > few+1<<20 {
		t.Errorf("a thousand empty requests take %d bytes, one takes %d", many, few)
	}
}

// FuzzImport imports any bytes: there is no panic, and what is read is the same by single bytes.
func FuzzImport(f *testing.F) {
	for _, data := range hostile() {
		if len(data) < 4096 {
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		Magic(data)
		view, outcome, err := imported(bytes.NewReader(data))
		again, _, errAgain := imported(iotest.OneByteReader(bytes.NewReader(data)))
		switch {
		case (err == nil) != (errAgain == nil):
			t.Fatal(err, errAgain)
		case err != nil && !errors.Is(err, ErrFormat):
			t.Fatal(err)
		case err == nil && cmp.Compare(fmt.Sprint(allHeld(t, view)), fmt.Sprint(allHeld(t, again))) != 0:
			t.Fatalf("%v; by single bytes %v, %v", allHeld(t, view), allHeld(t, again), outcome)
		}
	})
}
