package encoding_test

import (
	"fmt"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/encoding/dict"
)

// A column is built row by row and read by word: here timestamps, one of them
// missing.
func ExampleBuilder() {
	b := encoding.NewBuilder(encoding.Spec{Type: encoding.Int64, Encoding: encoding.Delta}, 3)
	b.Word(encoding.FromInt64(1000))
	b.Null()
	b.Word(encoding.FromInt64(1010))
	column := b.Build()

	words := column.Words().Append(nil, 0, column.Len())
	for i, valid := range column.AppendValid(nil, 0, column.Len()) {
		fmt.Println(encoding.ToInt64(words[i]), valid)
	}
	// Output:
	// 1000 true
	// 0 false
	// 1010 true
}

// A coded column keeps codes; its dictionary may be shared by many columns.
func ExampleBuilder_dictionary() {
	jobs := dict.NewValues(1)
	b := encoding.NewBuilder(encoding.Spec{Type: encoding.String, Encoding: encoding.DictionaryRLE, Dict: jobs}, 3)
	for _, job := range []string{"api", "api", "db"} {
		code, err := jobs.Intern([]byte(job))
		if err != nil {
			fmt.Println(err)
			return
		}
		b.Word(uint64(code))
	}
	column := b.Build()

	for c := column.Words().Cursor(); ; {
		code, rows := c.Next()
		if rows == 0 {
			break
		}
		fmt.Printf("%d rows of %s\n", rows, column.Bytes(code))
	}
	// Output:
	// 2 rows of api
	// 1 rows of db
}
