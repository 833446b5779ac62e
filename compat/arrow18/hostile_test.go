package arrow18

import (
	"math"
	"testing"

	arrow14 "github.com/apache/arrow/go/v14/arrow"
	array14 "github.com/apache/arrow/go/v14/arrow/array"
	memory14 "github.com/apache/arrow/go/v14/arrow/memory"
)

// forged is an array of any data, including data that Arrow's constructors refuse.
type forged struct {
	arrow14.Array // nil
	typ           arrow14.DataType
	data          *array14.Data
}

func (f forged) DataType() arrow14.DataType { return f.typ }
func (f forged) Data() arrow14.ArrayData    { return f.data }
func (f forged) Len() int                   { return 1 }
func (f forged) Retain()                    { f.data.Retain() }
func (f forged) Release()                   { f.data.Release() }

// data makes data of children and of buffers with the given numbers of bytes, -1 for nil.
func data(t arrow14.DataType, length, offset int, buffers []int, children ...arrow14.ArrayData) *array14.Data {
	var bs []*memory14.Buffer
	for _, n := range buffers {
		if n < 0 {
			bs = append(bs, nil)
			continue
		}
		bs = append(bs, memory14.NewBufferBytes(make([]byte, n)))
	}
	return array14.NewData(t, length, bs, children, 0, offset)
}

// int32s makes data of type int32.
func int32s(values ...int32) *array14.Data {
	b := memory14.NewBufferBytes(arrow14.Int32Traits.CastToBytes(values))
	return array14.NewData(arrow14.PrimitiveTypes.Int32, len(values), []*memory14.Buffer{nil, b}, nil, 0, 0)
}

// with replaces a buffer of data by the value buffer of other data.
func with(d *array14.Data, buffer int, values *array14.Data) *array14.Data {
	bs := append([]*memory14.Buffer(nil), d.Buffers()...)
	bs[buffer] = values.Buffers()[1]
	return array14.NewData(d.DataType(), d.Len(), bs, d.Children(), 0, d.Offset())
}

