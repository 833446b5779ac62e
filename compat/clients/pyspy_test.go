package clients

import (
	"bytes"
	"encoding/json"
	"math"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
)

// spin is a Python program that knows of no profiler.
const spin = `
import time
def spin(until):
    while time.process_time() < until: sum(range(1000))
spin(time.process_time() + 2)
`

// TestPySpy profiles a Python program from outside with py-spy, and pushes its file of speedscope. The server has the sum
// that the file has, and the function that spins on top.
func TestPySpy(t *testing.T) {
	bin := filepath.Join(installed(t), "venv", "bin")
	file := filepath.Join(t.TempDir(), "python.speedscope.json")
	record := exec.CommandContext(t.Context(), filepath.Join(bin, "py-spy"), "record", "--format", "speedscope", "-o", file, //nolint:gosec // a test
		"--", filepath.Join(bin, "python"), "-c", spin)
	if out, err := record.CombinedOutput(); err != nil && strings.Contains(strings.ToLower(string(out)), "permi") {
		t.Skipf("py-spy may not trace a process here: %s", out)
	} else if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var written struct {
		Profiles []struct {
			Unit    string
			Weights []float64
		}
	}
	if err := json.Unmarshal(data, &written); err != nil {
		t.Fatal(err)
	}
	want := 0.0
	for _, p := range written.Profiles {
		if p.Unit != "seconds" {
			t.Errorf("a profile in %s", p.Unit)
		}
		for _, w := range p.Weights {
			want += w
		}
	}
	if want < 0.5 {
		t.Fatalf("the file has %g of two seconds of CPU time", want)
	}

	_, db, server := start(t)
	resp, err := http.Post(server+"/pprof?service_name=spied", "application/json", bytes.NewReader(data)) //nolint:noctx // a test
	if err != nil {
		t.Fatal(err)
	}
	var answer bytes.Buffer
	_, _ = answer.ReadFrom(resp.Body)
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("status %d: %s", resp.StatusCode, answer.String())
	}
	err = db.Store().View(t.Context(), func(snap *columnstore.Snapshot) error {
		typ, err := db.FindType(t.Context(), snap, "wall")
		if err != nil {
			return err
		}
		stacks, err := db.Merge(t.Context(), snap, typ, profile.Query{})
		if err != nil {
			return err
		}
		if want := int64(math.Round(want * float64(time.Second))); stacks.Total != want {
			t.Errorf("the store has %d ns, the file %d", stacks.Total, want)
		}
		if top := stacks.Top(); len(top) == 0 || top[0].Name != "spin" {
			t.Errorf("spin is not on top: %v", top)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
