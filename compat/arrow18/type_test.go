package arrow18

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	arrow14 "github.com/apache/arrow/go/v14/arrow"
	array14 "github.com/apache/arrow/go/v14/arrow/array"
	endian14 "github.com/apache/arrow/go/v14/arrow/endian"

	arrow18 "github.com/apache/arrow-go/v18/arrow"
)

// The types that package arrowconv makes, and parts of them.
var (
	uuid14     = &arrow14.FixedSizeBinaryType{ByteWidth: 16}
	uuidList14 = arrow14.ListOf(uuid14)
	textList14 = arrow14.ListOf(arrow14.BinaryTypes.String)
	float64s14 = arrow14.PrimitiveTypes.Float64
	nano14     = &arrow14.TimestampType{Unit: arrow14.Nanosecond}
)

func dict14(values arrow14.DataType) arrow14.DataType {
	return &arrow14.DictionaryType{IndexType: arrow14.PrimitiveTypes.Uint32, ValueType: values}
}

func runs14(values arrow14.DataType) arrow14.DataType {
	return arrow14.RunEndEncodedOf(arrow14.PrimitiveTypes.Int32, values)
}

// bridged returns the types of the tests.
func bridged() []arrow14.DataType {
	types := []arrow14.DataType{
		arrow14.Null, arrow14.FixedWidthTypes.Boolean,
		arrow14.PrimitiveTypes.Int8, arrow14.PrimitiveTypes.Int16, arrow14.PrimitiveTypes.Int32, arrow14.PrimitiveTypes.Int64,
		arrow14.PrimitiveTypes.Uint8, arrow14.PrimitiveTypes.Uint16, arrow14.PrimitiveTypes.Uint32, arrow14.PrimitiveTypes.Uint64,
		arrow14.PrimitiveTypes.Float32, float64s14, arrow14.BinaryTypes.String, arrow14.BinaryTypes.Binary,
		nano14, &arrow14.TimestampType{Unit: arrow14.Second, TimeZone: "Europe/Berlin"},
		uuid14, uuidList14, textList14,
	}
	for _, values := range []arrow14.DataType{arrow14.BinaryTypes.String, uuid14, uuidList14, textList14} {
		types = append(types, dict14(values), runs14(values), runs14(dict14(values)), arrow14.ListOf(dict14(values)))
	}
	for _, values := range []arrow14.DataType{arrow14.PrimitiveTypes.Int64, arrow14.PrimitiveTypes.Uint64, float64s14, arrow14.FixedWidthTypes.Boolean, nano14} {
		types = append(types, runs14(values))
	}
	for _, ends := range []arrow14.DataType{arrow14.PrimitiveTypes.Int16, arrow14.PrimitiveTypes.Int64} {
		types = append(types, arrow14.RunEndEncodedOf(ends, arrow14.PrimitiveTypes.Int64), arrow14.RunEndEncodedOf(ends, dict14(arrow14.BinaryTypes.String)))
	}
	for _, index := range []arrow14.DataType{arrow14.PrimitiveTypes.Int8, arrow14.PrimitiveTypes.Uint8, arrow14.PrimitiveTypes.Int16, arrow14.PrimitiveTypes.Int64} {
		types = append(types, &arrow14.DictionaryType{IndexType: index, ValueType: uuid14, Ordered: true})
	}
	return append(types, arrow14.ListOf(uuidList14), arrow14.ListOf(runs14(textList14)),
		dict14(runs14(arrow14.PrimitiveTypes.Int64)), arrow14.ListOfNonNullable(arrow14.PrimitiveTypes.Int64))
}

func TestSchema(t *testing.T) {
	md := func(k, v string) arrow14.Metadata { return arrow14.NewMetadata([]string{k, "empty"}, []string{v, ""}) }
	item := arrow14.Field{Name: "frame", Type: uuid14, Metadata: md("of", "an element")}
	notNull := arrow14.RunEndEncodedOf(arrow14.PrimitiveTypes.Int16, float64s14)
	notNull.ValueNullable = false
	fields := []arrow14.Field{
		{Name: "stack", Type: dict14(arrow14.ListOfField(item)), Nullable: true, Metadata: md("of", "a field")},
		{Name: "value", Type: notNull},
		{Name: "value", Type: &arrow14.DictionaryType{IndexType: arrow14.PrimitiveTypes.Int8, ValueType: uuid14, Ordered: true}},
	}
	all := md("of", "the schema")
	got, err := Schema(arrow14.NewSchema(fields, &all))
	if err != nil {
		t.Fatal(err)
	}
	const want = `schema:
  fields: 3
    - stack: type=dictionary<values=list<frame: fixed_size_binary[16]>, indices=uint32, ordered=false>, nullable
                        metadata: ["of": "a field", "empty": ""]
    - value: type=run_end_encoded<run_ends: int16, values: float64>
    - value: type=dictionary<values=fixed_size_binary[16], indices=int8, ordered=true>
  metadata: ["of": "the schema", "empty": ""]`
	text := strings.Join(strings.Fields(got.String()), " ")
	diff(t, "schema", strings.Join(strings.Fields(want), " "), text)
	// Properties missing from the text.
	list := got.Field(0).Type.(*arrow18.DictionaryType).ValueType.(*arrow18.ListType)
	if f := list.ElemField(); f.Nullable || f.Metadata.Values()[0] != "an element" {
		t.Errorf("element: %+v", f)
	}
	if f := got.Field(1).Type.(*arrow18.RunEndEncodedType); f.ValueNullable {
		t.Errorf("values of runs became nullable: %+v", f)
	}
	for _, e := range []endian14.Endianness{endian14.LittleEndian, endian14.BigEndian} {
		got, err := Schema(arrow14.NewSchemaWithEndian(fields, nil, e))
		if err != nil || got.Endianness().String() != e.String() || got.HasMetadata() {
			t.Errorf("%v: %v, %v", e, got, err)
		}
	}
}