// Invariant B3: an invalid record is an error, and no reference is kept.
func TestInvalidRecords(t *testing.T) {
	var (
		i64     = arrow14.PrimitiveTypes.Int64
		text    = arrow14.BinaryTypes.String
		ints    = arrow14.ListOf(i64)
		runs    = runs14(i64)
		three   = data(i64, 3, 0, []int{-1, 24})
		noDict  = data(dict14(i64), 0, 0, []int{-1, 0})
		badDict = data(dict14(text), 3, 0, []int{-1, 12})
	)
	badDict.SetDictionary(three)
	nullEnds := data(arrow14.PrimitiveTypes.Int32, 3, 0, []int{1, 12})
	for name, c := range map[string]struct {
		typ  arrow14.DataType // nil: that of the data
		data *array14.Data
		want string
	}{
		"another type":           {typ: text, data: three, want: "an array of int64, not of utf8"},
		"another child":          {data: data(ints, 1, 0, []int{-1, 8}, int32s(1, 2)), want: "child 0: invalid record: an array of int32, not of int64"},
		"negative length":        {data: data(i64, -1, 1, []int{-1, 8}), want: "-1 rows from 1"},
		"negative offset":        {data: data(i64, 1, -1, []int{-1, 8}), want: "1 rows from -1"},
		"overflow":               {data: data(arrow14.Null, math.MaxInt, 1, []int{-1}), want: "rows from 1"},
		"no buffers":             {data: data(i64, 1, 0, nil), want: "0 buffers, 0 children; int64 has 2, 0"},
		"a buffer too many":      {data: data(i64, 1, 0, []int{-1, 8, 8}), want: "3 buffers"},
		"two buffers for text":   {data: data(text, 0, 0, []int{-1, 8}), want: "2 buffers"},
		"a child too many":       {data: data(i64, 1, 0, []int{-1, 8}, three), want: "1 children"},
		"a list without a child": {data: data(ints, 1, 0, []int{-1, 8}), want: "0 children; list<item: int64, nullable> has 2, 1"},
		"no values":              {data: data(i64, 1, 0, []int{-1, -1}), want: "1 rows without values"},
		"short values":           {data: data(i64, 2, 1, []int{-1, 23}), want: "23 bytes for 3 rows"},
		"short values, no row":   {data: data(i64, 0, 2, []int{-1, 8}), want: "8 bytes for 2 rows"},
		"short ids":              {data: data(uuid14, 2, 0, []int{-1, 31}), want: "31 bytes for 2 rows"},
		"short bits":             {data: data(arrow14.FixedWidthTypes.Boolean, 9, 0, []int{-1, 1}), want: "1 bytes for 9 rows"},
		"short validity":         {data: data(i64, 8, 1, []int{1, 100}), want: "validity of 1 bytes for 9 rows"},
		"huge":                   {data: data(i64, math.MaxInt, 0, []int{1, 100}), want: "validity of 1 bytes"},
		"no offsets":             {data: data(text, 1, 0, []int{-1, -1, 8}), want: "1 rows without values"},
		"short offsets":          {data: data(text, 1, 0, []int{-1, 4, 8}), want: "1 offsets for 1 rows"},
		"short offsets, no row":  {data: data(text, 0, 1, []int{-1, 4, 8}), want: "1 offsets for 1 rows"},
		"text beyond the bytes":  {data: with(data(text, 2, 0, []int{-1, 0, 8}), 1, int32s(0, 3, 9)), want: "offsets from 0 to 9 into 8"},
		"text in no bytes":       {data: with(data(text, 1, 0, []int{-1, 0, -1}), 1, int32s(0, 1)), want: "offsets from 0 to 1 into 0"},
		"offsets back":           {data: with(data(text, 2, 0, []int{-1, 0, 8}), 1, int32s(3, 4, 2)), want: "offsets from 3 to 2"},
		"negative offsets":       {data: with(data(text, 1, 0, []int{-1, 0, 8}), 1, int32s(-4, 2)), want: "offsets from -4 to 2"},
		"lists beyond the child": {data: with(data(ints, 1, 0, []int{-1, 0}, three), 1, int32s(0, 4)), want: "offsets from 0 to 4 into 3"},
		"no dictionary":          {data: noDict, want: "no dictionary"},
		"another dictionary":     {data: badDict, want: "dictionary: invalid record: an array of int64, not of utf8"},
		"validity of runs":       {data: data(runs, 1, 0, []int{1}, int32s(1), three), want: "validity bitmap"},
		"validity of nulls":      {data: data(arrow14.Null, 1, 0, []int{1}), want: "validity bitmap"},
		"null run ends":          {data: data(runs, 1, 0, []int{-1}, nullEnds, three), want: "3 run ends are null"},
		"runs end early":         {data: data(runs, 3, 3, []int{-1}, int32s(1, 5), three), want: "runs end at 5 of 6 rows"},
		"a negative run end":     {data: data(runs, 0, 0, []int{-1}, int32s(-1), three), want: "runs end at -1 of 0 rows"},
		"no runs":                {data: data(runs, 1, 0, []int{-1}, int32s(), three), want: "runs end at 0 of 1 rows"},
		"runs without values":    {data: data(runs, 4, 0, []int{-1}, int32s(1, 2, 3, 4), three), want: "4 runs of 3 values"},
	} {
		t.Run(name, func(t *testing.T) {
			mem := checked(t)
			if c.typ == nil {
				c.typ = c.data.DataType()
			}
			good := build(mem, i64, []any{int64(1)})
			defer good.Release()
			schema := arrow14.NewSchema([]arrow14.Field{{Name: "good", Type: i64}, {Name: "bad", Type: c.typ}}, nil)
			rec := array14.NewRecord(schema, []arrow14.Array{good, forged{typ: c.typ, data: c.data}}, 1)
			defer rec.Release()
			got, err := Record(rec)
			if got != nil {
				t.Errorf("bridged: %v", got)
			}
			wantErr(t, err, ErrRecord, `column "bad": `, c.want)
		})
	}
}

func TestInvalidColumns(t *testing.T) {
	mem := checked(t)
	_, err := Record(nil)
	wantErr(t, err, ErrRecord, "none")

	long := build(mem, arrow14.PrimitiveTypes.Int64, []any{int64(1), int64(2)})
	defer long.Release()
	schema := arrow14.NewSchema([]arrow14.Field{{Name: "n", Type: long.DataType()}}, nil)
	rec := array14.NewRecord(schema, []arrow14.Array{long}, 1) // v14 accepts it
	defer rec.Release()
	_, err = Record(rec)
	wantErr(t, err, ErrRecord, `column "n"`, "2 rows, the record has 1")

	none := array14.NewRecord(schema, nil, 0) // v14 accepts it
	defer none.Release()
	_, err = Record(none)
	wantErr(t, err, ErrRecord, "0 columns, the schema has 1")

	unknown := recordOf(array14.MakeArrayOfNull(mem, arrow14.PrimitiveTypes.Date32, 3))
	defer unknown.Release()
	_, err = Record(unknown)
	wantErr(t, err, ErrType, `column "0"`, "date32")
}
