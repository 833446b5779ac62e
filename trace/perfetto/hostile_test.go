package perfetto

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/internal/protobuf"
)

// many joins what a function returns for each number.
func many(n int, one func(i int) []byte) []byte {
	var b []byte
	for i := range n {
		b = append(b, one(i)...)
	}
	return b
}

// hostile are bytes that a reader must survive.
func hostile() map[string][]byte {
	a := eventAt(1, f(9, 3), f(23, "a"), f(11, 80))
	with := func(more ...[]byte) []byte { return all(thread8, a, all(more...)) }
	parent := func(uuid, of int) []byte { return packet(f(60, all(f(1, uuid), f(5, of), f(2, "t")))) }
	on := func(uuid int) []byte { return eventAt(1, f(9, 1), f(23, "x"), f(11, uuid)) }
	const huge = uint64(math.MaxUint64)
	sched := func(columns ...[]byte) []byte { return packet(f(1, f(4, all(columns...)))) }
	return map[string][]byte{
		"a bomb":                 with(packet(f(50, zipped(bytes.Repeat([]byte{0x12, 0}, 20<<20))))),
		"many bombs":             with(many(20, func(int) []byte { return packet(f(50, zipped(make([]byte, 1<<20)))) })),
		"a bomb of events":       with(packet(f(50, zipped(bytes.Repeat(a, 1<<20))))),
		"nested compression":     with(packet(f(50, zipped(packet(f(50, zipped(packet(f(50, zipped(a)))))))))),
		"cut compression":        with(packet(f(50, zipped(bytes.Repeat(a, 1000))[:40]))),
		"no compression":         with(packet(f(50, "")), packet(f(50, "\x78\x9c"))),
		"a huge packet":          with([]byte{1<<3 | byte(protobuf.Bytes), 0xff, 0xff, 0xff, 0xff, 0x0f}),
		"a packet that is not":   with([]byte{1<<3 | byte(protobuf.Bytes), 0xff, 0xff, 0xff, 0x7f}),
		"a large packet cut":     with([]byte{1<<3 | byte(protobuf.Bytes), 0xff, 0xff, 0xff, 0x1f}, make([]byte, 100)),
		"a group":                with([]byte{1<<3 | 3}),
		"a tag without an end":   with(bytes.Repeat([]byte{0x80}, 11)),
		"fields without numbers": with(packet([]byte{0, 0})),
		"parents in a circle":    with(parent(1, 2), parent(2, 3), parent(3, 1), on(1), on(2), on(3)),
		"its own parent":         with(parent(1, 1), on(1)),
		"unknown parents":        with(parent(1, 999), on(1)),
		"deep parents":           with(many(3000, func(i int) []byte { return parent(i+1, i+2) }), on(1), on(1500), on(3000)),
		"a counter in a circle":  with(packet(f(60, all(f(1, 1), f(5, 2), f(8, "")))), packet(f(60, all(f(1, 2), f(5, 1), f(8, "")))), eventAt(1, f(9, 4), f(11, 1), f(30, 1)), eventAt(1, f(9, 4), f(11, 2), f(30, 1))),
		"undefined names":        with(cleared, many(1000, func(i int) []byte { return eventAt(i, f(9, 1), f(10, i), f(3, []int{i}), f(11, 80)) })),
		"names":                  with(cleared, packet(f(12, many(5000, func(i int) []byte { return f(2, all(f(1, i), f(2, fmt.Sprint(i)))) })))),
		"a name of no text":      with(cleared, packet(f(12, all(f(2, all(f(1, 1), f(2, 7))), f(2, "\xff"))))),
		"sequences":              with(many(3000, func(i int) []byte { return f(1, all(f(10, i), f(13, 1))) })),
		"clocks in a circle":     with(packet(f(6, all(clockIs(64, 1), clockIs(65, 1)))), packet(f(6, all(clockIs(65, 1), clockIs(66, 1)))), packet(f(6, all(clockIs(66, 1), clockIs(64, 1)))), packet(f(8, 1), f(58, 64), f(11, f(9, 3)))),
		"a clock twice":          with(packet(f(6, all(clockIs(6, 1), clockIs(6, 2), clockIs(3, 1)))), packet(f(8, 1), f(58, 3), f(11, f(9, 3)))),
		"clocks that go back":    with(many(500, func(i int) []byte { return packet(f(6, all(clockIs(6, 1000-i), clockIs(3, 1000-i)))) }), packet(f(8, 1), f(58, 3), f(11, f(9, 3)))),
		"many clocks":            with(packet(f(6, many(5000, func(i int) []byte { return clockIs(i+200, i) }))), packet(f(8, 1), f(58, 300), f(11, f(9, 3)))),
		"snapshots without an end": with(many(2000, func(i int) []byte {
			return all(packet(f(6, all(clockIs(i+200, i), clockIs(i+201, i)))), packet(f(8, 1), f(58, 300), f(11, f(9, 3))))
		})),
		"units":                     with(packet(f(6, all(f(1, all(f(1, 64), f(2, huge), f(4, huge))), clockIs(6, 1)))), packet(f(8, huge>>2), f(58, 64), f(11, f(9, 3)))),
		"deltas":                    with(packet(f(6, all(clockIs(64, 1<<60, f(3, 1)), clockIs(6, 1)))), many(100, func(int) []byte { return packet(f(8, 1<<60), f(58, 64), f(11, f(9, 3))) })),
		"times at the bounds":       with(packet(f(8, huge), f(11, f(9, 3))), packet(f(8, huge>>1), f(11, f(9, 3))), packet(f(8, huge>>3), f(11, f(9, 3)))),
		"dates at the bounds":       with(packet(f(6, all(clockIs(6, 1), f(1, all(f(1, 1), f(2, huge>>1))))))),
		"legacy times":              with(packet(f(44, all(f(1, 1), f(2, 2), f(6, huge)))), many(100, func(int) []byte { return packet(f(11, all(f(1, huge), f(6, f(2, 'B'))))) }), packet(f(11, all(f(16, huge), f(6, all(f(2, 'X'), f(3, huge))))))),
		"durations":                 with(eventAt(1, f(6, all(f(2, 'X'), f(3, huge>>1)))), eventAt(1, f(6, all(f(2, 'X'), f(3, huge)))), eventAt(1, f(6, all(f(2, 'e'), f(6, 1)))), eventAt(1, f(6, f(2, 0)))),
		"begins":                    with(many(5000, func(i int) []byte { return eventAt(i, f(9, 1), f(11, 80)) })),
		"ends":                      with(many(5000, func(i int) []byte { return eventAt(i, f(9, 2), f(11, 80)) })),
		"states":                    with(many(3000, func(i int) []byte { return eventAt(1, f(9, 5), f(23, fmt.Sprint(i)), f(11, 80)) })),
		"tracks":                    with(many(3000, func(i int) []byte { return eventAt(1, f(9, 3), f(11, i+100)) })),
		"threads":                   with(many(3000, func(i int) []byte { return packet(f(60, all(f(1, i), f(4, all(f(1, -i), f(2, -i)))))) })),
		"a process tree":            with(packet(f(2, many(3000, func(i int) []byte { return all(f(1, all(f(1, i), f(3, "a"))), f(2, all(f(1, i), f(3, i+1)))) })))),
		"counters":                  with(many(3000, func(i int) []byte { return eventAt(i, f(9, 4), f(30, huge-uint64(i)), f(11, i+100)) })),
		"more values than counters": with(eventAt(1, f(9, 3), f(31, []int{1}), f(12, []int{1, 2, 3}), f(45, []int{1}), f(46, []float64{1, 2}))),
		"lists that are cut":        with(eventAt(1, f(9, 3), f(31, "\x80"), f(46, "\x01\x02"))),
		"multipliers":               with(packet(f(60, all(f(1, 1), f(8, all(f(4, huge), f(5, 1)))))), cleared, many(100, func(int) []byte { return eventAt(1, f(9, 4), f(11, 1), f(30, huge>>1)) })),
		"the scheduler's columns":   with(sched(f(1, []int{1, 2, 3}), f(2, []int{1}), f(3, []int{1, 2})), sched(f(1, "\x80")), sched(f(6, []int{9}), f(1, 1), f(2, 1), f(3, 1)), sched(f(7, huge), f(7, huge), f(8, []int{1, 2}))),
		"CPUs":                      with(many(2000, func(i int) []byte { return packet(f(1, all(f(1, i), f(4, all(f(1, 5), f(2, 0), f(3, i+1)))))) })),
		"switches at one time":      with(packet(f(1, f(4, all(f(1, make([]int, 5000)), f(2, make([]int, 5000)), f(3, make([]int, 5000)), f(7, make([]int, 5000)), f(8, make([]int, 5000))))))),
		"kernel clocks":             with(packet(f(1, all(f(5, 2), f(6, huge>>1), f(7, -1), f(2, all(f(1, huge), f(4, f(6, 1)))))))),
		"wrong wire types":          with(packet(f(8, "x"), f(10, "y"), f(11, 7), f(60, 7), f(6, 7), f(1, 7), f(2, 7), f(44, 7), f(12, 7), f(59, 7), f(50, 7)), packet(f(60, all(f(1, "x"), f(2, 7), f(3, 7), f(4, 7), f(8, 7)))), eventAt(1, f(9, "x"), f(23, 7), f(11, "x"), f(30, "x"), f(44, 7), f(6, 7))),
		"text":                      with([]byte(strings.Repeat("\n\x02hi", 1000))),
	}
}

