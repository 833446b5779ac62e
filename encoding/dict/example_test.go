package dict_test

import (
	"fmt"

	"github.com/granarydb/granary/encoding/dict"
)

// Equal values have equal codes, counted from 1; 0 is no value.
func ExampleValues() {
	values := dict.NewValues(1)
	for _, value := range []string{"cpu", "nanoseconds", "cpu"} {
		code, err := values.Intern([]byte(value))
		fmt.Println(code, err)
	}
	fmt.Println(values.Len(), string(values.Value(2)), values.Find([]byte("space")))
	// Output:
	// 1 <nil>
	// 2 <nil>
	// 1 <nil>
	// 2 nanoseconds 0
}
