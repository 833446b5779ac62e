package ihs

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/granarydb/granary/internal/beside"
	"github.com/granarydb/granary/internal/effort"
)

func sharedSet(t testing.TB, name string) *Set {
	t.Helper()
	s, err := Open(strings.TrimSuffix(beside.Data(t, "intervals/"+name+IntervalsSuffix), IntervalsSuffix), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// counts returns the number of intervals of each kind.
func counts(s *Set) (c [kinds]int) {
	for _, k := range s.Kinds {
		c[k]++
	}
	return c
}

// TestRealSets compares the sets with the table that came with the files. Open has checked
// that each key is covered without a gap.
func TestRealSets(t *testing.T) {
	effort.Long(t)
	tests := []struct {
		name            string
		keys, intervals int
		kinds           [kinds]int
		path            string
	}{
		{"many-threads", 58_428, 821_120, [kinds]int{200_931, 517_506, 0, 0, 102_683}, "Threads/4297/Exec_name"},
		{"uneven-streams", 395, 55_046, [kinds]int{9_079, 38_655, 91, 0, 7_221}, "CPUs/2/Current_thread"},
		{"bug446190", 818, 37_467, [kinds]int{7_256, 28_180, 0, 0, 2_031}, "Threads/496"},
		{"flipping-endianness", 363, 58_564, [kinds]int{13_447, 45_030, 0, 0, 87}, "CPUs/0/IRQs"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := sharedSet(t, test.name)
			if s.Header.Keys != test.keys || len(s.Attributes) != test.keys {
				t.Errorf("%d keys, %d attributes, want %d", s.Header.Keys, len(s.Attributes), test.keys)
			}
			if s.Header.Intervals != test.intervals || s.Len() != test.intervals {
				t.Errorf("%d intervals, the header says %d, want %d", s.Len(), s.Header.Intervals, test.intervals)
			}
			if got := counts(s); got != test.kinds {
				t.Errorf("of the kinds %v, want %v", got, test.kinds)
			}
			found := false
			for key := range s.Attributes {
				found = found || strings.Join(s.Path(key), "/") == test.path
			}
			if !found {
				t.Errorf("no attribute %s", test.path)
			}
			again := filepath.Join(t.TempDir(), "again")
			if err := s.save(again); err != nil {
				t.Fatal(err)
			}
			copied, err := Open(again+IntervalsSuffix, Limits{})
			if err != nil {
				t.Fatal(err)
			}
			if !cmp.Equal(s, copied) {
				t.Error("a set that is written and read is another one")
			}
		})
	}
}

// TestSynth compares the smallest model with a computation by hand from its definition.
func TestSynth(t *testing.T) {
	m := Synth{Attributes: 3, Changes: 2}
	p := m.Order()
	s, err := m.Set(Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Check(); err != nil {
		t.Fatal(err)
	}
	want := []Interval{ // in the order of ends; those at 6000 follow
		{Key: p[1], Start: 0, End: 999},
		{Key: p[2], Start: 0, End: 1999},
		{Key: p[0], Start: 0, End: 2999, Kind: KindInt, Word: 1},
		{Key: p[1], Start: 1000, End: 3999, Kind: KindInt, Word: 1},
		{Key: p[2], Start: 2000, End: 4999, Kind: KindInt, Word: 1},
	}
	last := make([]Interval, 3)
	for i, key := range p {
		last[key] = Interval{Key: key, Start: int64(3000 + 1000*i), End: 6000, Kind: KindInt, Word: 2}
	}
	want = append(want, last...)
	var got []Interval
	for i := range s.Len() {
		got = append(got, s.At(i))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	// splitmix64 from 42 begins so, as its authors' code prints it. 13679457532755275413 % 3 =
	// 1: 2 and 1 are swapped; 2949826092126892291 % 2 = 1: no swap.
	if diff := cmp.Diff([]uint32{0, 2, 1}, p); diff != "" {
		t.Errorf("order: -want +got\n%s", diff)
	}
	for _, m := range []Synth{{1, 1}, {1, 9}, {100, 30}, {5000, 2}} {
		s, err := m.Set(Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Check(); err != nil {
			t.Errorf("%v: %v", m, err)
		}
		var b bytes.Buffer
		if err := s.Write(&b, nil); err != nil { // checks S1 for each interval
			t.Errorf("%v: %v", m, err)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	folder := t.TempDir()
	for _, test := range []struct {
		name   string
		limits Limits
		want   error
	}{
		{"synth:10", Limits{}, ErrFormat},
		{"synth:0:1", Limits{}, ErrFormat},
		{"synth:1:0", Limits{}, ErrFormat},
		{"synth:-1:-1", Limits{}, ErrFormat},
		{"synth:a:1", Limits{}, ErrFormat},
		{"synth:1:1:1", Limits{}, ErrFormat},
		{"synth:99999999999:99999999999", Limits{}, ErrLimit},
		{"synth:16777216:9223372036854775807", Limits{Intervals: math.MaxInt}, ErrLimit},
		{"synth:11:1", Limits{Keys: 10}, ErrLimit},
		{"synth:10:10", Limits{Intervals: 108}, ErrLimit},
		{"synth:10:10", Limits{Intervals: 109}, nil},
		{filepath.Join(folder, "none"), Limits{}, os.ErrNotExist},
	} {
		if s, err := Open(test.name, test.limits); !errors.Is(err, test.want) || (err == nil) != (s != nil) {
			t.Errorf("Open(%q) = %v, want %v", test.name, err, test.want)
		}
	}
	name := filepath.Join(folder, "text")
	if err := os.WriteFile(name+IntervalsSuffix, []byte("no gzip, but long enough for its header"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(name, Limits{}); !errors.Is(err, ErrFormat) {
		t.Errorf("no gzip: %v", err)
	}
}

// save writes the files of a set.
func (s *Set) save(name string) error {
	zipped := func(name string, write func(io.Writer) error) error {
		f, err := os.Create(name)
		if err != nil {
			return err
		}
		z := gzip.NewWriter(f)
		return errors.Join(write(z), z.Close(), f.Close())
	}
	return errors.Join(
		zipped(name+IntervalsSuffix, func(w io.Writer) error { return s.Write(w, nil) }),
		zipped(name+AttributesSuffix, func(w io.Writer) error { return WriteAttributes(w, s.Attributes) }),
	)
}

// TestDamagedFiles flips bits of compressed files and truncates them: either there is an
// error, or the damage was irrelevant and the set is the same.
func TestDamagedFiles(t *testing.T) {
	effort.Long(t)
	s, err := Synth{Attributes: 5, Changes: 4}.Set(Limits{})
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "set")
	for _, suffix := range []string{IntervalsSuffix, AttributesSuffix} {
		if err := s.save(name); err != nil {
			t.Fatal(err)
		}
		whole, err := os.ReadFile(name + suffix)
		if err != nil {
			t.Fatal(err)
		}
		try := func(damaged []byte) {
			t.Helper()
			if err := os.WriteFile(name+suffix, damaged, 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := Open(name, Limits{})
			if err == nil && !cmp.Equal(s, got) {
				t.Fatal("a damaged file was read as another set")
			}
			if err != nil && !errors.Is(err, ErrFormat) && !errors.Is(err, ErrLimit) {
				t.Fatalf("a damaged file: %v, want ErrFormat", err)
			}
		}
		for bit := range 8 * len(whole) {
			damaged := bytes.Clone(whole)
			damaged[bit/8] ^= 1 << (bit % 8)
			try(damaged)
		}
		for n := range whole {
			try(whole[:n])
		}
	}
}

// file returns the bytes of a set: a header and rest.
func file(keys, intervals uint64, start, end int64, rest ...byte) []byte {
	b := binary.AppendUvarint([]byte(magic), keys)
	b = binary.AppendUvarint(b, intervals)
	b = binary.LittleEndian.AppendUint64(b, uint64(start))
	b = binary.LittleEndian.AppendUint64(b, uint64(end))
	return append(b, rest...)
}

func TestReaderRefuses(t *testing.T) {
	text := func(n int, b ...byte) []byte { return append(binary.AppendUvarint(nil, uint64(n)), b...) }
	many := bytes.Repeat([]byte{0xff}, 11)
	for _, test := range []struct {
		name string
		in   []byte
		want error
	}{
		{"nothing", nil, io.ErrUnexpectedEOF},
		{"another magic", []byte("IHS2\x00\x00................"), ErrFormat},
		{"ends before it starts", file(0, 0, 1, 0), ErrFormat},
		{"more than 63 bits", file(0, 0, math.MinInt64, math.MaxInt64), ErrFormat},
		{"keys beyond the limit", file(101, 0, 0, 0), ErrLimit},
		{"intervals beyond the limit", file(0, 101, 0, 0), ErrLimit},
		{"a count of 64 bits", file(0, math.MaxUint64, 0, 0), ErrLimit},
		{"a count that does not end", append([]byte(magic), many...), ErrFormat},
		{"one more byte", file(1, 1, 0, 9, 0, 18, 9, 0, 0), ErrFormat},
		{"cut off", file(1, 2, 0, 9, 0, 18, 9, 0), io.ErrUnexpectedEOF},
		{"no such key", file(1, 1, 0, 9, 1, 18, 9, 0), ErrFormat},
		{"end before the one before", file(1, 2, 0, 9, 0, 2, 1, 0, 0, 1, 0, 0), ErrFormat},
		{"after the end", file(1, 1, 0, 9, 0, 20, 0, 0), ErrFormat},
		{"before the start", file(1, 1, 0, 9, 0, 18, 10, 0), ErrFormat},
		{"a length of 64 bits", file(1, 1, 0, 9, slicesOf([]byte{0, 18}, text(-1), []byte{0})...), ErrFormat},
		{"no such kind", file(1, 1, 0, 9, 0, 18, 9, 5), ErrFormat},
		{"an int of 33 bits", file(1, 1, 0, 9, slicesOf([]byte{0, 18, 9, 1}, binary.AppendVarint(nil, 1<<31))...), ErrFormat},
		{"a cut float", file(1, 1, 0, 9, 0, 18, 9, 3, 1, 2, 3), io.ErrUnexpectedEOF},
		{"a cut text", file(1, 1, 0, 9, 0, 18, 9, 4, 3, 'a', 'b'), io.ErrUnexpectedEOF},
		{"a long text", file(1, 1, 0, 9, slicesOf([]byte{0, 18, 9, 4}, text(17))...), ErrLimit},
		{"a text of 64 bits", file(1, 1, 0, 9, slicesOf([]byte{0, 18, 9, 4}, text(-1))...), ErrLimit},
		{"a text that is no UTF-8", file(1, 1, 0, 9, 0, 18, 9, 4, 1, 0xff), ErrFormat},
		{"many texts", file(1, 2, 0, 9, 0, 0, 0, 4, 1, 'a', 0, 2, 0, 4, 1, 'b'), ErrLimit},
	} {
		t.Run(test.name, func(t *testing.T) {
			limits := Limits{Keys: 100, Intervals: 100, Text: 16, Texts: 100}
			s, err := Read(bytes.NewReader(test.in), limits)
			if s != nil || err == nil {
				t.Fatalf("read as %v, %v", s, err)
			}
			if !errors.Is(err, test.want) {
				t.Errorf("%v, want %v", err, test.want)
			}
			if errors.Is(test.want, io.ErrUnexpectedEOF) && !errors.Is(err, ErrFormat) {
				t.Errorf("%v is no ErrFormat", err)
			}
		})
	}
}

func slicesOf(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

// TestErrorsOfTheReaderBelow: errors of the reader below pass through, without ErrFormat.
func TestErrorsOfTheReaderBelow(t *testing.T) {
	broken := errors.New("disk on fire")
	whole := file(2, 3, 0, 9, 0, 0, 0, 1, 2, 1, 18, 9, 4, 1, 'a', 0, 0, 8, 3, 1, 2, 3, 4, 5, 6, 7, 8)
	if s, err := Read(iotest.OneByteReader(bytes.NewReader(whole)), Limits{}); err != nil || s.Check() != nil {
		t.Fatal(err, s.Check())
	}
	for n := range len(whole) + 1 {
		_, err := Read(io.MultiReader(bytes.NewReader(whole[:n]), iotest.ErrReader(broken)), Limits{})
		if !errors.Is(err, broken) || errors.Is(err, ErrFormat) {
			t.Errorf("after %d bytes: %v", n, err)
		}
	}
	names := "key\tparent\tname\n0\t-1\ta\n"
	for n := range len(names) + 1 {
		_, err := ReadAttributes(io.MultiReader(strings.NewReader(names[:n]), iotest.ErrReader(broken)), 1, Limits{})
		if !errors.Is(err, broken) || errors.Is(err, ErrFormat) {
			t.Errorf("after %d bytes of names: %v", n, err)
		}
	}
	s, err := Synth{Attributes: 50, Changes: 1000}.Set(Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Write(brokenWriter{broken}, nil); !errors.Is(err, broken) {
		t.Errorf("writing: %v", err)
	}
	if err := WriteAttributes(brokenWriter{broken}, s.Attributes); !errors.Is(err, broken) {
		t.Errorf("writing names: %v", err)
	}
}

type brokenWriter struct{ err error }

func (w brokenWriter) Write([]byte) (int, error) { return 0, w.err }

func TestWriterRefuses(t *testing.T) {
	header := Header{Keys: 2, Intervals: 2, Start: 10, End: 19}
	for name, iv := range map[string]Interval{
		"no such key":             {Key: 2, Start: 10, End: 15},
		"before the start":        {Start: 9, End: 15},
		"after the end":           {Start: 10, End: 20},
		"ends before it starts":   {Start: 16, End: 15},
		"ends before the last":    {Start: 10, End: 11},
		"no such kind":            {Start: 10, End: 15, Kind: kinds},
		"an int of 33 bits":       {Start: 10, End: 15, Kind: KindInt, Word: 1 << 31},
		"no UTF-8":                {Start: 10, End: 15, Kind: KindString, Text: "\xff"},
		"a text beyond the limit": {Start: 10, End: 15, Kind: KindString, Text: strings.Repeat("a", 64<<10+1)},
	} {
		var b bytes.Buffer
		w, err := NewWriter(&b, header)
		if err != nil {
			t.Fatal(err)
		}
		good := Interval{Key: 1, Start: 10, End: 12, Kind: KindInt, Word: math.MaxUint64} // -1
		if err := w.Write(good); err != nil {
			t.Fatal(err)
		}
		if err := w.Write(iv); !errors.Is(err, ErrFormat) && !errors.Is(err, ErrLimit) {
			t.Errorf("%s: %v", name, err)
		}
		if err := w.Close(); !errors.Is(err, ErrFormat) {
			t.Errorf("%s: closed with one interval of two: %v", name, err)
		}
		if err := w.Write(Interval{Key: 1, Start: 13, End: 19}); err != nil {
			t.Errorf("%s: an error had an effect: %v", name, err)
		}
		if err := w.Write(Interval{Key: 1, Start: 13, End: 19}); !errors.Is(err, ErrFormat) {
			t.Errorf("%s: one too many: %v", name, err)
		}
	}
	for _, h := range []Header{{Keys: -1}, {Intervals: -1}, {Start: 1}, {Start: math.MinInt64, End: 0}} {
		if _, err := NewWriter(io.Discard, h); !errors.Is(err, ErrFormat) {
			t.Errorf("%v: %v", h, err)
		}
	}
}

func TestAttributes(t *testing.T) {
	attributes := []Attribute{
		{NoParent, ""}, {0, ""}, {0, "a/b"}, {1, "*"}, {NoParent, ".."}, {4, "\x00"}, {4, "tab\there"}, {NoParent, "é\r"}, {7, strings.Repeat("n", 64<<10)},
	}
	var b bytes.Buffer
	if err := WriteAttributes(&b, attributes); err != nil {
		t.Fatal(err)
	}
	written := b.String()
	for _, text := range []string{written, strings.TrimSuffix(written, "\n")} {
		got, err := ReadAttributes(strings.NewReader(text), len(attributes), Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(attributes, got); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
	}
	for _, a := range [][]Attribute{{{0, "a"}}, {{-2, "a"}}, {{NoParent, "a\nb"}}, {{NoParent, "\xff"}}} {
		b.Reset()
		if err := WriteAttributes(&b, a); !errors.Is(err, ErrFormat) || b.Len() > 0 {
			t.Errorf("%v: %v, %d bytes written", a, err, b.Len())
		}
	}
	const head = "k\tp\tn\n"
	for name, test := range map[string]struct {
		text string
		keys int
		want error
	}{
		"nothing":           {"", 0, io.ErrUnexpectedEOF},
		"cut off":           {head + "0\t-1\ta\n", 2, io.ErrUnexpectedEOF},
		"one more":          {head + "0\t-1\ta\n", 0, ErrFormat},
		"two columns":       {head + "0\t-1\n", 1, ErrFormat},
		"another key":       {head + "1\t-1\ta\n", 1, ErrFormat},
		"a key with a sign": {head + "+0\t-1\ta\n", 1, ErrFormat},
		"its own parent":    {head + "0\t0\ta\n", 1, ErrFormat},
		"below the root":    {head + "0\t-2\ta\n", 1, ErrFormat},
		"no parent":         {head + "0\t\ta\n", 1, ErrFormat},
		"a parent of zeros": {head + "0\t-01\ta\n", 1, ErrFormat},
		"no UTF-8":          {head + "0\t-1\t\xff\n", 1, ErrFormat},
		"twice":             {head + "0\t-1\ta\n1\t-1\ta\n", 2, ErrFormat},
		"a long name":       {head + "0\t-1\t" + strings.Repeat("a", 200) + "\n", 1, ErrLimit},
		"long names":        {head + "0\t-1\t" + strings.Repeat("a", 60) + "\n1\t0\t" + strings.Repeat("a", 60) + "\n", 2, ErrLimit},
		"a long heading":    {strings.Repeat("a", 200_000), 0, ErrLimit},
		"keys":              {head, 11, ErrLimit},
	} {
		got, err := ReadAttributes(strings.NewReader(test.text), test.keys, Limits{Keys: 10, Text: 64, Texts: 120})
		if !errors.Is(err, test.want) || got != nil {
			t.Errorf("%s: %v, %v, want %v", name, got, err, test.want)
		}
	}
}

// TestCheck finds gaps, overlaps and duplicates.
func TestCheck(t *testing.T) {
	good := func() *Set {
		s, err := Synth{Attributes: 4, Changes: 3}.Set(Limits{})
		if err != nil || s.Check() != nil {
			t.Fatal(err, s.Check())
		}
		return s
	}
	for name, spoil := range map[string]func(*Set){
		"a gap":          func(s *Set) { s.Starts[5]++ },
		"an overlap":     func(s *Set) { s.Starts[5]-- },
		"another key":    func(s *Set) { s.Keys[5] ^= 1 },
		"a late start":   func(s *Set) { s.Starts[0]++ },
		"an early end":   func(s *Set) { s.Ends[s.Len()-1]-- },
		"one more key":   func(s *Set) { s.Header.Keys++ },
		"many keys":      func(s *Set) { s.Header.Keys = math.MaxInt },
		"a longer one":   func(s *Set) { s.Header.End++ },
		"an earlier one": func(s *Set) { s.Header.Start-- },
	} {
		s := good()
		spoil(s)
		if err := s.Check(); !errors.Is(err, ErrFormat) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestRoundTrip writes random intervals and reads them (S3).
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bound := rapid.OneOf(rapid.Int64Range(-1000, 1000), rapid.SampledFrom([]int64{math.MinInt64, -1, 0, math.MaxInt64}))
		h := Header{Keys: rapid.IntRange(1, 1000).Draw(t, "keys"), Start: bound.Draw(t, "start"), End: bound.Draw(t, "end")}
		if h.Start > h.End || h.End-h.Start < 0 {
			h.Start, h.End = min(h.Start, h.End), min(h.Start, h.End)
		}
		var want []Interval
		for last := h.Start; rapid.IntRange(0, 9).Draw(t, "more") > 0; {
			iv := Interval{Key: uint32(rapid.IntRange(0, h.Keys-1).Draw(t, "key"))}
			iv.End = rapid.Int64Range(last, h.End).Draw(t, "to")
			iv.Start = rapid.Int64Range(h.Start, iv.End).Draw(t, "from")
			iv.Kind = Kind(rapid.IntRange(0, int(kinds)-1).Draw(t, "kind"))
			switch iv.Kind {
			case KindInt:
				iv.Word = uint64(int64(rapid.Int32().Draw(t, "int")))
			case KindLong:
				iv.Word = rapid.Uint64().Draw(t, "long")
			case KindFloat:
				iv.Word = math.Float64bits(rapid.Float64().Draw(t, "float"))
			case KindString:
				iv.Text = rapid.StringN(0, 3, 300).Draw(t, "text")
			}
			want, last = append(want, iv), iv.End
		}
		h.Intervals = len(want)
		var b bytes.Buffer
		w, err := NewWriter(&b, h)
		if err != nil {
			t.Fatal(err)
		}
		for _, iv := range want {
			if err := w.Write(iv); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		d, err := NewReader(&b, Limits{})
		if err != nil || d.Header() != h {
			t.Fatalf("header %v, %v, want %v", d.Header(), err, h)
		}
		for i, iv := range want {
			got, err := d.Next()
			if iv.Kind == KindString {
				iv.Word = got.Word
			}
			if err != nil || got != iv {
				t.Fatalf("interval %d is %v, %v, want %v", i, got, err, iv)
			}
		}
		for range 2 {
			if _, err := d.Next(); !errors.Is(err, io.EOF) {
				t.Fatalf("after the last: %v", err)
			}
		}
	})
}

// TestMemoryFollowsWhatWasRead: high counts in a short input allocate little (S2).
func TestMemoryFollowsWhatWasRead(t *testing.T) {
	in := file(1<<24, 1<<26, 0, 9, 0, 18, 9, 0)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := Read(bytes.NewReader(in), Limits{}); err == nil {
		t.Fatal("read")
	}
	runtime.ReadMemStats(&after)
	allocated := after.TotalAlloc - before.TotalAlloc
	if allocated > 4<<20 {
		t.Errorf("%d bytes allocated for a file of %d", allocated, len(in))
	}
}
