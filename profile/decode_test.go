package profile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	pprof "github.com/google/pprof/profile"
	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/encoding/dict"
	"github.com/granarydb/granary/internal/beside"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/schema"
)

var oracleOpts = InsertOptions{Labels: map[string]string{"job": "j", "none": ""}, Time: time.Unix(7, 0)}

// usedProfile is the profile that a workspace holds before that of a test.
var usedProfile = sync.OnceValues(func() ([]byte, error) {
	var plain bytes.Buffer
	p := makeProfile(start, "used:u more:m again:a", stack{
		frames: "u +v w x y z", values: []int64{5, 6, 7},
		labels: map[string][]string{"k": {"left", "over"}, "trace_id": {strings.Repeat("ab", 16)}}, nums: map[string][]int64{"n": {9, 9}},
	}, stack{frames: "z z z", values: []int64{1, 0, 1}})
	p.DefaultSampleType = "more"
	err := p.WriteUncompressed(&plain)
	return plain.Bytes(), err
})

// usedWorkspace returns a workspace that held another profile. Nothing of that profile may
// show in the next.
func usedWorkspace(t fataler) *workspace {
	t.Helper()
	plain, err := usedProfile()
	if err != nil {
		t.Fatal(err)
	}
	w := new(workspace)
	if err := w.read(plain, Limits{}.WithDefaults()); err != nil {
		t.Fatal(err)
	}
	if _, err := w.batcher.Batch(&w.flat, w.flat.Time, nil, true, newDictionary()); err != nil {
		t.Fatal(err)
	}
	w.batcher.Reset()
	return w
}

// dictionary is an interner whose contents a test can read.
type dictionary struct{ dict *dict.Lists }

func newDictionary() dictionary { return dictionary{dict.NewLists(1)} }

func (d dictionary) Elements(dst []uint32, ids []uuid.UUID, records [][]byte) ([]uint32, error) {
	return d.dict.InternElements(dst, ids, records)
}

func (d dictionary) Lists(dst []uint32, lists [][]uint32) ([]uint32, error) {
	return d.dict.InternCodes(dst, lists)
}

// records returns the records by element.
func (d dictionary) records() map[uuid.UUID][]byte {
	records := map[uuid.UUID][]byte{}
	for code := range uint32(d.dict.Elements()) {
		records[d.dict.Element(code+1)] = d.dict.Record(code + 1)
	}
	return records
}

// checkAgainstPprof checks P6 and reports whether the bytes are accepted. The decoder must
// accept the same bytes as google/pprof and the limits, and the batch must equal that of
// slowBatch. The same holds for the profile in memory.
func checkAgainstPprof(t fataler, data []byte, limits Limits, zeros bool) (taken bool) {
	t.Helper()
	want, wantList, wantErr := slowBatch(data, limits, oracleOpts, zeros)
	w := usedWorkspace(t)
	err := decode(string(data), limits, &w.flat)
	if (err == nil) != (wantErr == nil) {
		t.Fatal("the decoder says", err, "- google/pprof and the limits", wantErr)
	}
	if err != nil {
		if errors.Is(err, ErrProfile) == errors.Is(err, ErrTooLarge) {
			t.Fatal("error is not of one kind:", err)
		}
		return false
	}
	compareBatches(t, "decoded", w, zeros, want, wantList)
	p, err := pprof.ParseUncompressed(data)
	if err != nil {
		t.Fatal(err)
	}
	w = usedWorkspace(t)
	if err := flatten(p, limits, &w.flat); err != nil {
		t.Fatal("in memory:", err)
	}
	compareBatches(t, "in memory", w, zeros, want, wantList)
	return true
}

// hasBadName reports whether a batch has a column that no table takes.
func hasBadName(b schema.Batch) bool {
	for name := range b.Columns {
		if !schema.ValidName(name) || strings.HasSuffix(name, ".") {
			return true
		}
	}
	return false
}

