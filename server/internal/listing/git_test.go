package listing

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// gitIn runs git in a folder, as a person with a name and nothing configured.
func gitIn(t testing.TB, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "init.defaultBranch=main", "-c", "core.fsync=none", "-c", "core.compression=0", "-c", "gc.auto=0", "-c", "protocol.file.allow=always"}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %q: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// repository makes a repository of two versions, with what is no file of text, and a file outside of it.
func repository(t testing.TB) (dir string) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}
	base := t.TempDir()
	dir = filepath.Join(base, "repo")
	write := func(name, text string) {
		t.Helper()
		at := filepath.Join(base, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	write("secret", "outside\n")
	write("repo/cmd/main.go", "one\ntwo\n")
	write("repo/sub/a.go", "sub\n")
	write("repo/.env", "hidden\n")
	write("repo/*.go", "star\n")
	write("repo/binary", "a\x00b")
	write("repo/large", strings.Repeat("x\n", MaxBytes/2+1))
	if err := os.Symlink("../secret", filepath.Join(dir, "link")); err != nil {
		t.Skip(err)
	}
	gitIn(t, dir, "init", "-q")
	write("repo/.gitattributes", "*.go filter=evil diff=evil\n") // what a repository configures must not run
	gitIn(t, dir, "config", "filter.evil.smudge", "touch "+filepath.Join(base, "ran"))
	gitIn(t, dir, "config", "diff.evil.textconv", "touch "+filepath.Join(base, "ran"))
	gitIn(t, dir, "add", "-A")
	gitIn(t, dir, "commit", "-qm", "first")
	gitIn(t, dir, "tag", "v1.0")
	write("repo/cmd/main.go", "changed\n")
	gitIn(t, dir, "commit", "-qam", "second")
	gitIn(t, dir, "tag", "-a", "v2.0", "-m", "second")
	write("repo/cmd/main.go", "not committed\n")
	write("repo/new.go", "not committed\n")
	t.Cleanup(func() {
		if _, err := os.Stat(filepath.Join(base, "ran")); err == nil {
			t.Error("the repository ran a program")
		}
	})
	return dir
}

// TestPart_Git reads files of revisions, in a repository with a working tree and in a bare one, and never the working tree.
func TestPart_Git(t *testing.T) {
	dir := repository(t)
	first, bare := gitIn(t, dir, "rev-parse", "v1.0"), filepath.Join(t.TempDir(), "bare.git")
	gitIn(t, dir, "clone", "-q", "--bare", dir, bare)
	d := dirs(t, Dir{"head", dir, "HEAD"}, Dir{"tag", bare, "v1.0"}, Dir{"version", bare, "v{version}"}, Dir{"commit", dir, "{version}"}, Dir{"folder", dir, "main:sub"})
	for _, test := range []struct {
		file, version, want string
		err                 error
	}{
		{"head/cmd/main.go", "", "changed", nil},
		{"tag/cmd/main.go", "9", "one two", nil},
		{"version/cmd/main.go", "1.0", "one two", nil},
		{"version/cmd/main.go", "2.0", "changed", nil},
		{"commit/cmd/main.go", first, "one two", nil},
		{"commit/cmd/main.go", first[:12], "one two", nil},
		{"commit/cmd/main.go", "v1.0-0-g" + first[:12], "one two", nil}, // as git describe says it
		{"folder/a.go", "", "sub", nil},
		{"head/*.go", "", "star", nil},
		{"version/cmd/main.go", "3.0", "", ErrNoFile},
		{"version/cmd/main.go", "", "", ErrVersion},
		{"head/new.go", "", "", ErrNoFile},
		{"head/cmd", "", "", ErrNoFile},
		{"head/link", "", "", ErrNoFile},
		{"head/.env", "", "", ErrNoFile},
		{"head/.git/config", "", "", ErrNoFile},
		{"head/binary", "", "", ErrNoText},
		{"head/large", "", "", ErrLarge},
		{"folder/../cmd/main.go", "", "", ErrNoFile},
	} {
		got, err := d.Part(t.Context(), test.file, test.version, 1, 9)
		if strings.Join(got, " ") != test.want || !errors.Is(err, test.err) {
			t.Errorf("%s %q: %q, %v, want %q, %v", test.file, test.version, got, err, test.want, test.err)
		}
	}
}

// TestPart_GitHostile names versions and files that have a meaning for git or its options, and repositories that are none.
func TestPart_GitHostile(t *testing.T) {
	dir := repository(t)
	d := dirs(t, Dir{"any", dir, "{version}"}, Dir{"tag", dir, "v{version}"})
	for _, version := range []string{
		"--output=x", "-h", "HEAD:cmd", ":/second", "@{-1}", "HEAD@{0}", "HEAD^{/first}", "HEAD~1", "^HEAD", "v1.0..v2.0", "../secret", "/etc", "refs/../HEAD", "HEAD HEAD", "v1.0\n", "v1.0\x00", "", ".git", "main/", "é", strings.Repeat("a", 5000),
		"HEAD:", "$(touch ran)", "`touch ran`", "v1.0;touch ran", "*",
	} {
		for _, name := range []string{"any/cmd/main.go", "tag/cmd/main.go"} {
			if got, err := d.Part(t.Context(), name, version, 1, 9); err == nil || got != nil {
				t.Errorf("%s at %q: %q", name, version, got)
			} else if strings.Contains(err.Error(), dir) {
				t.Errorf("%s at %q: the error tells of the server: %v", name, version, err)
			}
		}
	}
	for _, name := range []string{"any/../secret", "any/--name-only", "any/-z", "any/:(glob)**", "any/:!x", "any/cmd/../cmd/main.go", "any/cmd/", "any//cmd/main.go", "any/" + dir + "/cmd/main.go", "any/link/secret", "any/cmd\tx", "any/cmd\nx"} {
		if got, err := d.Part(t.Context(), name, "v1.0", 1, 9); !errors.Is(err, ErrNoFile) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	for _, one := range []Dir{{"", dir, "none"}, {"", dir, "-h"}, {"", filepath.Dir(dir), "HEAD"}, {"", dir + "/cmd", "HEAD"}, {"", dir + "/none", "HEAD"}, {"", dir + "/none", "{version}"}} {
		if _, err := New([]Dir{one}); err == nil {
			t.Errorf("%+v is taken", one)
		}
	}
}

// FuzzPart_Git asks for any file of any version: what is read is always of the repository.
func FuzzPart_Git(f *testing.F) {
	dir := repository(f)
	d, err := New([]Dir{{"", dir, "{version}"}})
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range []string{"cmd/main.go", "../secret", "-z", ":(top)cmd", "link"} {
		for _, version := range []string{"v1.0", "HEAD:cmd", "--help", ":/x"} {
			f.Add(name, version)
		}
	}
	inside := []string{"one", "changed", "sub", "star", "x"}
	f.Fuzz(func(t *testing.T, name, version string) {
		got, err := d.Part(t.Context(), name, version, 1, 1)
		if err == nil && len(got) > 0 && !slices.Contains(inside, got[0]) {
			t.Errorf("%q of %q: %q", name, version, got)
		}
	})
}
