package partialfile_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/history/file"
	"github.com/granarydb/granary/history/partial"
	"github.com/granarydb/granary/history/partial/partialfile"
	"github.com/granarydb/granary/internal/events"
)

var (
	kills    = flag.Int("partialfile.kills", 5, "how often TestKill kills a writer")
	killSeed = flag.Uint64("filed.seed", 1, "the seed of TestKill")
)

// killedFile is a variable of the environment that makes the test's process write a file of that name until it is killed.
const killedFile = "GRANARY_TEST_FILED"

func killOptions() file.Options { return file.Options{Provider: "killed", Cache: 1} }

// longList returns events of which a process writes no more before it is killed.
func longList() *events.Growing {
	g := &events.Growing{List: make(events.List, 200_000)}
	for i := range g.List {
		g.List[i] = events.Event{At: int64(i / 3), N: 4 * (i * 7 % 50), Value: history.Int(int64(i*i) % 97)}
	}
	return g
}

// writeUntilKilled prints the end of the history after each Sync.
func writeUntilKilled(name string) {
	g := longList()
	w, err := partialfile.Create(context.Background(), name, killOptions(), g, provide, partial.Options{Every: 100})
	for n := 0; err == nil; n += 170 {
		g.There.Store(int64(min(n, len(g.List))))
		if _, err = w.Read(context.Background()); err == nil {
			err = w.Sync()
		}
		if err == nil {
			var h *partial.History[events.Event]
			if h, err = w.History(); err == nil {
				fmt.Println(h.End())
			}
		}
	}
	fmt.Println("error", err)
	os.Exit(1)
}

// TestKill kills a process that writes a file, at random moments. The file opens with all that a Sync which returned has
// made durable, and answers as the whole history of the events up to its end.
func TestKill(t *testing.T) {
	r, g := rand.New(rand.NewPCG(*killSeed, 2)), longList()
	g.There.Store(int64(len(g.List))) // for replays
	early, known := 0, int64(0)
	for life := range *kills {
		name := filepath.Join(t.TempDir(), strconv.Itoa(life))
		said, created := killedLife(t, name, 5*time.Millisecond+time.Duration(r.Int64N(int64(100*time.Millisecond))))
		h, err := partialfile.Open(name, killOptions(), g, provide)
		if err != nil && !created {
			early++
			continue
		}
		must(t, err)
		if created && h.End() < said {
			t.Fatalf("life %d, seed %d: up to %d, and a Sync up to %d returned", life, *killSeed, h.End(), said)
		}
		events.AskGrowing(t, uint64(life), r, h.History, g.List, 10)
		known += h.End()
		must(t, h.Verify())
		must(t, h.Close())
	}
	t.Logf("%d kills, %d before there was a file; %d instants are known", *kills, early, known)
}

// killedLife runs a process for some time. It returns the end of its last Sync that returned, and whether there was one.
func killedLife(t *testing.T, name string, after time.Duration) (end int64, synced bool) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	var out bytes.Buffer
	cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), killedFile+"="+name), &out, &out
	must(t, cmd.Start())
	time.Sleep(after)
	must(t, cmd.Process.Kill())
	_ = cmd.Wait() // it was killed
	for line := range strings.Lines(out.String()) {
		if strings.HasSuffix(line, "\n") {
			if _, err := fmt.Sscan(line, &end); err != nil {
				t.Fatalf("the process printed %q", line)
			}
			synced = true
		}
	}
	return end, synced
}
