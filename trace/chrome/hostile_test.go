package chrome

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/internal/heldtest"
)

// hostile are bytes that a reader must survive.
func hostile() map[string]string {
	many := func(n int, f func(i int) string) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(f(i))
		}
		return b.String()
	}
	event := func(text string) func(int) string { return func(int) string { return text + "," } }
	const x = `{"ph":"X","ts":1,"dur":1,"name":"a"},`
	return map[string]string{
		"deep lists":           "[" + x + strings.Repeat("[", 1<<20),
		"deep lists, closed":   "[" + x + strings.Repeat("[", 1<<20) + strings.Repeat("]", 1<<20) + "]",
		"deep objects":         `{"traceEvents":[` + x + strings.Repeat(`{"a":`, 1<<18),
		"deep arguments":       "[" + x + `{"args":` + strings.Repeat(`{"a":`, 1<<18) + "1" + strings.Repeat("}", 1<<18) + `,"ph":"C","ts":1}]`,
		"mixed brackets":       "[" + x + `{"args":{]}},{"a":[}]` + "]",
		"a list in a list":     "[[" + x + "]]",
		"giant number":         `[{"ph":"X","ts":` + strings.Repeat("9", 1<<20) + `,"dur":1},` + x + "]",
		"giant fraction":       `[{"ph":"X","ts":0.` + strings.Repeat("9", 1<<20) + `,"dur":1},` + x + "]",
		"giant exponent":       `[{"ph":"X","ts":1e` + strings.Repeat("9", 1<<10) + `,"dur":1},` + x + "]",
		"times at the bounds":  `[{"ph":"X","ts":2305843009213693.951,"dur":2305843009213693.951},{"ph":"X","ts":-2305843009213693.951,"dur":1}]`,
		"unclosed times":       `[{"ph":"B","ts":-2305843009213693.951},{"ph":"E","ts":2305843009213693.951},{"ph":"B","ts":2305843009213693.951}]`,
		"base time at a bound": `{"traceEvents":[` + x + `{"ph":"X","ts":2305843009213693,"dur":0}],"baseTimeNanoseconds":2305843009213693951}`,
		"base time beyond":     `{"traceEvents":[` + x + `],"baseTimeNanoseconds":9223372036854775807}`,
		"ends without begins":  "[" + x + many(3e4, event(`{"ph":"E","ts":5,"name":"a"}`)),
		"begins without ends":  "[" + many(3e4, func(i int) string { return fmt.Sprintf(`{"ph":"B","ts":%d},`, i) }),
		"begins at one time":   "[" + many(3e4, event(`{"ph":"B","ts":1}`)),
		"ends of other names":  "[" + many(5e3, event(`{"ph":"B","ts":1,"name":"a"}`)) + many(5e3, event(`{"ph":"E","ts":2,"name":"b"}`)),
		"slices that overlap":  "[" + many(5e3, func(i int) string { return fmt.Sprintf(`{"ph":"X","ts":%d,"dur":100000},`, i) }),
		"slices that nest":     "[" + many(3e4, func(i int) string { return fmt.Sprintf(`{"ph":"X","ts":%d,"dur":%d},`, i, 100_000-2*i) }),
		"threads":              "[" + many(3e3, func(i int) string { return fmt.Sprintf(`{"ph":"i","tid":%d,"ts":1},`, i) }),
		"processes without events": "[" + x + many(3e3, func(i int) string {
			return fmt.Sprintf(`{"ph":"M","pid":%d,"name":"process_name","args":{"name":"a"}},`, i)
		}),
		"processes with one name": "[" + many(3e3, func(i int) string {
			return fmt.Sprintf(`{"ph":"X","ts":1,"dur":1,"pid":"%s%d"},`, strings.Repeat("x", 5000), i)
		}),
		"categories":               "[" + many(3e3, func(i int) string { return fmt.Sprintf(`{"ph":"b","ts":1,"id":%d,"cat":"c%d"},`, i, i) }),
		"ids":                      "[" + many(5e3, func(i int) string { return fmt.Sprintf(`{"ph":"b","ts":1,"id":%d,"cat":"c"},`, i) }),
		"series":                   `[{"ph":"C","ts":1,"args":{` + many(5e3, func(i int) string { return fmt.Sprintf(`"%d":%d,`, i, i) }) + `}}]`,
		"counters of two kinds":    `[{"ph":"C","ts":2,"args":{"a":1}},{"ph":"C","ts":1,"args":{"a":1e400}},{"ph":"C","ts":1,"args":{"a":1.5,"a":{},"a":[1],"a":"x","a":""}}]`,
		"arguments of other kinds": "[" + x + `{"ph":"M","name":"process_name","args":7},{"ph":"M","name":"process_name","args":{"name":{"name":1}}},{"ph":"C","ts":1,"args":[1,2]},{"ph":"C","ts":1},{"ph":"C","ts":1,"args":null}]`,
		"fields of other kinds":    "[" + x + `{"ph":{},"ts":[],"dur":{},"name":[[]],"pid":{"a":1},"tid":[1],"id":{},"id2":7,"args":"x","cat":null},{"ph":["X"]},{"ph":""},{"ph":7}]`,
		"keys twice":               `[{"ph":"B","ph":"X","ts":5,"ts":1,"dur":9,"dur":1,"name":"b","name":"a","pid":1,"pid":2}]`,
		"escapes":                  `[{"ph":"X","ts":1,"dur":1,"name":"\ud800\ud800\uzzzz\u12\x\` + `"` + `\\"},` + x + `{"name":"\`,
		"a text without an end":    "[" + x + `{"name":"` + strings.Repeat("x", 1<<20),
		"a key without an end":     "[" + x + `{"` + strings.Repeat("x", 1<<20),
		"a long key":               "[" + x + `{"` + strings.Repeat(`\"`, 1<<18) + `":1},` + x,
		"spaces":                   "[" + strings.Repeat(" ", 1<<20) + x + strings.Repeat("\n", 1<<20),
		"commas":                   "[" + strings.Repeat(",", 1<<20) + x + strings.Repeat(",", 1<<20),
		"zeros":                    "[" + x + strings.Repeat("\x00", 1<<20),
		"no colon":                 "[" + x + `{"ph" "X"}]`,
		"garbage":                  "[" + x + "\xff\xfe{}{}::]]]]",
		"two lists":                `{"traceEvents":[` + x + `],"traceEvents":[` + x + `],"traceEvents":7}`,
	}
}