func compareBatches(t fataler, way string, w *workspace, zeros bool, want schema.Batch, wantList typeList) {
	t.Helper()
	if err := w.pruner.Prune(&w.flat.Flat); errors.Is(err, ErrTooLarge) {
		return // TestPruneBounds
	} else if err != nil {
		t.Fatal(way, err)
	}
	list := newTypeList(&w.flat.Flat)
	codes := newDictionary()
	at := w.flat.Time
	if at == 0 {
		at = oracleOpts.Time.UnixNano()
	}
	got, err := w.batcher.Batch(&w.flat, at, oracleOpts.Labels, zeros, codes)
	if errors.Is(err, schema.ErrBatch) && hasBadName(want) {
		return // an insert refuses the other batch too
	}
	if err != nil {
		t.Fatal(way, err)
	}
	if diff := cmp.Diff(wantList, list); diff != "" {
		t.Fatal(way, "types: -want +got\n", diff)
	}
	// Stacks are compared without cmp, which would take minutes.
	var stacks [][]uuid.UUID
	for _, code := range got.Columns[ColumnStacktrace].Codes {
		stacks = append(stacks, codes.dict.UUIDs(nil, code))
	}
	if !slices.EqualFunc(want.Columns[ColumnStacktrace].UUIDLists, stacks, slices.Equal) {
		t.Fatal(way, "stacks differ")
	}
	if records := codes.records(); !maps.EqualFunc(want.Records, records, bytes.Equal) {
		t.Fatal(way, "records: -want +got\n", cmp.Diff(want.Records, records))
	}
	rest := cmpopts.IgnoreFields(encoding.Vector{}, "UUIDLists", "Codes")
	if diff := cmp.Diff(want.Columns, got.Columns, rest, cmpopts.EquateEmpty()); diff != "" || want.Rows != got.Rows {
		t.Fatal(way, "batch of", got.Rows, "rows, want", want.Rows, "-want +got\n", diff)
	}
}

// Real profiles are accepted, and decode as in google/pprof.
func TestDecodeRealProfiles(t *testing.T) {
	effort.Slow(t)
	for _, shared := range []bool{false, true} {
		t.Run(fmt.Sprintf("shared=%t", shared), func(t *testing.T) {
			for i, name := range beside.Profiles(t, shared) {
				data, err := os.ReadFile(name)
				if err != nil {
					t.Fatal(err)
				}
				var w workspace
				limits := Limits{}.WithDefaults()
				if err := w.read(data, limits); err != nil {
					t.Errorf("%s: %v", name, err)
				} else if !checkAgainstPprof(t, unzipped(t, data), limits, i%2 == 0) {
					t.Errorf("%s is refused", name)
				}
			}
		})
	}
}

// message is an encoded protobuf message. Its methods append fields and check nothing.
type message []byte

func (m message) number(field, v uint64) message {
	return binary.AppendUvarint(binary.AppendUvarint(m, field<<3|wireVarint), v)
}

func (m message) bytes(field uint64, data string) message {
	return append(binary.AppendUvarint(binary.AppendUvarint(m, field<<3|wireBytes), uint64(len(data))), data...)
}

func (m message) string() string { return string(m) }

// smallest returns the tables of a small profile with one type and the location 1.
func smallest() message {
	return message{}.bytes(fieldSampleType, "\x08\x01\x10\x01").bytes(fieldString, "").bytes(fieldString, "n").
		bytes(fieldFunction, "\x08\x01\x10\x01").bytes(fieldLocation, "\x08\x01\x22\x02\x08\x01")
}

