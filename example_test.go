package granary_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
)

// check keeps README.md's example short. A program handles its errors.
func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// The example of README.md.
func Example() {
	ctx := context.Background()

	store, err := columnstore.Open(columnstore.Options{})
	check(err)
	defer store.Close()
	db, err := profile.Open(store, profile.Options{})
	check(err)

	data, err := os.ReadFile("testdata/profiles/pebble/cpu-1.pb.gz")
	check(err)
	labels := map[string]string{"job": "api", "pod": "api-1"}
	_, err = db.InsertEncoded(ctx, data, profile.InsertOptions{Labels: labels})
	check(err)

	snap, err := store.Snapshot()
	check(err)
	defer snap.Close()
	selector, err := profile.ParseSelector(`{job="api", pod=~"api-.*"}`)
	check(err)
	cpu, err := db.FindType(ctx, snap, "cpu")
	check(err)
	stacks, err := db.Merge(ctx, snap, cpu, profile.Query{Selector: selector})
	check(err)
	for _, f := range stacks.Top()[:2] {
		fmt.Println(f.Name, profile.FormatValue(f.Flat, cpu.SampleUnit))
	}
	// Output:
	// internal/runtime/syscall/linux.Syscall6 3.75 s
	// runtime.memclrNoHeapPointers 730 ms
}
