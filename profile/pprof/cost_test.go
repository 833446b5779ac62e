//go:build !race

// The race detector adds bytes to every allocation, and these tests count them.

package pprof

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"strings"
	"testing"

	pprof "github.com/google/pprof/profile"

	"github.com/granarydb/granary/internal/effort"
)

// costAndUse returns the bytes counted for a profile and those that its decoding allocates.
// The profile is within the limits.
func costAndUse(t *testing.T, data string) (counted, used int) {
	t.Helper()
	plain := []byte(data)
	c := costOf(data)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var f Flat
	c.reserve(&f)
	err := Decode(data, Limits{}.WithDefaults(), &f)
	p, errWant := pprof.ParseUncompressed(plain)
	runtime.ReadMemStats(&after)
	if err != nil || errWant != nil || p.CheckValid() != nil {
		t.Fatalf("decoder: %v, google/pprof: %v", err, errWant)
	}
	return c.total(), int(after.TotalAlloc - before.TotalAlloc)
}

// C3: what google/pprof and the decoder allocate is at most what was counted before. The count
// is at most twice as much.
func TestCostOfProfiles(t *testing.T) {
	for i, data := range plainProfiles(t) {
		if counted, used := costAndUse(t, string(data)); used > counted+8<<10 || counted > 2*used+8<<10 {
			t.Errorf("profile %d of %d bytes takes %d bytes, counted %d", i, len(data), used, counted)
		}
	}
}

// C3: the same holds for profiles of one kind of part, of which some are counted too high.
func TestCostOfParts(t *testing.T) {
	effort.Long(t)
	entry := func(field byte, parts ...string) string {
		data := strings.Join(parts, "")
		return string(binary.AppendUvarint([]byte{field<<3 | wireBytes}, uint64(len(data)))) + data
	}
	number := func(field byte, v int) string { return string(binary.AppendUvarint([]byte{field << 3}, uint64(v))) }
	tables := entry(1, "\x08\x01") + entry(6) + entry(6, "n") + entry(5, "\x08\x01") + entry(4, "\x08\x01\x22\x02\x08\x01")
	for i := range 310 {
		tables += entry(6, fmt.Sprint("k", i))
	}
	parts := map[string]func(i int) string{
		"type of the period": func(int) string { return entry(11) },
		"comment":            func(int) string { return number(13, 1) },
		"packed comments":    func(int) string { return entry(13, "\x01\x01\x01") },
		"string":             func(int) string { return entry(6, "a string of some length") },
		"mapping":            func(i int) string { return entry(3, number(1, i+1)) },
		"mapping of any id":  func(i int) string { return entry(3, number(1, 1<<30-i)) },
		"function":           func(i int) string { return entry(5, number(1, 1<<20+i)) },
		"location":           func(i int) string { return entry(4, number(1, 1<<20+i)) },
		"lines":              func(i int) string { return entry(4, number(1, 1<<20+i), strings.Repeat("\x22\x02\x08\x01", i%40)) },
		"sample":             func(int) string { return entry(2, "\x08\x01\x10\x01") },
	}
	for _, n := range []int{0, 1, 2, 3, 5, 8, 9, 10, 17, 18, 33, 40, 300} {
		stack := strings.Repeat("\x01", 3*n)
		parts[fmt.Sprint("stack of ", 3*n)] = func(int) string { return entry(2, "\x10\x01", entry(1, stack)) }
		parts[fmt.Sprint("stack one by one of ", n)] = func(int) string { return entry(2, "\x10\x01", strings.Repeat("\x08\x01", n)) }
		parts[fmt.Sprint("stack in pieces, ", n)] = func(int) string { return entry(2, "\x10\x01", strings.Repeat("\x0a\x03\x01\x01\x01", n)) }
		for name, label := range map[string]func(k int) string{
			"empty labels":         func(int) string { return entry(3) },
			"labels":               func(k int) string { return entry(3, number(1, k+2), number(2, 1)) },
			"labels of a name":     func(int) string { return entry(3, number(1, 1), number(2, 1)) },
			"numbers":              func(k int) string { return entry(3, number(1, k+2), number(3, 1)) },
			"numbers of a name":    func(int) string { return entry(3, number(1, 1), number(3, 1)) },
			"units":                func(k int) string { return entry(3, number(1, k+2), number(4, 1)) },
			"units of a name":      func(int) string { return entry(3, number(1, 1), number(3, 1), number(4, 1)) },
			"numbers, then a unit": func(k int) string { return entry(3, number(1, 1), number(3, 1), number(4, min(k/max(n-1, 1), 1))) },
			"every second a unit":  func(k int) string { return entry(3, number(1, 1), number(3, 1), number(4, k%2)) },
			"of all kinds": func(k int) string {
				return entry(3, number(1, k/3+2), number(2, k%2), number(3, k%3), number(4, k%5%2))
			},
		} {
			labels := ""
			for k := range n {
				labels += label(k)
			}
			parts[fmt.Sprint(n, " ", name)] = func(int) string { return entry(2, "\x08\x01\x10\x01", labels) }
		}
	}
	for name, part := range parts {
		for _, n := range []int{1, 300, 1_500} {
			data := strings.Builder{}
			data.WriteString(tables)
			for i := 0; i < n && data.Len() < 512<<10; i++ {
				data.WriteString(part(i))
			}
			if counted, used := costAndUse(t, data.String()); used > counted+8<<10 || counted > 4*used+8<<10 {
				t.Errorf("%d times %s: takes %d bytes, counted %d", n, name, used, counted)
			}
		}
	}
}