// oddities returns inputs that decoders can treat differently, and whether they are accepted.
func oddities() []struct {
	name  string
	data  message
	taken bool
} {
	tenBytes := "\x80\x80\x80\x80\x80\x80\x80\x80\x80"
	return []struct {
		name  string
		data  message
		taken bool
	}{
		{"smallest", smallest(), true},
		{"nothing", message{}, false},
		{"no strings", message{}.bytes(fieldSampleType, ""), false},
		{"first string is not empty", message{}.bytes(fieldSampleType, "").bytes(fieldString, "x"), false},
		{"no types", message{}.bytes(fieldString, ""), false},
		{"sample", smallest().bytes(fieldSample, "\x0a\x01\x01\x12\x01\x05"), true},
		{"sample, not packed", smallest().bytes(fieldSample, "\x08\x01\x08\x01\x10\x05"), true},
		{"sample, both", smallest().bytes(fieldSample, "\x08\x01\x0a\x02\x01\x01\x10\x05"), true},
		{"sample before its tables", append(message{}.bytes(fieldSample, "\x08\x01\x10\x05"), smallest()...), true},
		{"number of over 64 bits", smallest().bytes(fieldSample, "\x08\x01\x10"+tenBytes+"\x7f"), true},
		{"number of eleven bytes", smallest().bytes(fieldSample, "\x08\x01\x10"+tenBytes+"\x80\x01"), false},
		{"long form of a number", smallest().bytes(fieldSample, "\x08\x81\x00\x10\x85\x80\x00"), true},
		{"too few values", smallest().bytes(fieldSample, "\x08\x01"), false},
		{"too many values", smallest().bytes(fieldSample, "\x08\x01\x12\x02\x05\x06"), false},
		{"no such location", smallest().bytes(fieldSample, "\x08\x02\x10\x05"), false},
		{"location 0", smallest().bytes(fieldSample, "\x08\x00\x10\x05"), false},
		{"cut in a packed field", smallest().bytes(fieldSample, "\x0a\x02\x01\x80\x10\x05"), false},
		{"values as a fixed number", smallest().bytes(fieldSample, "\x15\x01\x02\x03\x04"), false},
		{"unknown fixed numbers", append(smallest(), "\x85\x01\x01\x02\x03\x04\x81\x01\x01\x02\x03\x04\x05\x06\x07\x08"...), true},
		{"unknown fixed number, cut", append(smallest(), "\x85\x01\x01\x02\x03"...), false},
		{"unknown group", append(smallest(), "\x83\x01\x84\x01"...), false},
		{"field 0", append(smallest(), "\x00\x05"...), true},
		{"field beyond 32 bits", smallest().number(1<<60, 3), true},
		{"label without a value", smallest().bytes(fieldSample, "\x08\x01\x10\x05\x1a\x02\x08\x01"), true},
		{"label without a value, of no string", smallest().bytes(fieldSample, "\x08\x01\x10\x05\x1a\x02\x08\x09"), false},
		{"text label of a bad unit", smallest().bytes(fieldSample, "\x08\x01\x10\x05\x1a\x06\x08\x01\x10\x01\x20\x09"), true},
		{"number label of a bad unit", smallest().bytes(fieldSample, "\x08\x01\x10\x05\x1a\x06\x08\x01\x18\x01\x20\x09"), false},
		{"label of a negative string", smallest().bytes(fieldSample, "\x08\x01\x10\x05\x1a\x0b\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), false},
		{"string beyond 32 bits", smallest().bytes(fieldPeriodType, message{}.number(1, 1<<32).string()), false},
		{"mapping that is not there", smallest().bytes(fieldLocation, "\x08\x02\x10\x07").bytes(fieldSample, "\x08\x02\x10\x05"), true},
		{"function that is not there", smallest().bytes(fieldLocation, "\x08\x02\x22\x02\x08\x07"), false},
		{"line without a function", smallest().bytes(fieldLocation, "\x08\x02\x22\x00"), false},
		{"function twice", smallest().bytes(fieldFunction, "\x08\x01"), false},
		{"location twice", smallest().bytes(fieldLocation, "\x08\x01"), false},
		{"location 0 is there", smallest().bytes(fieldLocation, ""), false},
		{"ids in no order", smallest().bytes(fieldLocation, "\x08\x09").bytes(fieldLocation, "\x08\x02").bytes(fieldSample, "\x0a\x03\x09\x02\x01\x10\x05"), true},
		{"largest id", smallest().bytes(fieldLocation, message{}.number(1, math.MaxUint64).string()).
			bytes(fieldSample, message{}.number(1, math.MaxUint64).number(2, 5).string()), true},
		{"period type twice, the first bad", smallest().bytes(fieldPeriodType, "\x08\x63").bytes(fieldPeriodType, "\x08\x01"), true},
		{"string of a function twice, the first bad", smallest().bytes(fieldFunction, "\x08\x02\x10\x63\x10\x01"), true},
		{"time twice", smallest().number(fieldTime, 5).number(fieldTime, 5), false},
		{"time twice, the first 0", smallest().number(fieldTime, 0).number(fieldTime, 5), true},
		{"comment of no string", smallest().number(fieldComment, 9), false},
		{"packed comments", smallest().bytes(fieldComment, "\x00\x01"), true},
		{"packed comments, cut", smallest().bytes(fieldComment, "\x00\x81"), false},
		{"document of no string", smallest().number(fieldDocURL, 9), false},
		{"drop frames of no string", smallest().number(fieldDropFrames, 9), false},
		{"keep frames of no string", smallest().number(fieldKeepFrames, 9), false},
		{"drop frames of a later string, twice", smallest().number(fieldDropFrames, 1).number(fieldDropFrames, 2).bytes(fieldString, "n"), true},
		{"equal types of two strings", smallest().bytes(fieldString, "n").bytes(fieldSampleType, "\x08\x02\x10\x02"), false},
		{"equal locations", smallest().bytes(fieldLocation, "\x08\x02\x22\x02\x08\x01").bytes(fieldSample, "\x0a\x02\x02\x01\x10\x05"), true},
	}
}

func TestDecodeOddities(t *testing.T) {
	for _, tc := range oddities() {
		t.Run(tc.name, func(t *testing.T) {
			if taken := checkAgainstPprof(t, tc.data, Limits{}.WithDefaults(), false); taken != tc.taken {
				t.Errorf("taken: %t, want %t", taken, tc.taken)
			}
		})
	}
}

// Random profiles, intact or damaged in a few places, decode as in google/pprof.
func TestDecodeEqualsPprof(t *testing.T) {
	limits := Limits{Samples: 9, Depth: 5}.WithDefaults()
	rapid.Check(t, func(t *rapid.T) {
		var b bytes.Buffer
		p := drawProfile(t)
		p.DropFrames, p.KeepFrames = drawDropped(t)
		if err := p.WriteUncompressed(&b); err != nil {
			t.Fatal(err)
		}
		data := b.Bytes()
		for range rapid.IntRange(0, 4).Draw(t, "damages") {
			at := rapid.IntRange(0, len(data)-1).Draw(t, "at")
			switch rapid.IntRange(0, 3).Draw(t, "damage") {
			case 0:
				data[at] = rapid.Byte().Draw(t, "byte")
			case 1:
				data[at] = rapid.ByteRange(0, 9).Draw(t, "small byte")
			case 2: // a part repeated or left out
				to := rapid.IntRange(0, len(data)).Draw(t, "from")
				data = append(append([]byte{}, data[:to]...), data[at:]...)
			case 3:
				data = append(data, oddities()[rapid.IntRange(0, len(oddities())-1).Draw(t, "oddity")].data...)
			}
			if len(data) == 0 {
				return
			}
		}
		checkAgainstPprof(t, data, limits, rapid.Bool().Draw(t, "zeros"))
	})
}

// FuzzDecode checks P6: the decoder accepts the same bytes as google/pprof and the limits, and
// turns them into the same rows.
func FuzzDecode(f *testing.F) {
	for _, tc := range oddities() {
		f.Add([]byte(tc.data), true)
	}
	p := makeProfile(start, "n:count m:count", stack{frames: "a +b c", values: []int64{1, -2}, labels: map[string][]string{"k": {"v", "w"}}},
		stack{frames: "c", values: []int64{0, 4}, nums: map[string][]int64{"n": {1, 2}}, units: map[string][]string{"n": {"", "bytes"}}},
		stack{frames: "c", values: []int64{0, 0}, labels: map[string][]string{"trace_id": {strings.Repeat("0a", 16)}, "span_id": {strings.Repeat("1", 16)}}})
	p.DropFrames, p.KeepFrames = "b|c", "c"
	_, plain := encoded(f, p)
	f.Add(plain, false)
	f.Add([]byte("\n\x04\b\x01\x10\x012\x002\x01\x8d*\x04\b\x01\x18\x01\"\x06\b\x01\"\x02\b\x01\x12\f\b\x01\x10\x05\x1a\x06\b\x01\x10\x01 \t"), false) // a label of no name
	for _, name := range []string{"two-stacks.pb.gz", "single-stack.pb.gz", "no-python.pb.gz"} {
		if data, err := os.ReadFile(filepath.Join("..", "..", "shared", "data", "pprof", name)); err == nil {
			f.Add(unzipped(f, data), true)
		}
	}
	limits := Limits{Bytes: 1 << 20, Samples: 1000, Depth: 100}
	f.Fuzz(func(t *testing.T, data []byte, zeros bool) {
		if len(data) <= limits.Bytes {
			checkAgainstPprof(t, data, limits, zeros)
		}
	})
}
