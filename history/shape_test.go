package history_test

import (
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/internal/effort"
)

// TestShapes_Bytes bounds the bytes of an attribute, with its name and a few states, for each
// number of attributes of a shape: on the heap, and by the history's account.
func TestShapes_Bytes(t *testing.T) {
	if effort.Race {
		t.Skip("the heap of one goroutine is measured")
	}
	const attributes, states, most = 12_000, 3, 160
	least := 1e9
	numbers := []int{24, 32, 48, 63, 64, 65, 66, 80, 127, 128, 129, 200}
	for k := 20; k > 0; k-- {
		numbers = append([]int{k}, numbers...)
	}
	numbers = numbers[:effort.Less(len(numbers), 4)] // the least come first
	for _, k := range numbers {
		names := make([][2]string, attributes)
		for i := range names {
			names[i] = [2]string{letters(i / k), strconv.Itoa(i % k)}
		}
		before := liveHeap()
		h, tx := begun(t)
		for _, name := range names {
			a, err := tx.Attribute(name[0], name[1])
			if err != nil {
				t.Fatal(err)
			}
			for at := range int64(states) {
				if err := tx.Change(at, a, history.Int(at)); err != nil {
					t.Fatal(err)
				}
			}
		}
		v, err := tx.Commit()
		if err != nil {
			t.Fatal(err)
		}
		heap := float64(liveHeap()-before) / float64(v.Len())
		own := float64(h.Size()) / float64(v.Len())
		least = min(least, heap)
		t.Logf("%d of a shape: %.1f bytes on the heap, %.1f by account", k, heap, own)
		if heap > most || own > most || heap > 2*least {
			t.Errorf("%d of a shape: %.1f bytes on the heap, %.1f by account, want at most %d; the least was %.1f", k, heap, own, most, least)
		}
		if own < heap*0.9-5 || own > heap*1.1+5 {
			t.Errorf("%d of a shape: %.1f bytes on the heap, %.1f by account", k, heap, own)
		}
		runtime.KeepAlive(h)
		runtime.KeepAlive(names)
	}
}

// letters returns a name without digits for each number.
func letters(i int) string {
	return strings.Map(func(digit rune) rune { return digit - '0' + 'a' }, strconv.Itoa(i))
}

func liveHeap() int64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// TestShapes_Lanes: attributes share lanes with those of other shapes that have values of the
// same kind. From the 65th on, those of a shape go to lanes of their own. An abort takes their
// places back.
func TestShapes_Lanes(t *testing.T) {
	h, tx := begun(t)
	now := int64(0)
	write := func(path string, v history.Value) {
		t.Helper()
		now++
		a, err := tx.Attribute(strings.Split(path, "/")...)
		if err == nil {
			err = tx.Change(now, a, v)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	commit := func() (lanes []string) {
		t.Helper()
		if _, err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		for _, line := range history.DescribeLanes(h) {
			if lane, slots, ok := strings.Cut(line, ": slots "); ok {
				names := strings.Split(slots, ", ")
				lanes = append(lanes, fmt.Sprint(lane, " of ", len(names), ", the last ", names[len(names)-1]))
			}
		}
		var err error
		if tx, err = h.Begin(); err != nil {
			t.Fatal(err)
		}
		return lanes
	}
	for i := range 60 {
		write(fmt.Sprint("cpu/", i), history.Int(1))
		write(fmt.Sprint("cpu/", i, "/state"), history.String("run"))
	}
	write("disk/0", history.Int(1))
	write("load", history.Float(1))
	want := []string{"lane 0 of 61, the last 60 disk/0", "lane 1 of 60, the last 59 cpu/59/state", "lane 2 of 1, the last 0 load"}
	if diff := cmp.Diff(want, commit()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	for i := 60; i < 70; i++ {
		write(fmt.Sprint("cpu/", i), history.Int(1))
	}
	tx.Abort()
	var err error
	if tx, err = h.Begin(); err != nil {
		t.Fatal(err)
	}
	for i := 60; i < 66; i++ {
		write(fmt.Sprint("cpu/", i), history.Int(1))
	}
	write("disk/1", history.Int(1))
	want = []string{
		"lane 0 of 64, the last 63 cpu/62", want[1], want[2],
		"lane 3 of 2, the last 1 disk/1", "lane 4 of 2, the last 1 cpu/65",
	}
	if diff := cmp.Diff(want, commit()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}
