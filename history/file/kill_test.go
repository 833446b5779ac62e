package file

import (
	"bytes"
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
)

var (
	kills    = flag.Int("file.kills", 5, "how often TestKill kills a writer")
	killSeed = flag.Uint64("paged.seed", 1, "the seed of TestKill")
)

// killedFile is a variable of the environment that makes the test's process write a file of that name until it
// is killed.
const killedFile = "GRANARY_TEST_PAGED"

const (
	killSpan  = 600 // instants of a transaction
	killSyncs = 3   // transactions between two Syncs
)

func killOptions() Options {
	return Options{Provider: provider, Cache: 1}
}

// writeUntilKilled prints the number of transactions that the file has after each Sync.
func writeUntilKilled(name string) {
	w, err := Create(name, killOptions())
	for n := 0; err == nil; n++ {
		if err = killedTransaction(w.History, n); err == nil && n%killSyncs == killSyncs-1 {
			if err = w.Sync(); err == nil {
				fmt.Println(n + 1)
			}
		}
	}
	fmt.Println("error", err)
	os.Exit(1)
}

// killedTransaction writes transaction n, which ends at its own instants.
func killedTransaction(h *history.History, n int) error {
	d, err := h.Begin()
	if err != nil {
		return err
	}
	for at := n * killSpan; at < (n+1)*killSpan; at++ {
		a, err := d.Attribute("thread", strconv.Itoa(at*7%50))
		if err != nil {
			return err
		}
		v := history.Int(int64(at*at) % 97)
		if at*7%50 >= 40 {
			v = history.String("state " + strconv.Itoa(at%130))
		}
		if err := d.Change(int64(at), a, v); err != nil {
			return err
		}
	}
	_, err = d.Commit()
	return err
}

// TestKill kills a process that writes a file, at random moments. The file opens with all that a Sync which
// returned has made durable, and is the history of whole transactions up to some Sync.
func TestKill(t *testing.T) {
	rng := rand.New(rand.NewPCG(*killSeed, 1))
	memory, err := history.New(history.Options{})
	must(t, err)
	views := []*history.View{memory.Empty()}
	early, synced, lost := 0, 0, int64(0)
	for life := range *kills {
		name := filepath.Join(t.TempDir(), strconv.Itoa(life))
		said, began := killedLife(t, name, 5*time.Millisecond+time.Duration(rng.Int64N(int64(100*time.Millisecond))))
		if !began {
			early++
			continue
		}
		r, err := Open(name, killOptions())
		must(t, err)
		has := 0
		if r.View.Instants() {
			has = int((r.View.End() + 1) / killSpan)
		}
		for len(views) <= has {
			must(t, killedTransaction(memory, len(views)-1))
			d, err := memory.BeginDrop()
			must(t, err)
			v, err := d.Commit()
			must(t, err)
			views = append(views, v)
		}
		if has < said || has%killSyncs != 0 {
			t.Fatalf("life %d, seed %d: %d transactions, and a Sync of %d returned", life, *killSeed, has, said)
		}
		if problem, err := differ(views[has], r.View); problem != "" || err != nil {
			t.Fatalf("life %d, seed %d, %d transactions: %s, %v", life, *killSeed, has, problem, err)
		}
		synced, lost = synced+said, lost+r.Lost
		must(t, r.Close())
	}
	t.Logf("%d kills, %d before there was a file; %d transactions were synced and there, %d bytes were behind a Sync", *kills, early, synced, lost)
}

// killedLife runs a process for some time. It returns the number of transactions of its last Sync that returned,
// and whether it has created the file.
func killedLife(t *testing.T, name string, after time.Duration) (synced int, began bool) {
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
			if _, err := fmt.Sscan(line, &synced); err != nil {
				t.Fatalf("the process printed %q", line)
			}
		}
	}
	if synced > 0 {
		return synced, true
	}
	r, err := Open(name, killOptions())
	if err != nil {
		return 0, false // Create had not returned
	}
	return 0, r.Close() == nil
}
