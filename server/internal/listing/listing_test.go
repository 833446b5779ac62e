package listing

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// tree makes a folder of sources, beside a secret outside of it, and returns both.
func tree(t *testing.T) (dir, secret string) {
	t.Helper()
	base := t.TempDir()
	dir = filepath.Join(base, "src")
	for name, text := range map[string]string{
		"src/main.go": "package main\n\nfunc main() {\r\n\twork()\n}", "src/v1/a/a.go": "one\n", "src/v2/a/a.go": "two\n", "src/.env": "secret", "src/.git/config": "secret",
		"src/binary": "a\x00b", "src/latin": "\xe9t\xe9\n", "src/long.go": strings.Repeat("x", 2000) + "\n" + strings.Repeat("y\n", 5000), "secret.txt": "secret", "src2/main.go": "secret",
	} {
		at := filepath.Join(base, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir, filepath.Join(base, "secret.txt")
}

func dirs(t *testing.T, all ...Dir) *Dirs {
	t.Helper()
	d, err := New(all)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestPart reads parts of files of prefixes, of which the longest counts, and of versions.
func TestPart(t *testing.T) {
	dir, _ := tree(t)
	d := dirs(t, Dir{Prefix: "/build", Dir: dir}, Dir{Prefix: "/build/old/", Dir: dir + "/v1"}, Dir{Prefix: "example.com/shop", Dir: dir + "/{version}"}, Dir{Prefix: `C:/work`, Dir: dir}, Dir{Prefix: "example.com/v", Dir: dir + "/v{version}/a"})
	for _, test := range []struct {
		file, version string
		first, last   int
		want          []string
		err           error
	}{
		{"/build/main.go", "", 1, 9, []string{"package main", "", "func main() {", "\twork()", "}"}, nil},
		{"/build/main.go", "", 3, 4, []string{"func main() {", "\twork()"}, nil},
		{"/build/main.go", "", 6, 9, nil, nil},
		{"/build/old/a/a.go", "", 1, 1, []string{"one"}, nil},
		{`C:\work\main.go`, "", 1, 1, []string{"package main"}, nil},
		{"example.com/shop/a/a.go", "v2", 1, 1, []string{"two"}, nil},
		{"example.com/v/a.go", "1", 1, 1, []string{"one"}, nil},
		{"example.com/shop/a/a.go", "", 1, 1, nil, ErrVersion},
		{"example.com/shop/a/a.go", "v3", 1, 1, nil, ErrNoFile},
		{"/builder/main.go", "", 1, 1, nil, ErrNoDir},
		{"/build", "", 1, 1, nil, ErrNoDir},
		{"/build/none.go", "", 1, 1, nil, ErrNoFile},
		{"/build/binary", "", 1, 1, nil, ErrNoText},
		{"/build/latin", "", 1, 1, nil, ErrNoText},
		{"", "", 1, 1, nil, ErrNoDir},
	} {
		got, err := d.Part(t.Context(), test.file, test.version, test.first, test.last)
		if !slices.Equal(got, test.want) || !errors.Is(err, test.err) {
			t.Errorf("%q %q: %q, %v, want %q, %v", test.file, test.version, got, err, test.want, test.err)
		}
	}
	got, err := d.Part(t.Context(), "/build/long.go", "", 1, 1<<40)
	if err != nil || len(got) != MaxLines || got[0] != strings.Repeat("x", maxLine) {
		t.Errorf("%d lines, the first of %d bytes, %v", len(got), len(got[0]), err)
	}
	if got, err := dirs(t, Dir{Prefix: "", Dir: dir}).Part(t.Context(), "main.go", "", 1, 1); err != nil || len(got) != 1 {
		t.Errorf("without a prefix: %q, %v", got, err)
	}
}

// TestPart_Hostile: no name and no version leads to a file outside, a hidden one, or one that is no file.
func TestPart_Hostile(t *testing.T) {
	dir, secret := tree(t)
	up := "../"
	names := []string{
		"/build/../secret.txt", "/build/a/../../secret.txt", "/build//etc/passwd", "/build/" + secret, "/build/./main.go", "/build/main.go/", "/build/main.go/..", "/build/.env", "/build/.git/config", "/build/a/../.env",
		"/build/" + strings.Repeat(up, 50) + "etc/passwd", "/build/main.go\x00.txt", "/build/" + strings.Repeat("a/", 600) + "x", "/build/" + strings.Repeat("n", 300), "/build/v1", "/build/", `/build/..\secret.txt`, `/build/\\host\share`,
		"/build/C:/Windows/win.ini", "/build/NUL", "/build/main.go::$DATA", "/build/..", "/build/.", "/build/v1/a/a.go/x",
	}
	if runtime.GOOS != "windows" {
		for link, to := range map[string]string{
			"link": secret, "up": "..", "abs": "/", "loop": "loop", "self": "../src2/main.go", "dev": "/dev/zero", "tty": "/dev/tty", "proc": "/proc/self/environ",
		} {
			if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
				t.Fatal(err)
			}
		}
		names = append(names, "/build/link", "/build/up/secret.txt", "/build/abs/etc/passwd", "/build/loop", "/build/self", "/build/dev", "/build/tty", "/build/proc", "/build/up/src/main.go")
		if err := mkfifo(filepath.Join(dir, "pipe")); err != nil {
			t.Fatal(err)
		}
		names = append(names, "/build/pipe")
	}
	d := dirs(t, Dir{Prefix: "/build", Dir: dir}, Dir{Prefix: "ver", Dir: dir + "/{version}"})
	for _, name := range names {
		start := time.Now()
		got, err := d.Part(t.Context(), name, "", 1, 100)
		if err == nil || got != nil || time.Since(start) > 10*time.Second {
			t.Errorf("%.100q: %.100q, %v", name, got, err)
		}
		if err != nil && (strings.Contains(err.Error(), dir) || strings.Contains(err.Error(), "secret")) {
			t.Errorf("%q: the error tells of the server: %v", name, err)
		}
	}
	for _, version := range []string{"..", ".", "../src2", "v1/..", "/", "/etc", "", ".git", "v1\x00", `..\src2`, "v1/a", strings.Repeat("v", 5000), "C:", "~", "up"} {
		for _, name := range []string{"ver/main.go", "ver/a/a.go", "ver/config", "ver/passwd", "ver/src2/main.go", "ver/secret.txt"} {
			if got, err := d.Part(t.Context(), name, version, 1, 100); err == nil {
				t.Errorf("version %.20q, %s: %.100q", version, name, got)
			}
		}
	}
	large := filepath.Join(dir, "large.go")
	if err := os.WriteFile(large, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(large, 1<<40); err != nil { // a file of holes
		t.Skip(err)
	}
	if got, err := d.Part(t.Context(), "/build/large.go", "", 1, 100); !errors.Is(err, ErrLarge) {
		t.Errorf("%d lines, %v", len(got), err)
	}
}

// TestNew refuses what is no directory, and a prefix that is there twice.
func TestNew(t *testing.T) {
	dir, secret := tree(t)
	for i, all := range [][]Dir{{{Prefix: "a", Dir: secret}}, {{Prefix: "a", Dir: dir + "/none"}}, {{Prefix: "a", Dir: dir}, {Prefix: "a", Dir: dir}}, {{Prefix: "a", Dir: dir + "/none/{version}"}}} {
		if d, err := New(all); err == nil {
			t.Errorf("%d: %v", i, d)
		}
	}
	if _, err := New([]Dir{{Prefix: "a", Dir: dir + "/{version}"}, {Prefix: "b", Dir: dir}}); err != nil {
		t.Error(err)
	}
}

// FuzzPart asks for any name: what is read is always of the folder.
func FuzzPart(f *testing.F) {
	base := f.TempDir()
	dir := filepath.Join(base, "src")
	for name, text := range map[string]string{"src/a/b.go": "inside", "secret": "outside", ".hidden": "outside"} {
		at := filepath.Join(base, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, []byte(text), 0o644)); err != nil {
			f.Fatal(err)
		}
	}
	d, err := New([]Dir{{Prefix: "", Dir: dir}, {Prefix: "v", Dir: dir + "/{version}"}})
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range []string{"a/b.go", "../secret", "v/b.go", "v/../secret", "a/../../secret", "/secret"} {
		f.Add(name, "a")
		f.Add(name, "..")
	}
	f.Fuzz(func(t *testing.T, name, version string) {
		got, err := d.Part(t.Context(), name, version, 1, 10)
		if err == nil && !slices.Equal(got, []string{"inside"}) {
			t.Errorf("%q of %q: %q", name, version, got)
		}
	})
}
