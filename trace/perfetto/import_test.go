package perfetto

import (
	"bytes"
	"cmp"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/internal/heldtest"
	"github.com/granarydb/granary/internal/protobuf"
	"github.com/granarydb/granary/trace"
)

// f encodes a field: a number, a float, a text, a message, or a packed list.
func f(number uint64, value any) []byte {
	tag := func(wire protobuf.Wire) []byte { return binary.AppendUvarint(nil, number<<3|uint64(wire)) }
	data := func(b []byte) []byte { return append(binary.AppendUvarint(tag(protobuf.Bytes), uint64(len(b))), b...) }
	switch v := value.(type) {
	case rune:
		return binary.AppendUvarint(tag(protobuf.Varint), uint64(v))
	case int:
		return binary.AppendUvarint(tag(protobuf.Varint), uint64(v))
	case uint64:
		return binary.AppendUvarint(tag(protobuf.Varint), v)
	case float64:
		return binary.LittleEndian.AppendUint64(tag(protobuf.Eight), math.Float64bits(v))
	case string:
		return data([]byte(v))
	case []byte:
		return data(v)
	case []int:
		var list []byte
		for _, n := range v {
			list = binary.AppendUvarint(list, uint64(n))
		}
		return data(list)
	case []float64:
		var list []byte
		for _, n := range v {
			list = binary.LittleEndian.AppendUint64(list, math.Float64bits(n))
		}
		return data(list)
	}
	panic(fmt.Sprintf("%T", value))
}

// all joins fields to a message.
func all(fields ...[]byte) []byte { return bytes.Join(fields, nil) }

// packet is a packet of a trace, of sequence 1.
func packet(fields ...[]byte) []byte { return f(1, append(f(10, 1), all(fields...)...)) }

// event is a packet with a track event.
func eventAt(t int, fields ...[]byte) []byte { return packet(f(8, t), f(11, all(fields...))) }

