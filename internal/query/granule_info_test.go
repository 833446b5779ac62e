package query

import (
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/granule"
	"github.com/granarydb/granary/internal/catalog"
	"github.com/granarydb/granary/internal/oracle"
	"github.com/granarydb/granary/internal/querytest"
	"github.com/granarydb/granary/schema"
)

// TestDescribeGranule compares granules with what is said about them, with fresh parts, base parts and both, and with parts that
// a split divided.
func TestDescribeGranule(t *testing.T) {
	for _, width := range []int64{0, 100, 5000} {
		for _, granuleRows := range []int{1, 20, 1000} {
			for _, key := range [][]string{querytest.WideKey, querytest.WideKeys[1], nil} {
				t.Run(fmt.Sprintf("width=%d/granule=%d/key=%d", width, granuleRows, len(key)), func(t *testing.T) {
					table := querytest.Open(t, querytest.Options{GranuleRows: granuleRows}, querytest.Wide(width, key))
					rng := rand.New(rand.NewPCG(uint64(width), uint64(granuleRows)))
					checkGranules(t, table)
					for range 3 {
						table.Insert(querytest.BatchOf(rng, querytest.RandomRows(rng, 60)))
						checkGranules(t, table)
					}
					late := table.Begin()
					if err := late.Insert(querytest.BatchOf(rng, querytest.RandomRows(rng, 60))); err != nil {
						t.Fatal(err)
					}
					table.Compact()
					checkGranules(t, table)
					if err := late.Commit(); err != nil { // in parts for the granules before Compact
						t.Fatal(err)
					}
					checkGranules(t, table)
				})
			}
		}
	}
	empty := DescribeGranule(querytest.Open(t, querytest.Options{}, querytest.Samples(0)).Env.Schema, granule.New("", ""))
	if empty.Parts == nil || len(empty.Parts) > 0 || empty.Rows != 0 || empty.Lower.String() != "-inf" || empty.Upper.String() != "+inf" {
		t.Errorf("a granule without rows: %+v", empty)
	}
}

// checkGranules compares the description of each granule of a table with the granule itself.
func checkGranules(t *testing.T, table *querytest.Table) {
	t.Helper()
	state, s := table.State(), table.Env.Schema
	i, before := 0, GranuleInfo{}
	for bound, g := range state.Granules.All() {
		info := DescribeGranule(s, g)
		_, hi := g.Bounds()
		if info.Lower.Key != hex.EncodeToString([]byte(bound)) || info.Upper.Key != hex.EncodeToString([]byte(hi)) {
			t.Errorf("bounds %s and %s, want %x and %x", info.Lower.Key, info.Upper.Key, bound, hi)
		}
		if info.Rows != g.Rows() || info.Bytes != g.Size() || info.FreshParts != g.FreshParts() || len(info.Parts) != g.Parts() {
			t.Errorf("granule %d: %+v", i, info)
		}
		opens := info.Lower.String() == "-inf" || s.BucketColumn() >= 0 && len(info.Lower.Values) == 1
		if !opens && (i == 0 || cmp.Diff(info.Lower, before.Upper) != "") {
			t.Errorf("granule %d begins at %v and not where the one before it ends", i, info.Lower)
		}
		inParts := 0
		for k, slice := range g.Sections() {
			part := &info.Parts[k]
			if part.Base != (k < g.Parts()-g.FreshParts()) || part.Lo != slice.Lo || part.Hi != slice.Hi {
				t.Errorf("granule %d, part %d: %+v", i, k, part)
			}
			if part.Begin == 0 || part.Begin >= part.Commit {
				t.Errorf("granule %d, part %d: transaction %d to %d", i, k, part.Begin, part.Commit)
			}
			inParts += part.Hi - part.Lo
			checkPart(t, s, part)
			series := slices.Compact(slice.Part.Series().Append(nil, slice.Lo, slice.Hi))
			slices.Sort(series)
			if want := len(slices.Compact(series)); part.Series != want {
				t.Errorf("granule %d, part %d: %d series, want %d", i, k, part.Series, want)
			}
			for n, c := range slice.Part.Columns() {
				nulls := 0
				for row := range c.Len() {
					if c.Null(row) {
						nulls++
					}
				}
				if got := part.Columns[n+1]; got.Name != c.Name || got.Nulls != nulls || got.Bytes != c.Size() {
					t.Errorf("granule %d, part %d: column %+v, want %q with %d nulls", i, k, got, c.Name, nulls)
				}
			}
		}
		if inParts != info.Rows {
			t.Errorf("granule %d: parts have %d rows, the granule %d", i, inParts, info.Rows)
		}
		i, before = i+1, info
	}
}

