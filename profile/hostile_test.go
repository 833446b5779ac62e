package profile

import (
	"errors"
	"flag"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	pprof "github.com/google/pprof/profile"
	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/internal/gzipped"
	"github.com/granarydb/granary/internal/rows"
	codec "github.com/granarydb/granary/profile/pprof"
	"github.com/granarydb/granary/schema"
)

// P5: small profiles that would expand to gigabytes are refused before they are expanded.
func TestAmplification(t *testing.T) {
	effort.Slow(t)
	if effort.Race {
		t.Skip("the race detector has a heap of its own, and one goroutine inserts")
	}
	deep := make([]*pprof.Location, 16_000)
	long := strings.Repeat("x", 60_000)
	many := func(n int, sample func(i int) *pprof.Sample) *pprof.Profile {
		p := makeProfile(start, "n:count", stack{frames: "f", values: []int64{1}})
		p.Sample = nil
		for i := range n {
			s := sample(i)
			s.Value = []int64{1}
			if s.Location == nil {
				s.Location = p.Location[:1]
			}
			p.Sample = append(p.Sample, s)
		}
		return p
	}
	for _, tc := range []struct {
		name string
		make func() *pprof.Profile
	}{
		{"one long name on many lines", func() *pprof.Profile {
			p := many(1, func(int) *pprof.Sample { return &pprof.Sample{} })
			p.Function[0].Name = long
			for range 200_000 {
				p.Location[0].Line = append(p.Location[0].Line, pprof.Line{Function: p.Function[0]})
			}
			return p
		}},
		{"a label of its own for each sample", func() *pprof.Profile {
			return many(40_000, func(i int) *pprof.Sample {
				return &pprof.Sample{Label: map[string][]string{fmt.Sprint("k", i): {"v"}}}
			})
		}},
		{"a long label on each sample", func() *pprof.Profile {
			return many(200_000, func(int) *pprof.Sample { return &pprof.Sample{Label: map[string][]string{"k": {long}}} })
		}},
		{"many values of one label", func() *pprof.Profile {
			return many(1, func(int) *pprof.Sample {
				return &pprof.Sample{NumLabel: map[string][]int64{"k": slices.Repeat([]int64{1}, rows.MaxValues+1)}}
			})
		}},
		{"a unit of its own for each sample", func() *pprof.Profile {
			return many(20_000, func(i int) *pprof.Sample {
				return &pprof.Sample{NumLabel: map[string][]int64{"k": {1}}, NumUnit: map[string][]string{"k": {fmt.Sprint("u", i)}}}
			})
		}},
		{"a long name in many types", func() *pprof.Profile {
			p := many(0, nil)
			p.SampleType = nil
			for i := range 10_000 {
				p.SampleType = append(p.SampleType, &pprof.ValueType{Type: long, Unit: fmt.Sprint(i)})
			}
			return p
		}},
		{"deep stacks", func() *pprof.Profile {
			p := many(3_900, func(int) *pprof.Sample { return &pprof.Sample{Location: deep} })
			for i := range deep {
				deep[i] = p.Location[0]
			}
			return p
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			db := testDB(t, Options{})
			p := tc.make()
			refused(t, ErrTooLarge, 64<<20, func() error {
				_, err := db.Insert(ctx, p, InsertOptions{})
				return err
			})
			_, plain := encoded(t, p)
			refused(t, ErrTooLarge, 64<<20+8*len(plain), func() error {
				_, err := db.InsertEncoded(ctx, plain, InsertOptions{})
				return err
			})
		})
	}
	for _, p := range []*pprof.Profile{nil, {SampleType: []*pprof.ValueType{nil}}} {
		if _, err := testDB(t, Options{}).Insert(ctx, p, InsertOptions{}); !errors.Is(err, ErrProfile) {
			t.Errorf("nil: %v", err)
		}
	}
}

// refused checks that f returns the error and allocates at most the given number of bytes,
// including those freed again.
func refused(t *testing.T, want error, most int, f func() error) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err := f()
	runtime.ReadMemStats(&after)
	if !errors.Is(err, want) {
		t.Errorf("error %v, want %v", err, want)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > uint64(most) && !effort.Race { // the detector drops what is put into pools, at random
		t.Errorf("to refuse it took %d MiB, want at most %d", used>>20, most>>20)
	}
}

