package parca_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	pprof "github.com/google/pprof/profile"
	profilestorepb "github.com/parca-dev/parca/gen/proto/go/parca/profilestore/v1alpha1"
	"github.com/parca-dev/parca/pkg/profile"
	"github.com/parca-dev/parca/pkg/query"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/compat/parca"
	"github.com/granarydb/granary/schema"
)

// textType is the type of text in Parca's records.
var textType = &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Uint32, ValueType: arrow.BinaryTypes.Binary}

// recordOf returns a record of one row with the columns of Parca's records, and its stack's locations.
func recordOf(locations ...[]byte) (fields []arrow.Field, columns []arrow.Array) {
	add := func(name string, column arrow.Array) {
		fields, columns = append(fields, arrow.Field{Name: name, Type: column.DataType(), Nullable: true}), append(columns, column)
	}
	for _, name := range []string{
		profile.ColumnName, profile.ColumnSampleType, profile.ColumnSampleUnit, profile.ColumnPeriodType, profile.ColumnPeriodUnit, "labels.job",
	} {
		b := array.NewDictionaryBuilder(memory.DefaultAllocator, textType).(*array.BinaryDictionaryBuilder)
		if err := b.AppendString(name + "\xff"); err != nil {
			panic(err)
		}
		add(name, b.NewArray())
	}
	for _, name := range []string{profile.ColumnTimeNanos, profile.ColumnTimestamp, profile.ColumnDuration, profile.ColumnPeriod, profile.ColumnValue} {
		b := array.NewInt64Builder(memory.DefaultAllocator)
		b.Append(base.UnixNano())
		add(name, b.NewArray())
	}
	b := array.NewListBuilder(memory.DefaultAllocator, textType)
	b.Append(true)
	for _, l := range locations {
		if err := b.ValueBuilder().(*array.BinaryDictionaryBuilder).Append(l); err != nil {
			panic(err)
		}
	}
	add(profile.ColumnStacktrace, b.NewArray())
	return fields, columns
}

// encodedLocation is a location with a mapping and two lines, of bytes that are no UTF-8.
func encodedLocation() []byte {
	b := []byte{200, 1, 2, 1, 2, 0xff, 0xfe, 1, 0xc0, 5, 6, 7}
	for line := range byte(2) {
		b = append(b, 10+line, 0, 1, 3, 2, 'f', 0xff, 0, 1, 'g')
	}
	return b
}

