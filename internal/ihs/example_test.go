package ihs_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/granarydb/granary/internal/ihs"
)

// A set is written and read interval by interval, in the order of their ends.
func Example() {
	var file bytes.Buffer
	w, err := ihs.NewWriter(&file, ihs.Header{Keys: 2, Intervals: 3, Start: 100, End: 199})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, iv := range []ihs.Interval{
		{Key: 0, Start: 100, End: 149},
		{Key: 0, Start: 150, End: 199, Kind: ihs.KindString, Text: "running"},
		{Key: 1, Start: 100, End: 199, Kind: ihs.KindInt, Word: 7},
	} {
		if err := w.Write(iv); err != nil {
			fmt.Println(err)
		}
	}
	if err := w.Close(); err != nil {
		fmt.Println(err)
	}

	r, err := ihs.NewReader(&file, ihs.Limits{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for {
		iv, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			fmt.Println(err)
			break
		}
		fmt.Printf("%d [%d, %d] %v %d %q\n", iv.Key, iv.Start, iv.End, iv.Kind, iv.Int(), iv.Text)
	}
	// Output:
	// 0 [100, 149] null 0 ""
	// 0 [150, 199] string 0 "running"
	// 1 [100, 199] int 7 ""
}
