package linux_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/trace"
	"github.com/granarydb/granary/trace/linux"
)

// A text of perf script, and what one of its threads did.
func Example() {
	text := `
  swapper   0 [001] 10.000001: sched:sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=cat next_pid=913 next_prio=120
      cat 913 [001] 10.000004: sched:sched_switch: prev_comm=cat prev_pid=913 prev_prio=120 prev_state=S ==> next_comm=swapper/1 next_pid=0 next_prio=120
  swapper   0 [001] 10.000009: sched:sched_waking: comm=cat pid=913 prio=120 target_cpu=001
`
	r, err := trace.Build(func(to trace.Target) error {
		_, err := linux.Options{}.Import(context.Background(), strings.NewReader(text), to)
		return err
	})
	if err != nil {
		panic(err)
	}
	thread, err := r.Lookup("Threads", "913")
	if err != nil {
		panic(err)
	}
	for in, err := range r.Range(thread, r.Start(), r.End(), history.RangeOptions{}) {
		if err != nil {
			panic(err)
		}
		fmt.Println(in.Start-r.Start(), in.Value)
	}
	// Output:
	// 0 "running"
	// 3000 "waiting (blocked)"
	// 8000 "waiting (CPU)"
}
