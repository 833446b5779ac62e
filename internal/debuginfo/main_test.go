package debuginfo

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// run runs a command, and returns its standard output.
func run(t testing.TB, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	var errors bytes.Buffer
	cmd.Dir, cmd.Stderr, cmd.Env = dir, &errors, append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, errors.String())
	}
	return string(out)
}

// need skips the test on a machine without tools of binutils or g++, unless GRANARY_NEED_CXX says that they are there.
func need(t testing.TB, tools ...string) {
	t.Helper()
	for _, tool := range tools {
		if _, err := exec.LookPath(tool); err != nil {
			if os.Getenv("GRANARY_NEED_CXX") != "" {
				t.Fatal(err)
			}
			t.Skipf("%s is not there: apt-get install g++ binutils llvm", tool)
		}
	}
}

// goProgram builds testdata/work.
func goProgram(t testing.TB, flags ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "work")
	run(t, ".", "go", append(append([]string{"build", "-o", path}, flags...), "./testdata/work")...)
	return path
}

// cxxProgram builds testdata/shop.cc, and returns the program with its debug information, the stripped one, and the debug
// information alone.
func cxxProgram(t testing.TB, flags ...string) (full, stripped, debug string) {
	t.Helper()
	need(t, "g++", "objcopy", "strip")
	dir := t.TempDir()
	full, stripped, debug = filepath.Join(dir, "full"), filepath.Join(dir, "shop"), filepath.Join(dir, "shop.debug")
	run(t, ".", "g++", append([]string{"-O2", "-g", "-Wl,--build-id=sha1", "-o", full, "testdata/shop.cc"}, flags...)...)
	run(t, ".", "objcopy", "--only-keep-debug", full, debug)
	run(t, ".", "strip", "-o", stripped, full)
	return full, stripped, debug
}

func open(t testing.TB, path string) *Info {
	t.Helper()
	f, err := Open(path, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}