// TestImport_Hostile survives all of them, whole and cut, within memory that is in proportion to their size.
func TestImport_Hostile(t *testing.T) {
	effort.Long(t)
	cases := hostile()
	if len(cases) < 30 {
		t.Errorf("only %d", len(cases))
	}
	for name, data := range cases {
		t.Run(name, func(t *testing.T) {
			used := effort.Allocated(func() { _, _, _ = imported(bytes.NewReader(data)) })
			// Compressed packets may have 16 MiB in each trace, and make slices of that.
			most := uint64(8<<20 + 400*len(data))
			if strings.Contains(name, "bomb") {
				most += 800 << 20
			}
			if used > most {
				t.Errorf("%d bytes of input took %d of memory", len(data), used)
			}
			for _, part := range []int{3, 2} {
				_, _, _ = imported(bytes.NewReader(data[:len(data)/part]))
			}
			view, _, err := imported(bytes.NewReader(data))
			if err != nil || len(allHeld(t, view)) == 0 {
				t.Errorf("the event before is not read: %v", err)
			}
		})
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
		again, outcomeAgain, errAgain := imported(oneByte{bytes.NewReader(data)})
		switch {
		case (err == nil) != (errAgain == nil):
			t.Fatal(err, errAgain)
		case err != nil && !errors.Is(err, ErrFormat):
			t.Fatal(err)
		case err != nil:
			return
		}
		if fmt.Sprint(allHeld(t, view), outcome) != fmt.Sprint(allHeld(t, again), outcomeAgain) {
			t.Fatalf("%v, %v; by single bytes %v, %v", allHeld(t, view), outcome, allHeld(t, again), outcomeAgain)
		}
	})
}

// oneByte reads single bytes.
type oneByte struct{ io.Reader }

func (o oneByte) Read(p []byte) (int, error) { return o.Reader.Read(p[:min(len(p), 1)]) }
