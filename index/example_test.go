package index_test

import (
	"fmt"

	"github.com/granarydb/granary/index"
)

// Three entries cover the keys between them. Replacing one makes a new version
// and leaves the old one as it was.
func Example() {
	edit := index.New[string]().Edit()
	edit.Set("", "A")
	edit.Set("f", "B")
	edit.Set("p", "C")
	before := edit.Done()

	edit = before.Edit()
	edit.Set("f", "B1")
	edit.Set("k", "B2")
	after := edit.Done()

	for _, v := range []*index.Version[string]{before, after} {
		bound, value, _ := v.Floor("melon")
		fmt.Printf("melon is in %s, from %q; [g, z) overlaps", value, bound)
		for _, value := range v.Overlapping("g", "z") {
			fmt.Print(" ", value)
		}
		fmt.Println()
	}
	// Output:
	// melon is in B, from "f"; [g, z) overlaps B C
	// melon is in B2, from "k"; [g, z) overlaps B1 B2 C
}