// TestIngest_BadRecords: a record that is not one of Parca's is an error, and nothing is inserted.
func TestIngest_BadRecords(t *testing.T) {
	store, err := columnstore.Open(columnstore.Options{Now: clock, Manual: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	table, err := parca.Open(store)
	if err != nil {
		t.Fatal(err)
	}
	ingest := func(fields []arrow.Field, columns []arrow.Array) error {
		return table.Ingest(context.Background(), array.NewRecordBatch(arrow.NewSchema(fields, nil), columns, 1))
	}
	whole := encodedLocation()
	fields, columns := recordOf(whole)
	for i, field := range fields {
		less, rest := append(append([]arrow.Field(nil), fields[:i]...), fields[i+1:]...), append(append([]arrow.Array(nil), columns[:i]...), columns[i+1:]...)
		optional := field.Name == profile.ColumnStacktrace || field.Name == "labels.job"
		if err := ingest(less, rest); !optional && !errors.Is(err, parca.ErrRecord) {
			t.Errorf("without %s: error %v", field.Name, err)
		}
		other, changed := append([]arrow.Field(nil), fields...), append([]arrow.Array(nil), columns...)
		flag := array.NewBooleanBuilder(memory.DefaultAllocator)
		flag.Append(true)
		changed[i] = flag.NewArray()
		other[i].Type = changed[i].DataType()
		if err := ingest(other, changed); !errors.Is(err, parca.ErrRecord) {
			t.Errorf("%s of bool: error %v", field.Name, err)
		}
	}
	before := store.Stats().Rows
	for n := range whole {
		if err := ingest(recordOf(whole, whole[:n])); !errors.Is(err, parca.ErrRecord) {
			t.Errorf("a location of %d bytes of %d: error %v", n, len(whole), err)
		}
	}
	if err := ingest(recordOf(make([]byte, schema.MaxRecord+1))); err == nil {
		t.Error("a location of more than a record may have is accepted")
	}
	if rows := store.Stats().Rows; rows != before {
		t.Errorf("%d rows, want %d", rows, before)
	}
}

// TestIngest_AnyBytes: the bytes of locations come back as they were; those of labels become UTF-8.
func TestIngest_AnyBytes(t *testing.T) {
	s := openStores(t, columnstore.Options{Now: clock})
	fields, columns := recordOf(encodedLocation())
	if err := s.granary.Ingest(context.Background(), array.NewRecordBatch(arrow.NewSchema(fields, nil), columns, 1)); err != nil {
		t.Fatal(err)
	}
	err := s.store.View(context.Background(), func(snap *columnstore.Snapshot) error {
		groups, err := s.store.Table(parca.TableName).Aggregate(context.Background(), snap, columnstore.AggregateOptions{By: []string{profile.ColumnStacktrace, "labels.job"}})
		if err != nil {
			return err
		}
		stacks := groups.Column(profile.ColumnStacktrace)
		cursor := stacks.Lists.Cursor()
		cursor.Move(stacks.Codes[0])
		used := cursor.Elements()
		if len(used) != 1 || !bytes.Equal(stacks.Lists.Record(used[0]), encodedLocation()) {
			return fmt.Errorf("%d locations, or other bytes", len(used))
		}
		if got := groups.Column("labels.job").Values.Strings[0]; got != "labels.job\uFFFD" {
			return fmt.Errorf("the label is %q", got)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestCheckLocation_AnyBytes: Parca's decoders read no byte beyond a location that passes the check, and
// every location that Parca encodes passes.
func TestCheckLocation_AnyBytes(t *testing.T) {
	r, passed := rand.New(rand.NewPCG(1, 2)), 0
	for range 50_000 {
		b := encodedLocation()
		for range r.IntN(4) {
			b[r.IntN(len(b))] = byte(r.IntN([]int{4, 256}[r.IntN(2)]))
		}
		b = b[:len(b)-r.IntN(2)*r.IntN(len(b))]
		if parca.CheckLocation(b) != nil {
			continue
		}
		passed++
		b = slices.Clip(b)
		func() {
			defer func() {
				if p := recover(); p != nil {
					t.Fatalf("%x: %v", b, p)
				}
			}()
			profile.DecodeSymbolizationInfo(b)
			w := profile.NewLocationsWriter(memory.DefaultAllocator)
			defer w.RecordBuilder.Release()
			if _, err := profile.DecodeInto(w, b, nil); err != nil {
				t.Fatal(err)
			}
			if _, err := profile.DecodeFunctionName(b); err != nil {
				t.Fatal(err)
			}
		}()
	}
	if passed < 5000 {
		t.Errorf("%d of 50,000 passed: too few to say anything", passed)
	}
}

// TestWholeRecords asks while profiles are inserted: each has 7 samples of 1, so sums are multiples of 7,
// and never fall (PA1).
func TestWholeRecords(t *testing.T) {
	s := openStores(t, columnstore.Options{Now: clock, GranuleRows: 50, FreshParts: 2})
	const profiles = 60
	inserted := make(chan error, 1)
	go func() {
		for i := range profiles {
			p := &pprof.Profile{
				SampleType: []*pprof.ValueType{{Type: "cpu", Unit: "nanoseconds"}}, PeriodType: &pprof.ValueType{Type: "cpu", Unit: "nanoseconds"},
				Period: 1, DurationNanos: 1, TimeNanos: base.Add(time.Duration(i) * time.Second).UnixNano(),
			}
			for j := range 7 {
				l := &pprof.Location{ID: uint64(j + 1), Address: uint64(8 * (j + i))}
				p.Location = append(p.Location, l)
				p.Sample = append(p.Sample, &pprof.Sample{Location: []*pprof.Location{l}, Value: []int64{1}})
			}
			var encoded bytes.Buffer
			if err := p.Write(&encoded); err != nil {
				inserted <- err
				return
			}
			_, err := s.write.WriteRaw(context.Background(), &profilestorepb.WriteRawRequest{
				Series: []*profilestorepb.RawProfileSeries{series(encoded.Bytes(), "__name__", "p")},
			})
			if err != nil {
				inserted <- err
				return
			}
		}
		inserted <- nil
	}()
	last, done := map[string]int64{}, false
	for {
		for n, q := range map[string]query.Querier{"native": s.native, "engine": s.engine} {
			sum := sumOf(t, q, "{}")
			if sum%7 != 0 || sum < last[n] {
				t.Fatalf("%s: %d after %d: a part of a record", n, sum, last[n])
			}
			last[n] = sum
		}
		if done {
			if last["native"] != 7*profiles {
				t.Errorf("sum %d, want %d", last["native"], 7*profiles)
			}
			return
		}
		select {
		case err := <-inserted:
			if err != nil {
				t.Fatal(err)
			}
			done = true
		default:
		}
	}
}

// TestOpen_OtherTable: a store whose table of the name has another schema is refused.
func TestOpen_OtherTable(t *testing.T) {
	store, err := columnstore.Open(columnstore.Options{Manual: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	def := parca.Definition()
	def.Columns = def.Columns[:len(def.Columns)-1]
	if _, err := store.CreateTable(parca.TableName, def); err != nil {
		t.Fatal(err)
	}
	if _, err := parca.Open(store); !errors.Is(err, parca.ErrStore) {
		t.Errorf("error %v", err)
	}
}