func zipped(data []byte) []byte {
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	if _, err := z.Write(data); err != nil {
		panic(err)
	}
	if err := z.Close(); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// clockIs is the reading of a clock in a snapshot.
func clockIs(id, at int, more ...[]byte) []byte { return f(1, all(f(1, id), f(2, at), all(more...))) }

// The descriptors of a process, of a thread of it, and of others.
var (
	process7 = packet(f(60, all(f(1, 70), f(3, all(f(1, 7), f(6, "node"))))))
	thread8  = packet(f(60, all(f(1, 80), f(5, 70), f(4, all(f(1, 7), f(2, 8), f(5, "main"))))))
	cleared  = packet(f(13, 1))
)

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

// TestImport has small traces, and what becomes of them.
func TestImport(t *testing.T) {
	const main = "Processes/node 7/Threads/main 8"
	track80 := f(11, 80)
	for _, tc := range []struct {
		name    string
		trace   []byte
		want    []string
		leftOut string
		lost    string
	}{
		{
			"slices, instants and names", all(process7, thread8,
				eventAt(10, f(9, 1), f(23, "outer"), track80), eventAt(12, f(9, 1), f(23, "inner"), track80), eventAt(15, f(9, 2), track80),
				eventAt(16, f(9, 3), f(23, "click"), track80), eventAt(20, f(9, 2), track80), eventAt(21, f(9, 2), track80), eventAt(22, f(9, 1), track80), eventAt(25, f(9, 3), track80)),
			[]string{main + "/1 10-19 outer", main + "/1 22-25 unnamed", main + "/2 12-14 inner", main + "/instants 16-16 click", main + "/instants 25-25 unnamed"},
			"[{ends of slices without a begin 1}]", "",
		},
		{
			"interned names and defaults of a sequence", all(thread8,
				packet(f(8, 1), f(13, 2), f(11, all(f(9, 1), track80))), // before the state
				packet(f(8, 2), f(13, 1), f(59, all(f(11, f(11, 80)))), f(12, all(f(2, all(f(1, 5), f(2, "a"))), f(1, all(f(1, 5), f(2, "category"))))), f(11, all(f(9, 1), f(10, 5)))),
				packet(f(8, 4), f(13, 2), f(11, f(9, 2))),
				packet(f(8, 5), f(13, 2), f(42, 1), f(11, f(9, 1))),                                             // after a loss
				packet(f(8, 6), f(41, 1), f(11, all(f(9, 1), f(10, 5), track80))), eventAt(8, f(9, 2), track80), // 5 is unknown again
				f(1, all(f(10, 2), f(8, 7), f(13, 1), f(11, all(f(9, 3), f(10, 5), track80))))), // another sequence
			[]string{"Processes/7/Threads/main 8/1 2-3 a", "Processes/7/Threads/main 8/1 6-7 unnamed", "Processes/7/Threads/main 8/instants 7-7 unnamed"},
			"[{events whose names are lost 2}]", "",
		},
		{
			"tracks of other kinds", all(process7, thread8,
				packet(f(60, all(f(1, 1), f(5, 70), f(2, "gpu")))), packet(f(60, all(f(1, 2), f(5, 1), f(10, "queue")))), packet(f(60, all(f(1, 3), f(5, 70), f(2, "gpu")))),
				eventAt(1, f(9, 1), f(23, "a"), f(11, 1)), eventAt(3, f(9, 2), f(11, 1)), eventAt(2, f(9, 1), f(23, "b"), f(11, 3)), eventAt(4, f(9, 2), f(11, 3)),
				eventAt(1, f(9, 1), f(23, "c"), f(11, 2)), eventAt(4, f(9, 2), f(11, 2)), eventAt(1, f(9, 1), f(23, "boot"), f(11, 70)), eventAt(2, f(9, 2), f(11, 70)),
				eventAt(1, f(9, 1), f(23, "unknown"), f(11, 99)), eventAt(2, f(9, 2), f(11, 99)), eventAt(3, f(9, 3), f(23, "global")),
				packet(f(60, all(f(1, 4), f(5, 80), f(10, "phase"), f(18, "")))), eventAt(2, f(9, 5), f(23, "second"), f(11, 4)), eventAt(1, f(9, 5), f(23, "first"), f(11, 4)), eventAt(3, f(9, 5), f(11, 4))),
			[]string{
				"Processes/node 7/Tracks/gpu/1 1-2 a", "Processes/node 7/Tracks/gpu/lane 2/1 2-3 b", "Processes/node 7/Tracks/gpu/Tracks/queue/1 1-3 c", "Processes/node 7/1 1-1 boot",
				"Tracks/unknown/1 1-1 unknown", "Tracks/global/instants 3-3 global", main + "/Tracks/phase/1 1-1 first", main + "/Tracks/phase/1 2-2 second",
			},
			"", "",
		},
		{
			"counters", all(process7, thread8,
				packet(f(60, all(f(1, 1), f(5, 70), f(2, "heap"), f(8, f(4, 1024))))), packet(f(60, all(f(1, 2), f(5, 80), f(2, "time"), f(8, f(5, 1))))), packet(f(60, all(f(1, 3), f(2, "load"), f(8, "")))),
				cleared, eventAt(1, f(9, 4), f(11, 1), f(30, 2)), eventAt(2, f(9, 4), f(11, 3), f(44, 0.5)),
				eventAt(3, f(9, 1), f(23, "a"), track80, f(31, 2), f(12, 5), f(45, 3), f(46, 1.5)), eventAt(4, f(9, 2), track80, f(31, []int{2}), f(12, []int{7}), f(45, []int{3}), f(46, []float64{2})),
				packet(f(13, 1), f(8, 5), f(11, all(f(9, 4), f(11, 2), f(30, 1)))), eventAt(6, f(9, 4), f(11, 1)), eventAt(6, f(9, 4), f(11, 3), f(44, math.NaN())), eventAt(6, f(9, 3), track80, f(23, "i"))),
			[]string{
				"Counters/load 2-2 0.5", "Counters/load 3-3 1.5", "Counters/load 4-6 2", "Processes/node 7/Counters/heap 1-6 2048", main + "/1 3-3 a", main + "/instants 6-6 i",
				main + "/Counters/time 3-3 5", main + "/Counters/time 4-4 12", main + "/Counters/time 5-6 1",
			},
			"[{counters without a value 1} {values of counters that are no numbers 1}]", "",
		},
		{
			"clocks", all(thread8,
				packet(f(6, all(clockIs(6, 1000), clockIs(3, 900), clockIs(1, 1_000_001_000)))), packet(f(6, all(clockIs(6, 2000), clockIs(3, 1900), clockIs(1, 9_000_000_000)))),
				packet(f(13, 1), f(6, all(clockIs(3, 1900), clockIs(64, 1, f(3, 1), f(4, 100)), clockIs(65, 5, f(4, 10))))),
				packet(f(8, 1700), f(58, 3), f(11, all(f(9, 3), f(23, "monotonic"), track80))), packet(f(8, 2110), f(58, 6), f(11, all(f(9, 3), f(23, "boot"), track80))), packet(f(8, 2210), f(11, all(f(9, 3), f(23, "default"), track80))),
				packet(f(8, 2), f(58, 64), f(11, all(f(9, 3), f(23, "delta"), track80))), packet(f(8, 3), f(58, 64), f(11, all(f(9, 3), f(23, "delta 2"), track80))),
				packet(f(8, 15), f(58, 65), f(11, all(f(9, 3), f(23, "unit"), track80))), packet(f(8, 15), f(58, 66), f(11, all(f(9, 3), f(23, "?"), track80))), packet(f(11, all(f(9, 3), f(23, "?"), track80)))),
			[]string{
				"Processes/7/Threads/main 8/instants 1000001800-1000001800 monotonic", "Processes/7/Threads/main 8/instants 1000002110-1000002110 boot",
				"Processes/7/Threads/main 8/instants 1000002210-1000002210 default", "Processes/7/Threads/main 8/instants 1000002200-1000002200 delta",
				"Processes/7/Threads/main 8/instants 1000002500-1000002500 delta 2", "Processes/7/Threads/main 8/instants 1000002100-1000002100 unit",
			},
			"[{events without a time, or of clocks that nothing relates 2}]", "",
		},
		{
			"events before tracks", all(packet(f(44, all(f(1, 7), f(2, 8), f(5, "main"), f(6, 100)))), packet(f(43, all(f(1, 7), f(2, "/usr/bin/node --x")))),
				packet(f(13, 1), f(12, all(f(2, all(f(1, 1), f(2, "a"))), f(1, all(f(1, 1), f(2, "cat")))))),
				packet(f(11, all(f(1, 5), f(3, []int{1}), f(6, all(f(1, 1), f(2, 'X'), f(3, 2)))))), packet(f(11, all(f(1, 5), f(6, all(f(1, 1), f(2, 'B')))))), packet(f(11, all(f(16, 120), f(6, f(2, 'E'))))),
				packet(f(11, all(f(16, 101), f(3, 1), f(6, all(f(1, 1), f(2, 'b'), f(6, 9)))))), packet(f(11, all(f(16, 104), f(22, "cat"), f(6, all(f(1, 1), f(2, 'e'), f(6, 9)))))),
				packet(f(11, all(f(16, 103), f(3, 1), f(6, all(f(1, 1), f(2, 'n'), f(10, 9)))))), packet(f(11, all(f(16, 103), f(6, all(f(1, 1), f(2, 'I'), f(19, 9)))))), packet(f(11, all(f(16, 103), f(6, f(2, 'Z')))))),
			[]string{
				"Processes/node 7/Async/cat/1 101000-103999 a", "Processes/node 7/Async/cat/instants 103000-103000 a", "Processes/node 7/Threads/9/instants 103000-103000 a", main + "/1 105000-106999 a", main + "/1 110000-119999 a",
			},
			"[{legacy events of other phases 1}]", "",
		},
		{
			"the scheduler", all(
				packet(f(2, all(f(1, all(f(1, 7), f(3, "/usr/bin/node"))), f(2, all(f(1, 8), f(2, "main"), f(3, 7)))))),
				packet(f(1, all(f(1, 0),
					f(2, all(f(1, 10), f(4, all(f(1, "swapper"), f(2, 0), f(4, 0), f(5, "node"), f(6, 7))))),
					f(2, all(f(1, 20), f(4, all(f(1, "node"), f(2, 7), f(4, 1), f(5, "main"), f(6, 8))))),
					f(2, all(f(1, 25), f(20, all(f(1, "node"), f(2, 7))))),
					f(2, all(f(1, 30), f(4, all(f(2, 8), f(4, 2), f(5, "node"), f(6, 7))))),
					f(2, all(f(1, 31), f(300, "")))))),
				packet(f(1, all(f(1, 1), f(4, all(f(5, "init"), f(5, "x"), f(1, []int{12, 6, 4}), f(2, []int{0, 0, 0x40}),
					f(3, []int{1, 99, 0}), f(6, []int{0, 1, 0}), f(7, []int{26}), f(8, []int{1}), f(11, []int{0})))))),
				packet(f(1, all(f(1, 2), f(5, 3), f(6, 1000), f(7, 40), f(2, all(f(1, 995), f(4, all(f(2, 0), f(5, "init"), f(6, 1)))))))),
			),
			[]string{
				"CPUs/0 10-19 node 7", "CPUs/0 20-29 main 8", "CPUs/0 30-35 node 7", "CPUs/1 12-17 init 1", "CPUs/1 18-21 x 99", "CPUs/2 35-35 init 1",
				"Processes/node 7/Threads/main 8/state 20-29 running", "Processes/node 7/Threads/main 8/state 30-35 waiting (uninterruptible)",
				"Processes/node 7/Threads/node 7/state 10-19 running", "Processes/node 7/Threads/node 7/state 20-24 waiting (blocked)", "Processes/node 7/Threads/node 7/state 25-29 waiting (CPU)", "Processes/node 7/Threads/node 7/state 30-35 running",
				"Threads/init 1/state 12-17 running", "Threads/init 1/state 18-34 waiting (CPU)", "Threads/init 1/state 35-35 running", "Threads/x 99/state 18-21 running", "Threads/x 99/state 22-35 waiting (parked)",
			},
			"[{kernel events but the scheduler's 1}]", "",
		},
		{
			"compressed packets", all(packet(f(50, zipped(all(process7, thread8, eventAt(1, f(9, 1), f(23, "a"), track80))))), eventAt(3, f(9, 2), track80),
				packet(f(50, zipped(packet(f(50, zipped(thread8)))))), packet(f(50, "no zlib")), packet(f(133, "x"))),
			[]string{main + "/1 1-2 a"},
			"[{compressed packets in compressed packets 1} {compressed packets that break off 1} {packets compressed with zstd 1} {packets of other data 1}]", "",
		},
		{
			"other packets, fields and flows", all(f(2, 7), f(3, "x"), f(4, 1.5), []byte{5<<3 | byte(protobuf.Four), 1, 2, 3, 4}, thread8, packet(f(500, "x")), packet(f(33, "config")), f(1, []byte{0xff}), packet(f(60, []byte{0xff})),
				eventAt(1, f(9, 3), f(23, "a"), track80, f(47, 1.0), f(48, 1.0)), eventAt(1, f(9, 77)), eventAt(1)),
			[]string{"Processes/7/Threads/main 8/instants 1-1 a"},
			"[{flows 2} {packets that cannot be read 2} {track events of unknown types 2} {packets of other data 1}]", "",
		},
		{
			"cut", append(all(thread8, eventAt(1, f(9, 1), f(23, "a"), track80)), eventAt(5, f(9, 2), track80)[:6]...),
			[]string{"Processes/7/Threads/main 8/1 1-1 a"},
			"", "the end within a message",
		},
	} {
		view, outcome, err := imported(iotest.OneByteReader(bytes.NewReader(tc.trace)))
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		slices.Sort(tc.want)
		if got := allHeld(t, view); !slices.Equal(got, tc.want) {
			t.Errorf("%s: the history has\n%s\nwant\n%s", tc.name, strings.Join(got, "\n"), strings.Join(tc.want, "\n"))
		}
		if left := fmt.Sprint(outcome.LeftOut()); left != cmp.Or(tc.leftOut, "[]") {
			t.Errorf("%s: left out %s, want %s", tc.name, left, tc.leftOut)
		}
		if (tc.lost == "") != (outcome.Lost == nil) || outcome.Lost != nil && (!strings.Contains(outcome.Lost.Error(), tc.lost) || !errors.Is(outcome.Lost, ErrFormat)) {
			t.Errorf("%s: lost %v, want %q", tc.name, outcome.Lost, tc.lost)
		}
		if !Magic(tc.trace) && tc.trace[0] == 1<<3|byte(protobuf.Bytes) {
			t.Errorf("%s is no trace", tc.name)
		}
	}
}

// TestImport_Errors refuses what is no trace, and passes on the errors of the input and the target.
func TestImport_Errors(t *testing.T) {
	good := all(thread8, eventAt(1, f(9, 3), f(11, 80)))
	for name, bad := range map[string][]byte{
		"nothing": nil, "a text": []byte("hello"), "a group": {3}, "half a number": {0x80}, "a long number": bytes.Repeat([]byte{0x80}, 20), "half a packet": good[:9], "no events": thread8,
		"a huge packet": {1<<3 | byte(protobuf.Bytes), 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}, "a large packet": {1<<3 | byte(protobuf.Bytes), 0xff, 0xff, 0xff, 0x7f}, "other fields": f(2, "x"), "ends alone": all(thread8, eventAt(1, f(9, 2), f(11, 80))),
	} {
		if _, _, err := imported(bytes.NewReader(bad)); !errors.Is(err, ErrFormat) {
			t.Errorf("%s: %v", name, err)
		}
	}
	broken := errors.New("broken")
	if _, _, err := imported(io.MultiReader(bytes.NewReader(good[:len(good)-3]), iotest.ErrReader(broken))); !errors.Is(err, broken) {
		t.Errorf("%v, want %v", err, broken)
	}
	if _, err := Import(t.Context(), bytes.NewReader(good), trace.Target{Begin: func(int64) (*history.Writer, error) { return nil, broken }}); !errors.Is(err, broken) {
		t.Errorf("%v, want %v", err, broken)
	}
}

// TestMagic tells traces from other messages that begin with field 1.
func TestMagic(t *testing.T) {
	large := packet(f(1, strings.Repeat("x", 10_000)))
	for name, is := range map[string][]byte{"a descriptor": thread8, "a cut packet": large[:4096], "packets without a telling field": all(f(1, f(2, "x")), f(1, f(1, "x")), thread8)} {
		if !Magic(is) {
			t.Errorf("%s is no trace", name)
		}
	}
	for name, is := range map[string][]byte{
		"nothing": nil, "pprof": f(1, all(f(1, 1), f(2, 2))), "OTLP": f(1, all(f(1, "resource"), f(2, "spans"), f(3, "https://schema"))), "text": []byte("\nhello\n"), "a line": []byte("\n\n\n"), "a cut other": f(1, strings.Repeat("x", 5000))[:4096],
	} {
		if Magic(is) {
			t.Errorf("%s is a trace", name)
		}
	}
}

// TestImport_Made holds a trace that Perfetto's own message classes wrote, testdata/made.py, to the slices that
// compat/traces/oracle.py reads in it with them.
func TestImport_Made(t *testing.T) {
	data, err := os.ReadFile("testdata/made.pftrace")
	if err != nil {
		t.Fatal(err)
	}
	table, err := os.ReadFile("testdata/made.want.tsv")
	if err != nil {
		t.Fatal(err)
	}
	const offset = 1_790_000_000_000_000_000 - 1_000_000_000
	var want []string
	for line := range strings.Lines(string(table)) {
		cells := strings.Split(strings.TrimSpace(line), "\t")
		start, err1 := strconv.ParseInt(cells[1], 10, 64)
		end, err2 := strconv.ParseInt(cells[2], 10, 64)
		if err1 != nil || err2 != nil {
			t.Fatal(line)
		}
		want = append(want, fmt.Sprintf("%d-%d %s", start+offset, end-1+offset, cells[3]))
	}
	view, outcome, err := imported(bytes.NewReader(data))
	if err != nil || len(outcome.LeftOut()) > 0 || outcome.Lost != nil {
		t.Fatal(outcome, err)
	}
	var got []string
	counted, scheduled := 0, 0
	for _, line := range allHeld(t, view) {
		path, interval, _ := strings.Cut(line[len("Processes/made 4000/"):], " 17")
		switch {
		case strings.HasPrefix(line, "CPUs/0 "), strings.HasSuffix(path, "/state"):
			scheduled++
		case path == "Counters/heap":
			counted++
		default:
			got = append(got, "17"+interval)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) || len(want) < 100 || counted < 20 || scheduled < 80 {
		t.Errorf("%d slices, %d values, %d states:\n%s\nwant\n%s", len(got), counted, scheduled, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
