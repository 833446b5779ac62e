package dict

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/granarydb/granary/internal/effort"
)

func mustIntern(t testing.TB, d *Values, value string) uint32 {
	t.Helper()
	code, err := d.Intern([]byte(value))
	if err != nil {
		t.Fatal(err)
	}
	return code
}

func TestValues(t *testing.T) {
	values := []string{
		"a", "", "b", "a\x00", "\x00", "ab",
		string(make([]byte, lastBlock-1)), string(make([]byte, lastBlock)), string(make([]byte, lastBlock+1)),
		string(make([]byte, 5*lastBlock)), "after a big one",
	}
	d := NewValues(1)
	for i, value := range values {
		if code := d.Find([]byte(value)); code != 0 {
			t.Errorf("value %d: Find() = %d before Intern", i, code)
		}
		for range 2 {
			if code := mustIntern(t, d, value); int(code) != i+1 {
				t.Errorf("value %d: Intern() = %d, want %d", i, code, i+1)
			}
		}
		if d.Len() != i+1 {
			t.Errorf("Len() = %d, want %d", d.Len(), i+1)
		}
	}
	for i, value := range values {
		if code := d.Find([]byte(value)); int(code) != i+1 {
			t.Errorf("value %d: Find() = %d, want %d", i, code, i+1)
		}
		if got := d.Value(uint32(i + 1)); string(got) != value || got == nil {
			t.Errorf("value %d: Value() has %d bytes, want %d", i, len(got), len(value))
		}
	}
}

func TestValues_Empty(t *testing.T) {
	d := NewValues(1)
	if code := d.Find(nil); code != 0 {
		t.Errorf("Find() = %d, want 0", code)
	}
	if value := d.Value(0); value != nil {
		t.Errorf("Value(0) = %q, want nil", value)
	}
	if d.Len() != 0 || d.Size() != 0 {
		t.Errorf("Len() = %d, Size() = %d; want 0, 0", d.Len(), d.Size())
	}
}

// E3: a dictionary is a map from values to codes in the order of arrival.
func TestValues_Model(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := NewValues(rapid.Uint64().Draw(t, "seed"))
		model := map[string]uint32{}
		for _, value := range rapid.SliceOf(rapid.StringN(0, 3, -1)).Draw(t, "values") {
			if code := d.Find([]byte(value)); code != model[value] {
				t.Fatalf("Find(%q) = %d, want %d", value, code, model[value])
			}
			code, err := d.Intern([]byte(value))
			if err != nil {
				t.Fatal(err)
			}
			if model[value] == 0 {
				model[value] = uint32(len(model) + 1)
			}
			if code != model[value] || d.Len() != len(model) {
				t.Fatalf("Intern(%q) = %d of %d, want %d of %d", value, code, d.Len(), model[value], len(model))
			}
		}
		for value, code := range model {
			if got := string(d.Value(code)); got != value {
				t.Fatalf("Value(%d) = %q, want %q", code, got, value)
			}
		}
	})
}

// Identity is exact: values with the same hash have different codes.
func TestValues_TellsCollisionsApart(t *testing.T) {
	d := NewValues(1)
	byHash := map[uint32]string{}
	pairs := 0
	for i := 0; i < 500_000 && pairs < 4; i++ {
		value := fmt.Sprintf("value %d", i)
		hash := d.hash([]byte(value))
		other, collides := byHash[hash]
		byHash[hash] = value
		if !collides {
			continue
		}
		pairs++
		first := mustIntern(t, d, other)
		if code := d.Find([]byte(value)); code != 0 {
			t.Errorf("Find(%q) = %d, the code of %q", value, code, other)
		}
		second := mustIntern(t, d, value)
		if got := [2]string{string(d.Value(first)), string(d.Value(second))}; got != [2]string{other, value} {
			t.Errorf("values %q, want %q and %q", got, other, value)
		}
	}
	if pairs == 0 {
		t.Fatal("no two values have the same hash: nothing was tested")
	}
}

