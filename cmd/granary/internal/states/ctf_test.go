package states

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/internal/beside"
)

// kernelText is what babeltrace2 prints of a trace.
const kernelText = `[1457113582.000000001] (+?.?????????) h sched_switch: { cpu_id = 0 }, { prev_comm = "a", prev_tid = 1, prev_prio = 20, prev_state = 1, next_comm = "b", next_tid = 2, next_prio = 20 }
[1457113582.000000009] (+0.000000008) h sched_stat_wait: { cpu_id = 0 }, { }
[1457113582.000000019] (+0.000000010) h sched_wakeup: { cpu_id = 0 }, { comm = "a", tid = 1, prio = 20, target_cpu = 0 }
`

// fakeBabeltrace makes a folder with a trace, and has babeltrace2 be a script.
func fakeBabeltrace(t *testing.T, script string) (dir string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the script is one of sh")
	}
	dir = filepath.Join(t.TempDir(), "kernel")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	for name, text := range map[string]string{
		filepath.Join(dir, "metadata"):    "/* CTF 1.8 */\n",
		filepath.Join(dir, "text"):        kernelText,
		filepath.Join(bin, "babeltrace2"): "#!/bin/sh\nfor dir; do :; done\n" + script + "\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	return dir
}

// TestCTF imports the folder of a trace with babeltrace2, and the same text from a file.
func TestCTF(t *testing.T) {
	dir := fakeBabeltrace(t, `cat "$dir/text"; echo "WARNING: the tracer discarded 5 events" >&2`)
	out := filepath.Join(t.TempDir(), "k.history")
	r := granary(t, "history", "import", "-o", out, dir)
	if r.code != cli.ExitOK || !strings.Contains(r.stdout, "from 2016-03-04T17:46:22.000000001Z to 2016-03-04T17:46:22.000000019Z") {
		t.Fatalf("%+v", r)
	}
	if !strings.Contains(r.stderr, "left out: 1 sched_stat_wait events, which are of no state") {
		t.Errorf("%+v", r)
	}
	if want := "kernel: babeltrace2: WARNING: the tracer discarded 5 events\n"; !strings.Contains(r.stderr, want) {
		t.Errorf("%+v", r)
	}
	want := granary(t, "history", "range", "--csv", out, "Threads/1")
	if !strings.Contains(want.stdout, "waiting (blocked)") || !strings.Contains(want.stdout, "waiting (CPU)") {
		t.Errorf("%+v", want)
	}
	session := filepath.Dir(dir)
	write(t, filepath.Join(session, "text"), []byte(kernelText))
	for _, of := range []string{dir, session, filepath.Join(dir, "text")} {
		if r := granary(t, "history", "range", "--csv", of, "Threads/1"); r.code != cli.ExitOK || r.stdout != want.stdout {
			t.Errorf("%s: %+v, want %s", of, r, want.stdout)
		}
	}
}

// TestCTF_Wrong says what is wrong with a trace, or that babeltrace2 is missing, and writes nothing.
func TestCTF_Wrong(t *testing.T) {
	for script, want := range map[string]string{
		"echo broken >&2; exit 3":               "kernel: babeltrace2: exit status 3: broken",
		"exit 0":                                "kernel: a trace without an event",
		`cat "$dir/text"; exit 4`:               "kernel: line 4: babeltrace2: exit status 4",
		`cat "$dir/text"; echo "no event"; cat`: "kernel: line 4: not an event of the Linux kernel: not an event of babeltrace2",
		// babeltrace2 goes on, until it is ended.
		`for i in 1 2 3 4 5 6 7 8 9; do cat "$dir/text" "$dir/text"; echo no; cat "$dir/text"; done; exec sleep 600`: "kernel: line 7: not an event of the Linux kernel",
	} {
		dir, out := fakeBabeltrace(t, script), filepath.Join(t.TempDir(), "k.history")
		r := granary(t, "history", "import", "-o", out, dir)
		if r.code == cli.ExitOK || !strings.Contains(r.stderr, want) {
			t.Errorf("%s: %+v, want %q", script, r, want)
		}
		if _, err := os.Stat(out); err == nil {
			t.Errorf("%s: %s is there", script, out)
		}
	}
	dir := fakeBabeltrace(t, "")
	t.Setenv("PATH", t.TempDir())
	if r := granary(t, "history", "import", "-o", filepath.Join(t.TempDir(), "k.history"), dir); r.code == cli.ExitOK || !strings.Contains(r.stderr, "install the package babeltrace2") {
		t.Errorf("%+v", r)
	}
}

// TestCTF_Recorded imports a recorded trace with the real babeltrace2, as its folder and as its text.
func TestCTF_Recorded(t *testing.T) {
	name, dir := beside.CTF(t, "bug446190"), t.TempDir()
	text, err := exec.Command("babeltrace2", "--clock-seconds", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "text"), text, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, of := range []string{name, filepath.Join(dir, "text")} {
		r := granary(t, "history", "import", "-o", filepath.Join(dir, "k.history"), of)
		if want := "37,467 intervals of 818 attributes, from 2014-10-07T08:36:01.211260539Z to 2014-10-07T08:36:07.217750839Z"; r.code != cli.ExitOK || !strings.Contains(r.stdout, want) {
			t.Errorf("%s: %+v, want %s", of, r, want)
		}
	}
}
