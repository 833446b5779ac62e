package protobuf

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errBad = errors.New("bad")

// TestMessage reads what encoding/binary writes.
func TestMessage(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var data []byte
		var want []string
		for range rapid.IntRange(0, 10).Draw(t, "fields") {
			number := rapid.Uint64Range(1, 1<<29).Draw(t, "number")
			value := rapid.Uint64().Draw(t, "value")
			switch wire := rapid.SampledFrom([]Wire{Varint, Eight, Bytes, Four}).Draw(t, "wire"); wire {
			case Varint:
				data = binary.AppendUvarint(binary.AppendUvarint(data, number<<3), value)
				want = append(want, fmt.Sprint(number, wire, value, ""))
			case Eight:
				data = binary.LittleEndian.AppendUint64(binary.AppendUvarint(data, number<<3|1), value)
				want = append(want, fmt.Sprint(number, wire, value, ""))
			case Four:
				data = binary.LittleEndian.AppendUint32(binary.AppendUvarint(data, number<<3|5), uint32(value))
				want = append(want, fmt.Sprint(number, wire, uint32(value), ""))
			case Bytes:
				text := rapid.StringN(0, 9, -1).Draw(t, "text")
				data = append(binary.AppendUvarint(binary.AppendUvarint(data, number<<3|2), uint64(len(text))), text...)
				want = append(want, fmt.Sprint(number, wire, 0, text))
			}
		}
		var got []string
		m := Read(data)
		for m.Next() {
			got = append(got, fmt.Sprint(m.Number, m.Wire, m.Value, string(m.Data)))
		}
		if m.Bad || !slices.Equal(got, want) {
			t.Fatalf("%q, want %q, bad %v", got, want, m.Bad)
		}
	})
}

// TestMessage_Bad ends at malformed bytes.
func TestMessage_Bad(t *testing.T) {
	for _, bad := range []string{"\x00", "\x08", "\x08\x80", "\x09\x01", "\x0a\x02x", "\x0b", "\x0d\x01", "\x80", strings.Repeat("\x80", 11), "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"} {
		m := Read([]byte(bad))
		if m.Next() || !m.Bad || m.Next() {
			t.Errorf("%q is not malformed", bad)
		}
	}
}

// TestMessage_Numbers reads lists, packed or not.
func TestMessage_Numbers(t *testing.T) {
	m := Read([]byte("\x08\x05\x0a\x03\x01\xac\x02\x0a\x01\x80"))
	var got []uint64
	for m.Next() {
		got = m.Numbers(got, Varint)
	}
	if !slices.Equal(got, []uint64{5, 1, 300}) || !m.Bad {
		t.Errorf("%d, %v", got, m.Bad)
	}
	m = Read(append([]byte("\x0a\x08"), binary.LittleEndian.AppendUint64(nil, math.Float64bits(1.5))...))
	m.Next()
	if got := m.Numbers(nil, Eight); len(got) != 1 || math.Float64frombits(got[0]) != 1.5 {
		t.Errorf("%d", got)
	}
}

// TestMessages reads messages, skips other fields, and tells a whole file from a cut one.
func TestMessages(t *testing.T) {
	long := strings.Repeat("x", 3<<20)
	data := append(append([]byte("\x0a\x02hi\x10\x01\x19\x01\x02\x03\x04\x05\x06\x07\x08\x25\x01\x02\x03\x04\x2a\x01y\x0a"), binary.AppendUvarint(nil, uint64(len(long)))...), long...)
	r := NewMessages(bytes.NewReader(data), errBad)
	for _, want := range []string{"hi", long} {
		if got, err := r.Next(); err != nil || string(got) != want {
			t.Fatalf("%.20q, %v", got, err)
		}
	}
	if _, err := r.Next(); !errors.Is(err, io.EOF) || errors.Is(err, errBad) {
		t.Error(err)
	}
	for _, bad := range []string{"\x0a", "\x0a\x02x", "\x0b", "\x10", strings.Repeat("\x80", 11), "\x0a\xff\xff\xff\x7f", "\x19\x01"} {
		if _, err := NewMessages(strings.NewReader(bad), errBad).Next(); !errors.Is(err, errBad) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