// checkPart checks the invariants of a PartInfo.
func checkPart(t *testing.T, s *schema.Schema, p *PartInfo) {
	t.Helper()
	if p.Lo < 0 || p.Lo >= p.Hi || p.Hi > p.PartRows || p.Bytes <= 0 || p.Bytes > p.PartBytes || p.Series < 1 || p.Series > p.Hi-p.Lo {
		t.Errorf("part %+v", p)
	}
	if s.BucketColumn() < 0 {
		if !p.MinTime.IsZero() || !p.MaxTime.IsZero() {
			t.Errorf("times %v to %v in a table without buckets", p.MinTime, p.MaxTime)
		}
	} else if at := s.BucketStart(p.MinTime.UnixNano()); p.MaxTime.Before(p.MinTime) || s.BucketStart(p.MaxTime.UnixNano()) != at {
		t.Errorf("times %v to %v are not of one bucket", p.MinTime, p.MaxTime)
	}
	layouts := []string{"plain", "packed", "runs", "blocks", "rises", "changes", "bends", "sparse", "lookup"}
	sum := 0
	for i, c := range p.Columns {
		sum += c.Bytes
		if !slices.Contains(layouts, c.Layout) || c.Nulls < 0 || c.Nulls >= p.PartRows {
			t.Errorf("column %+v of %d rows", c, p.PartRows)
		}
		if i == 0 {
			if c.Name != "(series)" || c.Type != "series" || c.Encoding != "dictionary+rle" {
				t.Errorf("the first column is %+v", c)
			}
			continue
		}
		column, ok := s.Resolve(c.Name)
		if def := s.Columns()[column]; !ok || c.Type != def.Type.String() || c.Encoding != def.Encoding.String() {
			t.Errorf("column %+v, the schema has %+v", c, def)
		}
	}
	if len(p.Columns) == 0 || sum > p.PartBytes {
		t.Errorf("columns have %d bytes, the part %d", sum, p.PartBytes)
	}
}