// E3: the results of Value keep their place and content while the dictionary grows through
// many blocks and sizes of the hash table.
func TestValues_Grows(t *testing.T) {
	const n = 20_000
	d := NewValues(1)
	value := func(i int) string { return fmt.Sprintf("%0*d", 8+i%60, i) }
	held := make([][]byte, n)
	for i := range n {
		code := mustIntern(t, d, value(i))
		if int(code) != i+1 {
			t.Fatalf("Intern() = %d, want %d", code, i+1)
		}
		held[i] = d.Value(code)
	}
	for i, old := range held {
		now := d.Value(uint32(i + 1))
		if string(old) != value(i) || &old[0] != &now[0] {
			t.Fatalf("value %d was %q, is %q; moved: %v", i, old, now, &old[0] != &now[0])
		}
		if int(d.Find([]byte(value(i)))) != i+1 {
			t.Fatalf("value %d is not found", i)
		}
	}
}

// E2: the dictionary keeps a copy, and appending to a value does not write into the next one.
func TestValues_SharesNothing(t *testing.T) {
	d := NewValues(1)
	given := []byte("first")
	code, err := d.Intern(given)
	if err != nil {
		t.Fatal(err)
	}
	copy(given, "XXXXX")
	next := mustIntern(t, d, "second")
	_ = append(d.Value(code), "YYYYYY"...)
	if got := [2]string{string(d.Value(code)), string(d.Value(next))}; got != [2]string{"first", "second"} {
		t.Errorf("values %q", got)
	}
}

// E3 under concurrency: equal values get equal codes, codes are dense, and a
// reader may ask for every code up to Len.
func TestValues_Concurrent(t *testing.T) {
	const writers, values = 8, 3000
	d := NewValues(1)
	codes := make([][values]uint32, writers)
	done := make(chan struct{})
	var writing, reading sync.WaitGroup
	for w := range writers {
		writing.Go(func() {
			for _, i := range rand.New(rand.NewPCG(uint64(w), 0)).Perm(values) {
				code, err := d.Intern([]byte(fmt.Sprint("value ", i)))
				if err != nil {
					t.Error(err)
				}
				codes[w][i] = code
			}
		})
	}
	for range 2 {
		reading.Go(func() {
			for last := false; !last; {
				select {
				case <-done:
					last = true
				default:
				}
				for code := d.Len(); code > 0; code -= 7 {
					if value := d.Value(uint32(code)); !bytes.HasPrefix(value, []byte("value ")) {
						t.Errorf("Value(%d) = %q", code, value)
					}
				}
			}
		})
	}
	writing.Wait()
	close(done)
	reading.Wait()

	seen := map[uint32]bool{}
	for i, code := range codes[0] {
		if code < 1 || code > values || seen[code] {
			t.Fatalf("value %d has code %d, out of 1..%d or twice", i, code, values)
		}
		seen[code] = true
		if got := string(d.Value(code)); got != fmt.Sprint("value ", i) {
			t.Fatalf("Value(%d) = %q, want value %d", code, got, i)
		}
	}
	for w := range codes {
		if diff := cmp.Diff(codes[0], codes[w]); diff != "" {
			t.Errorf("codes of writers 0 and %d differ:\n%s", w, diff)
		}
	}
	if d.Len() != values {
		t.Errorf("Len() = %d, want %d", d.Len(), values)
	}
}

