package disk_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"sync"

	"github.com/granarydb/granary/internal/disk"
)

// A log is read to its end, and then goes on.
func Example() {
	dir, err := os.MkdirTemp("", "log")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx, fs, id := context.Background(), disk.System(dir), disk.StoreID{1}
	for run := range 2 {
		r, err := disk.ReadLog(fs, id, 0)
		if err != nil {
			log.Fatal(err)
		}
		last := uint64(0)
		for {
			e, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				log.Fatal(err)
			}
			fmt.Printf("run %d reads commit %d: %s\n", run, e.Commit, e.Body)
			last = e.Commit
		}
		l, err := disk.OpenLog(r, disk.Options{Sync: disk.SyncEach})
		if err != nil {
			log.Fatal(err)
		}
		var commit sync.Mutex
		for _, text := range []string{"one", "two"} {
			room, err := l.Reserve(ctx, int64(len(text)), false)
			if err != nil {
				log.Fatal(err)
			}
			commit.Lock()
			last++
			room.Append(disk.Entry{Kind: 1, Commit: last, Body: []byte(text)})
			commit.Unlock()
			if err := room.Wait(ctx); err != nil {
				log.Fatal(err)
			}
		}
		if err := l.Close(); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// run 1 reads commit 1: one
	// run 1 reads commit 2: two
}
