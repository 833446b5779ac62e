// Package beside finds, for tests, recorded data that lies beside the checkout and is not part of the project.
package beside

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Data returns the path of a file or folder below ../shared/data, relative to the root of the project. If it
// is missing, Data skips the test, or fails it with GRANARY_NEED_SHARED=1, which CI sets where the data must
// exist.
func Data(t testing.TB, name string) string {
	t.Helper()
	path := filepath.Join(root(t), "..", "shared", "data", filepath.FromSlash(name))
	if _, err := os.Stat(path); err != nil {
		lacks(t, "../shared/data/"+name+" is not there: it holds recorded data and is not part of the repository")
	}
	return path
}

// lacks skips the test, or fails it where what it needs must exist.
func lacks(t testing.TB, what string) {
	t.Helper()
	if os.Getenv("GRANARY_NEED_SHARED") == "1" {
		t.Fatal(what + ", and GRANARY_NEED_SHARED is 1")
	}
	t.Skip(what)
}

// Profiles returns the profiles (*.pb.gz) of the repository by name, and if others is true also the profiles
// beside the repository. If these are missing, it skips or fails the test as Data does.
func Profiles(t testing.TB, others bool) (files []string) {
	t.Helper()
	patterns := []string{filepath.Join(root(t), "testdata", "profiles", "*", "*.pb.gz")}
	if others {
		dir := Data(t, "pprof")
		patterns = append(patterns, filepath.Join(dir, "*.pb.gz"), filepath.Join(dir, "many", "*.pb.gz"))
	}
	for _, pattern := range patterns {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("no file is %s: %v", pattern, err)
		}
		files = append(files, found...)
	}
	return files
}

// root returns the folder of the project's root module, an ancestor of the test's folder.
func root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	for ; err == nil && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if text, err := os.ReadFile(filepath.Join(dir, "go.mod")); err == nil && strings.HasPrefix(string(text), "module github.com/granarydb/granary\n") {
			return dir
		}
	}
	t.Fatal("the root module is not above the folder of the test", err)
	return ""
}