// P5: a kilobyte of gzip that holds a megabyte of the smallest parts of a profile costs a few
// times that megabyte.
func TestTinyParts(t *testing.T) {
	effort.Long(t)
	const n = 500_000
	many := func(part string, n int) string { return strings.Repeat(part, n/len(part)) }
	entries := func(field uint64, of func(i uint64) message) message {
		var m message
		for i := range uint64(n / 10) {
			m = m.bytes(field, of(i+1).string())
		}
		return m
	}
	for _, tc := range []struct {
		name string
		data message
		want error
	}{
		{"nothing but zeros", make(message, 2*n), ErrProfile},
		{"strings", message(many("\x32\x00", 2*n)), ErrProfile},
		{"types", append(smallest(), many("\x0a\x00", 2*n)...), ErrProfile},
		{"samples", append(smallest(), many("\x12\x00", 2*n)...), ErrProfile},
		{"mappings", append(smallest(), many("\x1a\x00", 2*n)...), ErrProfile},
		{"locations", append(smallest(), many("\x22\x00", 2*n)...), ErrProfile},
		{"functions", append(smallest(), many("\x2a\x00", 2*n)...), ErrProfile},
		{"comments", append(smallest(), many("\x68\x09", 2*n)...), ErrProfile},
		{"lines", smallest().bytes(fieldLocation, "\x08\x02"+many("\x22\x00", 2*n)), ErrProfile},
		{"lines of a function", smallest().bytes(fieldLocation, "\x08\x02"+many("\x22\x02\x08\x01", 2*n)), ErrTooLarge},
		{"packed locations", smallest().bytes(fieldSample, message{}.bytes(sampleStack, many("\x01", 2*n)).string()), ErrTooLarge},
		{"locations one by one", smallest().bytes(fieldSample, many("\x08\x01", 2*n)), ErrTooLarge},
		{"packed values", smallest().bytes(fieldSample, message{}.bytes(sampleValues, many("\x01", 2*n)).string()), ErrProfile},
		{"values one by one", smallest().bytes(fieldSample, many("\x10\x01", 2*n)), ErrProfile},
		{"labels without a value", smallest().bytes(fieldSample, many("\x1a\x00", 2*n)), ErrProfile},
		{"labels", smallest().bytes(fieldSample, "\x10\x01"+many("\x1a\x04\x08\x01\x10\x01", 2*n)), ErrTooLarge},
		{"mappings in no order", entries(fieldMapping, func(i uint64) message { return message{}.number(1, i<<8) }), ErrProfile},
	} {
		t.Run(tc.name, func(t *testing.T) {
			db := testDB(t, Options{})
			zipped := gzipped.Of(t, tc.data)
			most := 48 * len(tc.data)
			for range 2 { // with new memory, and with that of the previous insert
				refused(t, tc.want, most, func() error {
					_, err := db.InsertEncoded(ctx, zipped, InsertOptions{})
					return err
				})
			}
		})
	}
}

// hostileSize is small by default.
var hostileSize = flag.Int("hostile.size", effort.Part(256<<10, 16), "bytes of each bomb of TestBombs, decompressed; at most 67108864")

// maxParsed bounds the bytes of a bomb that google/pprof parses, because it takes a hundred times as many.
const maxParsed = 4 << 20

// P5: no profile of 64 MiB takes more than 1 GiB or 10 s to insert as bytes, with Deltas or without, whatever it
// consists of. A bomb of at most maxParsed bytes is also inserted as google/pprof parses it.
func TestBombs(t *testing.T) {
	effort.Slow(t)
	if effort.Race {
		t.Skip("the race detector has a heap of its own, and one goroutine inserts")
	}
	const most, longest = 1 << 30, 10 * time.Second
	now := InsertOptions{Time: time.Unix(0, start)}
	for _, tc := range bombs() {
		t.Run(tc.name, func(t *testing.T) {
			plain := tc.make(*hostileSize - (*hostileSize)/100)
			zipped := gzipped.Of(t, plain)
			try := func(way string, f func() error) {
				var err error
				peak, took := peakOf(t, func() { err = f() })
				t.Logf("%-13s peak %4d MiB, %5d ms: %v", way, peak>>20, took.Milliseconds(), err)
				if peak > most || took > longest {
					t.Errorf("%s: the heap grew by %d MiB in %v, want at most %d MiB in %v", way, peak>>20, took, most>>20, longest)
				}
				if err != nil && errors.Is(err, ErrProfile) == errors.Is(err, ErrTooLarge) {
					t.Errorf("%s: error %v is not of one kind", way, err)
				}
			}
			before := beforeBomb(zipped)
			var p *pprof.Profile
			if len(plain) <= maxParsed {
				p, _ = pprof.ParseUncompressed(plain) // some are no profiles
			}
			db := testDB(t, Options{})
			if p != nil && p.CheckValid() == nil {
				try("Insert", func() error { _, err := db.Insert(ctx, p, now); return err })
				p = nil
				db.store.Close()
				db = testDB(t, Options{})
			}
			try("InsertEncoded", func() error { _, err := db.InsertEncoded(ctx, zipped, now); return err })
			db.store.Close()
			if before != nil {
				deltas := NewDeltas(DeltaOptions{Types: typeNames(before)})
				db = testDB(t, Options{})
				if _, err := db.Insert(ctx, before, InsertOptions{Time: now.Time.Add(-time.Second), Deltas: deltas}); err != nil {
					t.Fatal(err)
				}
				try("with Deltas", func() error {
					_, err := db.InsertEncoded(ctx, zipped, InsertOptions{Time: now.Time, Deltas: deltas, FirstWhole: true})
					return err
				})
				db.store.Close()
			}
		})
	}
}

