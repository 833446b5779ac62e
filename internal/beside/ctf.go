package beside

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// CTF returns a new folder with a recorded trace of LTTng in the Common Trace Format, for babeltrace2. It skips or fails
// the test as Data does, also without that command.
func CTF(t testing.TB, name string) (dir string) {
	t.Helper()
	packed := Data(t, "ctf/"+name+".tar.gz")
	if _, err := exec.LookPath("babeltrace2"); err != nil {
		lacks(t, "there is no babeltrace2, which prints the recorded events: apt-get install babeltrace2")
	}
	dir = t.TempDir()
	if out, err := exec.Command("tar", "-xzf", packed, "-C", dir).CombinedOutput(); err != nil {
		t.Fatalf("tar: %v: %s", err, out)
	}
	return filepath.Join(dir, name)
}
