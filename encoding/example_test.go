package encoding_test

import (
	"fmt"

	"github.com/granarydb/granary/encoding"
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
	dict := encoding.NewDict(1)
	b := encoding.NewBuilder(encoding.Spec{Type: encoding.String, Encoding: encoding.DictionaryRLE, Dict: dict}, 3)
	for _, job := range []string{"api", "api", "db"} {
		code, err := dict.Intern([]byte(job))
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

// Equal values have equal codes, counted from 1; 0 is no value.
func ExampleDict() {
	dict := encoding.NewDict(1)
	for _, value := range []string{"cpu", "nanoseconds", "cpu"} {
		code, err := dict.Intern([]byte(value))
		fmt.Println(code, err)
	}
	fmt.Println(dict.Len(), string(dict.Value(2)), dict.Find([]byte("space")))
	// Output:
	// 1 <nil>
	// 2 <nil>
	// 1 <nil>
	// 2 nanoseconds 0
}