// E4: readers get through while a writer holds the locks.
func TestValues_ReadersTakeNoLock(t *testing.T) {
	d := NewLists(1)
	element := mustElement(t, d, uuidOf(1), "record")
	list, err := d.InternList([]uint32{element})
	if err != nil {
		t.Fatal(err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.records.mu.Lock()
	defer d.records.mu.Unlock()
	done := make(chan struct{})
	go func() {
		defer close(done)
		d.Element(element)
		d.FindElement(uuidOf(1))
		d.FindList([]uuid.UUID{uuidOf(1)})
		if codes, err := d.InternLists(nil, [][]uuid.UUID{{uuidOf(1)}}); err != nil || codes[0] != list {
			t.Errorf("InternLists() = %v, %v; want %d", codes, err, list)
		}
		d.UUIDs(nil, list)
		d.List(nil, list)
		d.listLen(list)
		d.Record(element)
		d.Len()
		d.Elements()
	}()
	<-done // a reader that waits for a lock runs into the timeout of go test
}

// Size is within a tenth of the measured heap.
func TestValues_SizeIsHeap(t *testing.T) {
	for _, tt := range []struct{ dicts, values int }{{200, 0}, {200, 1}, {50, 300}, {1, 50_000}} {
		t.Run(fmt.Sprintf("values=%d", tt.values), func(t *testing.T) {
			dicts := make([]*Values, tt.dicts)
			before := heap()
			size := 0
			for i := range dicts {
				dicts[i] = NewValues(1)
				for k := range tt.values {
					mustIntern(t, dicts[i], fmt.Sprintf("a value of some length, number %d", k))
				}
				size += dicts[i].Size()
			}
			grown := heap() - before - tt.dicts*128 // the Values itself
			if slack := size/10 + 64<<10; size < grown-slack || size > grown+slack {
				t.Errorf("Size() adds up to %d, the heap grew by %d", size, grown)
			}
			runtime.KeepAlive(dicts)
		})
	}
}

func heap() int {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int(stats.HeapAlloc)
}

// ErrFull means that nothing was added. Nobody writes to the value, so it
// costs address space, not memory.
func TestValues_Full(t *testing.T) {
	if testing.Short() || math.MaxInt == math.MaxInt32 {
		t.Skip("needs 2 GiB of address space")
	}
	value := make([]byte, math.MaxInt32+1)
	d := NewValues(1)
	if code, err := d.Intern(value); !errors.Is(err, ErrFull) || code != 0 {
		t.Errorf("Intern() = %d, %v; want 0, ErrFull", code, err)
	}
	if d.Len() != 0 {
		t.Errorf("%d values after an error", d.Len())
	}
	if code := mustIntern(t, d, "next"); code != 1 {
		t.Errorf("Intern() after an error = %d, want 1", code)
	}
	lists := NewLists(1)
	if _, err := lists.InternElement(uuidOf(1), value); !errors.Is(err, ErrFull) {
		t.Errorf("record beyond 2^31 bytes: %v, want ErrFull", err)
	}
	if got := lists.Record(mustElement(t, lists, uuidOf(1), "small")); string(got) != "small" {
		t.Errorf("record after an error = %q, want %q", got, "small")
	}
}

func TestValues_HitsWithoutAllocating(t *testing.T) {
	d := NewValues(1)
	value := []byte("sample_type=cpu")
	code := mustIntern(t, d, string(value))
	for name, use := range map[string]func(){
		"Intern": func() { _, _ = d.Intern(value) },
		"Find":   func() { d.Find(value) },
		"Value":  func() { d.Value(code) },
	} {
		if n := testing.AllocsPerRun(100, use); n != 0 {
			t.Errorf("%s allocates %v times, want 0", name, n)
		}
	}
}

// Need bounds the growth of the dictionary, in every state of its pages, blocks and slots, and
// does not exceed it by much.
func TestValues_Need(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	dicts := effort.Less(200, 10)
	if effort.Race {
		dicts = 40
	}
	for range dicts {
		d := NewValues(1)
		for range 30 {
			values := make([][]byte, 1+rng.IntN(1<<rng.IntN(10)))
			longest, bytes := 1<<rng.IntN(12), 0
			for i := range values {
				values[i] = make([]byte, rng.IntN(longest))
				for k := range values[i] {
					values[i][k] = byte(rng.Uint32())
				}
				bytes += len(values[i])
			}
			before, need := d.Size(), d.Need(len(values), bytes)
			for _, v := range values {
				mustIntern(t, d, string(v))
			}
			if grew := d.Size() - before; grew > need {
				t.Fatalf("%d values of %d bytes: grew by %d, Need said %d", len(values), bytes, grew, need)
			}
			if most := 4*bytes + 64*len(values) + 2*lastBlock + 4*len(d.slots) + 4096; need > most {
				t.Fatalf("%d values of %d bytes: Need said %d, want at most %d", len(values), bytes, need, most)
			}
		}
		if d.Need(0, 0) != 0 {
			t.Errorf("Need(0, 0) = %d", d.Need(0, 0))
		}
	}
}
