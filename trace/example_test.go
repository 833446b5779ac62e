package trace_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/granarydb/granary/trace"
)

// A recording is CSV, an interval set or a computed set. Its states are available at any
// instant.
func ExampleLoad() {
	const states = `time,attribute,value
0,CPUs/0,idle
15,CPUs/0,run
30,CPUs/0,idle
`
	r, err := trace.Load(context.Background(), "-", trace.LoadOptions{Stdin: strings.NewReader(states)})
	if err != nil {
		fmt.Println(err)
		return
	}
	cpu, err := r.Lookup("CPUs", "0")
	if err != nil {
		fmt.Println(err)
		return
	}
	in, err := r.At(cpu, 20)
	fmt.Println(in.Value, in.Start, in.End, err)
	// Output: "run" 15 29 <nil>
}