// Types that read alike in both versions are the same type, but for the properties in
// TestSchema.
func TestTypes(t *testing.T) {
	units := []arrow14.DataType{}
	for _, u := range arrow14.TimeUnitValues {
		units = append(units, &arrow14.TimestampType{Unit: u, TimeZone: "UTC"})
	}
	for _, typ := range append(bridged(), units...) {
		s, err := shapeOf(typ, 1)
		if err != nil {
			t.Errorf("%v: %v", typ, err)
			continue
		}
		if s.to.String() != typ.String() || int(s.to.ID()) != int(typ.ID()) {
			t.Errorf("%v became %v", typ, s.to)
		}
	}
}

// TestUnknownTypes tries all other types of v14.
func TestUnknownTypes(t *testing.T) {
	i64 := arrow14.PrimitiveTypes.Int64
	unknown := []arrow14.DataType{
		arrow14.FixedWidthTypes.Float16, arrow14.PrimitiveTypes.Date32, arrow14.PrimitiveTypes.Date64,
		arrow14.FixedWidthTypes.Time32s, arrow14.FixedWidthTypes.Time64ns, arrow14.FixedWidthTypes.Duration_ns,
		arrow14.FixedWidthTypes.MonthInterval, arrow14.FixedWidthTypes.DayTimeInterval, arrow14.FixedWidthTypes.MonthDayNanoInterval,
		&arrow14.Decimal128Type{Precision: 10}, &arrow14.Decimal256Type{Precision: 10},
		arrow14.BinaryTypes.LargeString, arrow14.BinaryTypes.LargeBinary,
		arrow14.StructOf(arrow14.Field{Name: "x", Type: i64}), arrow14.MapOf(i64, i64), arrow14.LargeListOf(i64),
		arrow14.ListViewOf(i64), arrow14.LargeListViewOf(i64), arrow14.FixedSizeListOf(2, i64),
		arrow14.SparseUnionOf([]arrow14.Field{{Name: "x", Type: i64}}, []arrow14.UnionTypeCode{0}),
		arrow14.DenseUnionOf([]arrow14.Field{{Name: "x", Type: i64}}, []arrow14.UnionTypeCode{0}),
		newParcel(), &arrow14.FixedSizeBinaryType{}, &arrow14.FixedSizeBinaryType{ByteWidth: -1},
	}
	for _, typ := range unknown {
		for where, in := range map[string]arrow14.DataType{
			"": typ, "list: ": arrow14.ListOf(typ), "dictionary: ": dict14(typ), "dictionary: list: ": dict14(arrow14.ListOf(typ)),
			"dictionary indexes: ": &arrow14.DictionaryType{IndexType: typ, ValueType: i64},
			"runs: ":               runs14(typ), "run ends: ": arrow14.RunEndEncodedOf(typ, i64),
		} {
			_, err := Schema(arrow14.NewSchema([]arrow14.Field{{Name: "ok", Type: i64}, {Name: "n", Type: in}}, nil))
			wantErr(t, err, ErrType, fmt.Sprintf("column %q: %s%v: %v", "n", where, ErrType, typ))
		}
	}
	for in, want := range map[arrow14.DataType]string{
		&arrow14.DictionaryType{}:                                   "dictionary indexes: type is not bridged: no type",
		&arrow14.DictionaryType{IndexType: i64}:                     "dictionary: type is not bridged: no type",
		&arrow14.DictionaryType{IndexType: float64s14}:              "dictionary indexes: type is not bridged: float64",
		arrow14.RunEndEncodedOf(nil, nil):                           "run ends: type is not bridged: no type",
		arrow14.RunEndEncodedOf(arrow14.PrimitiveTypes.Uint32, i64): "run ends: type is not bridged: uint32",
		nested(maxDepth + 1):                                        "type is not bridged: more than 32 deep",
	} {
		_, err := Schema(arrow14.NewSchema([]arrow14.Field{{Name: "n", Type: in}}, nil))
		wantErr(t, err, ErrType, `column "n": `, want)
	}
	if _, err := Schema(arrow14.NewSchema([]arrow14.Field{{Name: "n", Type: nested(maxDepth)}}, nil)); err != nil {
		t.Errorf("%d deep: %v", maxDepth, err)
	}
	_, err := Schema(nil)
	wantErr(t, err, ErrRecord, "no schema")
}

// nested returns a type of the given depth.
func nested(depth int) arrow14.DataType {
	t := arrow14.PrimitiveTypes.Int64
	for range depth - 1 {
		t = arrow14.ListOf(t)
	}
	return t
}

// parcel is an extension type.
type parcel struct{ arrow14.ExtensionBase }

func newParcel() *parcel {
	return &parcel{arrow14.ExtensionBase{Storage: arrow14.PrimitiveTypes.Int64}}
}
func (*parcel) ArrayType() reflect.Type { return reflect.TypeFor[array14.ExtensionArrayBase]() }
func (*parcel) ExtensionName() string   { return "parcel" }
func (*parcel) Serialize() string       { return "" }
func (p *parcel) ExtensionEquals(o arrow14.ExtensionType) bool {
	return p.ExtensionName() == o.ExtensionName()
}

func (*parcel) Deserialize(arrow14.DataType, string) (arrow14.ExtensionType, error) {
	return newParcel(), nil
}

// wantErr fails the test unless err is of a kind and its text has all parts.
func wantErr(t *testing.T, err, kind error, parts ...string) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Errorf("error %v, want %v", err, kind)
		return
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("error %q does not say %q", err, p)
		}
	}
}