// beforeBomb returns a profile of the types of a bomb, with a stack of its own: after it, all values of the
// bomb count. It returns nil if the bomb is no profile.
func beforeBomb(bomb []byte) *pprof.Profile {
	var flat codec.Flat
	if err := new(codec.Reader).Read(bomb, Limits{}.WithDefaults(), &flat); err != nil {
		return nil
	}
	typeOf := func(t codec.FlatType) *pprof.ValueType {
		return &pprof.ValueType{Type: flat.Strings[t.Name], Unit: flat.Strings[t.Unit]}
	}
	f := &pprof.Function{ID: 1, Name: "before"}
	l := &pprof.Location{ID: 1, Line: []pprof.Line{{Function: f}}}
	before := &pprof.Profile{PeriodType: typeOf(flat.Period), Location: []*pprof.Location{l}, Function: []*pprof.Function{f}}
	for _, t := range flat.Types {
		before.SampleType = append(before.SampleType, typeOf(t))
	}
	values := make([]int64, len(flat.Types))
	for i := range values {
		values[i] = 1
	}
	before.Sample = []*pprof.Sample{{Location: before.Location, Value: values}}
	return before
}

func typeNames(p *pprof.Profile) (names []string) {
	for _, t := range p.SampleType {
		names = append(names, t.Type)
	}
	return names
}

// P5: the size at a gzip file's end is not trusted.
func TestGzipSaysTooMuch(t *testing.T) {
	zipped := gzipped.Of(t, smallest())
	copy(zipped[len(zipped)-4:], "\xff\xff\xff\xff")
	db := testDB(t, Options{})
	refused(t, ErrProfile, 1<<20, func() error {
		_, err := db.InsertEncoded(ctx, zipped, InsertOptions{})
		return err
	})
}

// Rows that did not come from this package can have any column names.
func TestProfileOfOddColumns(t *testing.T) {
	db := testDB(t, Options{})
	columns := map[string]encoding.Vector{
		ColumnSampleType: encoding.Strings("n"), ColumnSampleUnit: encoding.Strings("count"),
		ColumnPeriodType: encoding.Strings("cpu"), ColumnPeriodUnit: encoding.Strings("nanoseconds"),
		ColumnStacktrace: encoding.UUIDLists([]uuid.UUID{{1}}), ColumnTimestamp: encoding.Int64s(start),
		ColumnDuration: encoding.Int64s(1), ColumnPeriod: encoding.Int64s(1), ColumnValue: encoding.Int64s(7),
	}
	want := map[string][]int64{}
	for i, name := range []string{"x]", "]", "x#9223372036854775807", "x#30000000000", "x#0", "#", "[", "x#257"} {
		columns[ColumnPprofNumLabels+"."+name] = encoding.Int64s(int64(i))
		want[name] = []int64{int64(i)}
	}
	if _, err := db.Table().Insert(ctx, schema.Batch{Rows: 1, Columns: columns}); err != nil {
		t.Fatal(err)
	}
	p, err := db.Profile(ctx, view(t, db), Query{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, p.Sample[0].NumLabel); diff != "" {
		t.Error(diff)
	}
}

// P1: labels whose printed forms look alike stay separate.
func TestLabelsThatLookAlike(t *testing.T) {
	db := testDB(t, Options{})
	p := makeProfile(start, "n:count", stack{frames: "f", values: []int64{5}}, stack{frames: "f", values: []int64{7}})
	p.Sample[0].NumLabel = map[string][]int64{"a": {1}, "b": {2}}
	p.Sample[1].NumLabel = map[string][]int64{"a:[1] b": {2}}
	insert(t, db, p)
	got, err := db.Profile(ctx, view(t, db), Query{})
	if err != nil || len(got.Sample) != 2 {
		t.Errorf("%d samples, %v; want 2", len(got.Sample), err)
	}
}

// A snapshot gives the same answers about types after other kinds were inserted.
func TestTypesOfSnapshotStay(t *testing.T) {
	db := testDB(t, Options{})
	insert(t, db, makeProfile(start, "a:count", stack{frames: "f", values: []int64{1}}))
	snap := view(t, db)
	want, err := db.Types(ctx, snap)
	if err != nil {
		t.Fatal(err)
	}
	insert(t, db, makeProfile(start, "b:count", stack{frames: "f", values: []int64{1}}))
	got, err := db.Types(ctx, snap)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	if _, err := db.FindType(ctx, snap, "b"); !errors.Is(err, ErrUnknownType) {
		t.Errorf("a type of later: %v", err)
	}
}
