package states

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/history/file"
	"github.com/granarydb/granary/history/summary"
	"github.com/granarydb/granary/internal/effort"
)

// asideOf returns what is beside the states of a file, and whether it is whole.
func asideOf(t *testing.T, name string) (aside []byte, whole bool) {
	t.Helper()
	r, err := file.Open(name, fileOptions(ourProvider+providerVersion))
	if err != nil {
		return nil, false
	}
	defer r.Close()
	if aside, err = r.Aside(); err != nil {
		return nil, false
	}
	p, err := summary.Open(r.View, aside)
	if err != nil || p.Size() == 0 {
		t.Fatal(err)
	}
	return aside, true
}

// TestFileSummaries: import writes summaries, which take at most 5 % of the file. Pictures are the same with them, without, and with
// ones that are damaged, of which plot and verify tell.
func TestFileSummaries(t *testing.T) {
	effort.Long(t)
	t.Chdir(t.TempDir())
	noise(t, "run", 3, 60_000)
	done(t, "import", "-o", "run.history", "run")
	image, err := os.ReadFile("run.history")
	if err != nil {
		t.Fatal(err)
	}
	aside, whole := asideOf(t, "run.history")
	if !whole || len(aside) < 1000 || 20*len(aside) > len(image) {
		t.Errorf("%d bytes of summaries, whole: %v, in a file of %d", len(aside), whole, len(image))
	}
	for _, args := range [][]string{{"plot", "-o", "-", "--title", "a", "FILE"}, {"plot", "--fold", "--rows", "2", "-o", "-", "--title", "a", "FILE"}} {
		pictures := map[string]string{}
		for _, name := range []string{"run", "run.history"} {
			r := granary(t, append([]string{"history"}, append(args[:len(args)-1:len(args)-1], name)...)...)
			if r.code != cli.ExitOK || strings.Contains(r.stderr, "summaries") {
				t.Errorf("%+v", r)
			}
			pictures[name] = r.stdout
		}
		if pictures["run"] != pictures["run.history"] {
			t.Errorf("%q: the pictures of the set and of the file differ", args)
		}
	}
	want := done(t, "plot", "--fold", "--rows", "2", "-o", "-", "--title", "a", "run.history")
	bad := bytes.Clone(image)
	for at := len(bad) - 64; ; at -= 16 { // the summaries are before the last index
		bad[at] ^= 1
		write(t, filepath.Join(mustWd(t), "bad.history"), bad)
		if r, err := file.Open("bad.history", fileOptions(ourProvider+providerVersion)); err == nil {
			_, err = r.Aside()
			if r.Close(); err != nil {
				break
			}
		}
		bad[at] ^= 1
	}
	r := granary(t, "history", "plot", "--fold", "--rows", "2", "-o", "-", "--title", "a", "bad.history")
	if r.code != cli.ExitOK || r.stdout != want || !strings.Contains(r.stderr, "bad.history is damaged at byte ") || !strings.Contains(r.stderr, "the summaries are made again") {
		t.Errorf("%d: %s", r.code, r.stderr)
	}
	r = granary(t, "history", "verify", "bad.history")
	if r.code != cli.ExitFailed || !strings.Contains(r.stdout, "Damaged: the summaries: the checksum of the aside is wrong") || !strings.Contains(r.stderr, "bad.history: the summaries are damaged") {
		t.Errorf("%+v", r)
	}
	var report fileReport
	r = granary(t, "history", "verify", "--json", "bad.history")
	if err := json.Unmarshal([]byte(r.stdout), &report); err != nil || report.Summaries == "" || len(report.Damages) != 0 || report.Intervals < 60_000 {
		t.Errorf("%v, %+v", err, r)
	}
}