// TestBound compares the text of bounds, whole and cut.
func TestBound(t *testing.T) {
	bucketed := querytest.Open(t, querytest.Options{}, querytest.Wide(int64(15*time.Minute), querytest.WideKey))
	plain := querytest.Open(t, querytest.Options{}, querytest.Wide(0, querytest.WideKeys[1]))
	day := time.Date(2026, 11, 21, 10, 15, 0, 0, time.UTC).UnixNano()
	key := bucketed.Env.Schema.AppendBucket(nil, day)
	series := []schema.SeriesValue{{Column: 0, Name: "kind", Value: "cpu"}, {Column: 2, Name: "labels.pod", Value: "p\x001"}}
	tuple := string(bucketed.Env.Schema.AppendTuple(slices.Clone(key), series))
	stack := string(schema.AppendWord(schema.AppendPresent([]byte(tuple)), encoding.UUIDList, 7))
	at := string(schema.AppendWord(schema.AppendPresent([]byte(stack)), encoding.Int64, encoding.FromInt64(day+5)))
	seriesText := `2026-11-21T10:15:00Z kind="cpu" zone=null labels.pod="p\x001"`
	pod := string(schema.AppendName(nil, "labels.pod"))
	uuids := pod + "p\x00\x00" + "\x00" + "\x01k\x00\x00" + string(schema.AppendName(nil, "ids.a")) // querytest.WideKeys[1]: labels, kind, ids
	for _, test := range []struct {
		name  string
		table *querytest.Table
		key   string
		want  string
	}{
		{"none", bucketed, "", "-inf"},
		{"bucket", bucketed, string(key), "2026-11-21T10:15:00Z"},
		{"bucket cut", bucketed, string(key[:3]), fmt.Sprintf("%#x…", key[:3])},
		{"first bucket", bucketed, string(bucketed.Env.Schema.AppendBucket(nil, -1<<63)), "1677-09-21T00:12:43.145224192Z"},
		{"series", bucketed, tuple, seriesText},
		{"series, family open", bucketed, tuple[:len(tuple)-1], seriesText},
		{"label cut in its end", bucketed, tuple[:len(tuple)-2], seriesText + "…"},
		{"label cut in its value", bucketed, tuple[:len(tuple)-4], strings.TrimSuffix(seriesText, `1"`) + `"…`},
		{"label cut in a zero byte", bucketed, tuple[:len(tuple)-5], strings.TrimSuffix(seriesText, `\x001"`) + `"…`},
		{"label without its value", bucketed, string(key) + "\x01cpu\x00\x00\x00" + pod, `2026-11-21T10:15:00Z kind="cpu" zone=null labels.pod=…`},
		{"label cut in its name", bucketed, string(key) + "\x01cpu\x00\x00\x00" + pod[:len(pod)-2], `2026-11-21T10:15:00Z kind="cpu" zone=null labels.po…`},
		{"label without its name", bucketed, string(key) + "\x01cpu\x00\x00\x00\x01", `2026-11-21T10:15:00Z kind="cpu" zone=null labels.…`},
		{"no label", bucketed, string(key) + "\x01cpu\x00\x00\x00\x00", `2026-11-21T10:15:00Z kind="cpu" zone=null`},
		{"column without its value", bucketed, string(key) + "\x01", "2026-11-21T10:15:00Z kind=…"},
		{"stack", bucketed, stack, seriesText + " stack=#7"},
		{"stack cut", bucketed, stack[:len(stack)-1], seriesText + " stack=0x000000…"},
		{"time", bucketed, at, seriesText + " stack=#7 time=2026-11-21T10:15:00.000000005Z"},
		{"all but what is null", bucketed, at + "\x00\x00", seriesText + " stack=#7 time=2026-11-21T10:15:00.000000005Z"},
		{"more than a key has", bucketed, at + "\x00\x00\x2a\x2b", seriesText + " stack=#7 time=2026-11-21T10:15:00.000000005Z 0x2a2b"},
		{"no tag", bucketed, string(key) + "\x02\x03", "2026-11-21T10:15:00Z 0x0203"},
		{"uuid", plain, uuids + strings.Repeat("\x11", 16) + "\x00\x00", `labels.pod="p" kind="k" ids.a=11111111-1111-1111-1111-111111111111`},
		{"uuid cut", plain, uuids + "\x11\x12", `labels.pod="p" kind="k" ids.a=0x1112…`},
		{"no series", plain, "\x00", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := BoundOf(test.table.Env.Schema, test.key, "-inf")
			if got.String() != test.want || got.Key != hex.EncodeToString([]byte(test.key)) {
				t.Errorf("%s reads\n%s, want\n%s", got.Key, got, test.want)
			}
		})
	}
}

// TestBound_EveryCut reads whole querytest.WideKeys of random rows back into their values, and cuts each
// anywhere: values that are whole before the cut read the same.
func TestBound_EveryCut(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	for _, key := range querytest.WideKeys {
		for _, width := range []int64{0, 100} {
			table := querytest.Open(t, querytest.Options{}, querytest.Wide(width, key))
			for _, row := range querytest.RandomRows(rng, 40) {
				encoded, want := keyOfRow(table.Env.Schema, key, row)
				if whole := BoundOf(table.Env.Schema, encoded, "-inf"); encoded != "" && cmp.Diff(want, whole.Values) != "" {
					t.Fatalf("%x (-want +got):\n%s", encoded, cmp.Diff(want, whole.Values))
				}
				for n := 1; n < len(encoded); n++ {
					got := BoundOf(table.Env.Schema, encoded[:n], "-inf").Values
					if len(got) > len(want) {
						t.Fatalf("%x cut to %d bytes reads %q, whole %q", encoded, n, got, want)
					}
					if len(got) == 0 {
						continue // a family without a label
					}
					last := got[len(got)-1]
					if !slices.Equal(got[:len(got)-1], want[:len(got)-1]) || last != want[len(got)-1] && !strings.HasSuffix(last, "…") {
						t.Fatalf("%x cut to %d bytes reads %q, whole %q", encoded, n, got, want)
					}
				}
			}
		}
	}
}

