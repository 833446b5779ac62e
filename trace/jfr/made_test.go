package jfr

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
	"testing"
)

// number is a number in a recording.
func number(n int) (out []byte) {
	for ; n >= 0x80; n >>= 7 {
		out = append(out, byte(n)|0x80)
	}
	return append(out, byte(n))
}

// values are numbers, texts and bytes one after the other.
func values(all ...any) (out []byte) {
	for _, v := range all {
		switch v := v.(type) {
		case int:
			out = append(out, number(v)...)
		case string:
			out = append(append(append(out, 3), number(len(v))...), v...)
		case []byte:
			out = append(out, v...)
		}
	}
	return out
}

// event has a size of three bytes.
func event(all ...any) []byte {
	body := values(all...)
	size := len(body) + 3
	return append([]byte{byte(size) | 0x80, byte(size>>7) | 0x80, byte(size >> 14)}, body...)
}

// The classes of the recording below.
const (
	longClass = iota + 1
	stringClass
	threadClass
	parkClass
)

// parked is a recording in which a thread is parked n times.
func parked(thread string, n int) []byte {
	var names []string
	name := func(text string) int {
		i := slices.Index(names, text)
		if i < 0 {
			i, names = len(names), append(names, text)
		}
		return i
	}
	element := func(kind string, attributes []string, children ...[]byte) []byte {
		out := values(name(kind), len(attributes)/2)
		for _, text := range attributes {
			out = append(out, number(name(text))...)
		}
		return slices.Concat(out, number(len(children)), bytes.Join(children, nil))
	}
	field := func(name, class string, more ...string) []byte {
		return element("field", append([]string{"name", name, "class", class}, more...))
	}
	tree := element("root", nil,
		element("class", []string{"id", "1", "name", "long"}),
		element("class", []string{"id", "2", "name", "java.lang.String"}),
		element("class", []string{"id", "3", "name", "java.lang.Thread"}, field("javaName", "2"), field("javaThreadId", "1")),
		element("class", []string{"id", "4", "name", "jdk.ThreadPark"}, field("startTime", "1"), field("duration", "1"), field("eventThread", "3", "constantPool", "true")))
	texts := values(len(names))
	for _, text := range names {
		texts = append(texts, values(text)...)
	}
	out := make([]byte, 68)
	copy(out, "FLR\x00\x00\x02\x00\x01")
	put := func(at, n int) { binary.BigEndian.PutUint64(out[at:], uint64(n)) }
	put(24, len(out))
	put(32, 1_790_000_000_000_000_000)
	put(56, 1_000_000_000)
	out[67] = 1
	out = append(out, event(0, 0, 0, 0, texts, tree)...)
	for i := range n {
		out = append(out, event(parkClass, 10*i, 5, 1)...)
	}
	put(16, len(out))
	out = append(out, event(1, 0, 0, 0, 0, 1, threadClass, 1, 1, thread, 7)...)
	put(8, len(out))
	return out
}

// TestImport_LongNames reads a thread's name once a chunk, however many events it has.
func TestImport_LongNames(t *testing.T) {
	name := strings.Repeat("long ", 200)
	view, outcome, err := imported(bytes.NewReader(parked(name, 5000)))
	if err != nil || outcome.Lost != nil {
		t.Fatal(outcome.Lost, err)
	}
	all := allStates(t, view)
	if len(all) != 5000 || all[0].of != "Threads/"+name+" 7" || all[0].what != "parked" {
		t.Errorf("%d states, the first %+v", len(all), all[:1])
	}
}