// TestImport_Hostile survives all of them, whole and cut, within memory that is in proportion to their size. Each of
// them has a slice that can be read, or none and an error.
func TestImport_Hostile(t *testing.T) {
	effort.Long(t)
	cases := hostile()
	if len(cases) < 30 {
		t.Errorf("only %d", len(cases))
	}
	for name, data := range cases {
		t.Run(name, func(t *testing.T) {
			used := effort.Allocated(func() { _, _, _ = imported(strings.NewReader(data)) })
			// An attribute takes some 2 KB, and an event that makes one at least 20 bytes.
			if most := uint64(4<<20 + 200*len(data)); used > most {
				t.Errorf("%d bytes of input took %d of memory", len(data), used)
			}
			for _, part := range []int{3, 2} {
				_, _, _ = imported(strings.NewReader(data[:len(data)/part]))
			}
			view, _, err := imported(strings.NewReader(data))
			if err == nil && len(heldtest.All(t, view)) == 0 {
				t.Error("no slice and no error")
			}
		})
	}
}

// TestImport_Instants has the memory of an instant of a category be that of one of a thread (C5).
func TestImport_Instants(t *testing.T) {
	of := func(phase string) uint64 {
		var b strings.Builder
		for i := range 30_000 {
			fmt.Fprintf(&b, `{"ph":%q,"cat":"c","id":1,"ts":%d},`, phase, i)
		}
		return effort.Allocated(func() { _, _, _ = imported(strings.NewReader("[" + b.String())) })
	}
	if thread, category := of("i"), of("n"); category > thread+thread/20 {
		t.Errorf("30,000 instants take %d bytes, those of a category %d", thread, category)
	}
}

// FuzzImport imports any bytes: there is no panic, and what is read is the same through windows of one byte.
func FuzzImport(f *testing.F) {
	for _, data := range hostile() {
		if len(data) < 4096 {
			f.Add([]byte(data))
		}
	}
	f.Add(generated(10))
	f.Fuzz(func(t *testing.T, data []byte) {
		Magic(data)
		view, outcome, err := imported(bytes.NewReader(data))
		again, outcomeAgain, errAgain := imported(oneByte{bytes.NewReader(data)})
		if (err == nil) != (errAgain == nil) {
			t.Fatal(err, errAgain)
		}
		if err != nil {
			return
		}
		if fmt.Sprint(heldtest.All(t, view), outcome) != fmt.Sprint(heldtest.All(t, again), outcomeAgain) {
			t.Fatalf("%v, %v; by single bytes %v, %v", heldtest.All(t, view), outcome, heldtest.All(t, again), outcomeAgain)
		}
	})
}

// oneByte reads single bytes.
type oneByte struct{ *bytes.Reader }

func (o oneByte) Read(p []byte) (int, error) { return o.Reader.Read(p[:min(len(p), 1)]) }
