package arrowconv_test

import (
	"fmt"

	"github.com/granarydb/granary/arrowconv"
	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/schema"
)

// Rows of encoded columns become a record, and a record becomes a batch.
func Example() {
	values := encoding.NewBuilder(encoding.Spec{Type: encoding.Int64, Encoding: encoding.Delta}, 3)
	for _, v := range []int64{10, 20, 30} {
		values.Word(encoding.FromInt64(v))
	}
	column := values.Build()

	b := arrowconv.NewRecordBuilder(nil, arrowconv.FormDictionary, []arrowconv.Field{
		{Name: "value", Type: encoding.Int64},
		{Name: "labels.pod", Type: encoding.String, Coded: true, Nullable: true},
	})
	defer b.Release()
	b.Words(0, &column, column.Words().Append(nil, 0, 3), nil)
	b.Repeat(1, "api-0", 2)
	b.Nulls(1, 1)
	record, err := b.Record()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer record.Release()
	fmt.Println(record.Column(0), record.Column(1))

	table, err := schema.New(schema.Definition{Columns: []schema.Column{
		{Name: "labels", Type: encoding.String, Encoding: encoding.Dictionary, Dynamic: true},
		{Name: "value", Type: encoding.Int64, Encoding: encoding.Plain},
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	batch, err := arrowconv.Batch(table, record)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(batch.Rows, batch.Columns["value"].Int64s, batch.Columns["labels.pod"].Strings)
	// Output:
	// [10 20 30] { dictionary: ["api-0"]
	//   indices: [0 0 (null)] }
	// 3 [10 20 30] [api-0 api-0 ]
}