// keyOfRow returns the key of a row, as package schema writes it, and how it
// reads. Lists have made-up codes.
func keyOfRow(s *schema.Schema, sortingKey []string, row oracle.Row) (key string, values []string) {
	at := row["time"].(int64)
	out := s.AppendBucket(nil, s.BucketStart(at))
	if s.BucketColumn() >= 0 {
		values = append(values, catalog.TimeText(s.BucketStart(at)))
	}
	var labels []schema.SeriesValue
	for _, i := range s.Series() {
		for _, name := range querytest.Expand([]oracle.Row{row}, s.Columns()[i].Name) {
			if v, ok := row[name]; ok {
				labels = append(labels, schema.SeriesValue{Column: i, Name: name, Value: v.(string)})
			}
		}
	}
	out = s.AppendTuple(out, labels)
	for k, name := range sortingKey {
		i := slices.IndexFunc(s.Columns(), func(c schema.Column) bool { return c.Name == name })
		c, suffix := s.Columns()[i], k >= len(s.Series())
		for _, name := range querytest.Expand([]oracle.Row{row}, name) {
			v, ok := row[name]
			switch {
			case !ok:
				values = append(values, name+"=null")
				if suffix {
					out = schema.AppendNull(out)
				}
				continue
			case suffix && c.Dynamic:
				out = schema.AppendName(out, name)
			case suffix:
				out = schema.AppendPresent(out)
			}
			values = append(values, name+"="+keyText(v, i == s.BucketColumn()))
			if suffix {
				out = appendKeyValue(out, v)
			}
		}
		if suffix && c.Dynamic {
			out = schema.AppendNull(out)
		}
	}
	return string(out), values
}

func keyText(v any, isTime bool) string {
	switch v := v.(type) {
	case string:
		return strconv.Quote(v)
	case int64:
		if isTime {
			return time.Unix(0, v).UTC().Format(time.RFC3339Nano)
		}
	case []uuid.UUID:
		return fmt.Sprint("#", len(v)+1)
	}
	return fmt.Sprint(v)
}

func appendKeyValue(key []byte, v any) []byte {
	switch v := v.(type) {
	case string:
		return schema.AppendBytes(key, []byte(v))
	case uuid.UUID:
		return schema.AppendBytes(key, v[:])
	case int64:
		return schema.AppendWord(key, encoding.Int64, encoding.FromInt64(v))
	case uint64:
		return schema.AppendWord(key, encoding.Uint64, v)
	case float64:
		return schema.AppendWord(key, encoding.Float64, encoding.FromFloat64(v))
	case bool:
		return schema.AppendWord(key, encoding.Bool, encoding.FromBool(v))
	case []uuid.UUID:
		return schema.AppendWord(key, encoding.UUIDList, uint64(len(v)+1))
	}
	panic(fmt.Sprintf("value of type %T", v))
}

// FuzzBound reads any bytes: it neither fails nor returns more values than there are bytes.
func FuzzBound(f *testing.F) {
	f.Add([]byte{}, true)
	f.Add([]byte("\x80\x00\x00\x00\x00\x00\x00\x00\x01cpu\x00\x00\x00\x01\x93\xff\x00\x00"), true)
	f.Add([]byte("\x01\x00\xff\x00"), false)
	var err error
	tables := map[bool]*schema.Schema{}
	for bucketed, width := range map[bool]int64{true: 100, false: 0} {
		if tables[bucketed], err = schema.New(querytest.Wide(width, querytest.WideKeys[1])); err != nil {
			f.Fatal(err)
		}
	}
	f.Fuzz(func(t *testing.T, key []byte, bucketed bool) {
		got := BoundOf(tables[bucketed], string(key), "+inf")
		if len(key) > 0 && len(got.Values) > len(key) {
			t.Errorf("%x reads %q", key, got.Values)
		}
		for _, v := range got.Values {
			if !utf8.ValidString(v) {
				t.Errorf("%x reads %q", key, got.Values)
			}
		}
	})
}
