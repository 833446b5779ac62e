package schema_test

import (
	"fmt"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/schema"
)

// A table of samples: series first, time after them, and a time bucket of one
// minute that leads the key.
func Example() {
	s, err := schema.New(schema.Definition{
		Columns: []schema.Column{
			{Name: "type", Type: encoding.String, Encoding: encoding.DictionaryRLE},
			{Name: "labels", Type: encoding.String, Encoding: encoding.DictionaryRLE, Dynamic: true},
			{Name: "timestamp", Type: encoding.Int64, Encoding: encoding.Delta},
			{Name: "value", Type: encoding.Int64, Encoding: encoding.Plain},
		},
		SortingKey: []string{"type", "labels", "timestamp"},
		Bucket:     schema.Bucket{Column: "timestamp", Width: 60e9},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	columns, err := s.Check(&schema.Batch{
		Rows: 2,
		Columns: map[string]encoding.Vector{
			"type":       encoding.Strings("cpu"), // stands for both rows
			"labels.pod": encoding.Strings("a", "b"),
			"labels.job": encoding.Strings("api", ""), // no label in the second row
			"timestamp":  encoding.Int64s(1_000_000_000, 61_000_000_000),
			"value":      encoding.Int64s(10, 20),
		},
	})
	for _, c := range columns {
		dynamic := s.Columns()[c.Column].Dynamic
		fmt.Println(c.Name, c.Null(0, dynamic), c.Null(1, dynamic))
	}
	fmt.Println(s.BucketStart(1_000_000_000), s.BucketStart(61_000_000_000), err)
	// Output:
	// type false false
	// labels.job false true
	// labels.pod false false
	// timestamp false false
	// value false false
	// 0 60000000000 <nil>
}
