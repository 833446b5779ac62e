package granary

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// installed are the folders of the modules that people install or require, in the order of their tags (.ci/release).
var installed = []string{".", "server", "cmd/granary", "compat/arrow18", "compat/iceberg", "compat/parca", "compat/duckdb"}

// modFile is what go mod edit -json prints.
type modFile struct {
	Module  struct{ Path string }
	Require []struct{ Path, Version string }
	Replace []struct {
		Old struct{ Path, Version string }
	}
}

func readMod(t *testing.T, dir string) (mod modFile) {
	t.Helper()
	out, err := exec.Command("go", "mod", "edit", "-json", filepath.Join(dir, "go.mod")).Output()
	if err != nil {
		t.Fatalf("%s: %v", dir, err)
	}
	if err := json.Unmarshal(out, &mod); err != nil {
		t.Fatalf("%s: %v", dir, err)
	}
	return mod
}

// TestModulesAreFew bounds their number: each has versions of its own to look after.
func TestModulesAreFew(t *testing.T) {
	const most = 12
	var modules []string
	err := filepath.WalkDir(".", func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Name() == "go.mod" {
			modules = append(modules, filepath.Dir(path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(modules) > most || len(modules) < len(installed) {
		t.Errorf("there are %d modules, at most %d: %v", len(modules), most, modules)
	}
}

// TestModulesInstall holds the modules that people install to what the go command can install: no replace, and
// of each other one version that can be tagged. A module is tagged behind the modules that it requires.
func TestModulesInstall(t *testing.T) {
	version := ""
	var before []string
	for _, dir := range installed {
		mod := readMod(t, dir)
		for _, r := range mod.Replace {
			t.Errorf("%s replaces %s: go install refuses it", dir, r.Old.Path)
		}
		for _, r := range mod.Require {
			if r.Path != module && !strings.HasPrefix(r.Path, module+"/") {
				continue
			}
			if version == "" {
				version = r.Version
			}
			if r.Version != version || strings.HasPrefix(r.Version, "v0.0.0") {
				t.Errorf("%s requires %s %s, others %s: want one version that is not v0.0.0", dir, r.Path, r.Version, version)
			}
			if !slices.Contains(before, r.Path) {
				t.Errorf("%s requires %s, which is not tagged before it", dir, r.Path)
			}
		}
		before = append(before, mod.Module.Path)
	}
	for _, m := range []string{module + " " + version + " => ./", module + "/server " + version + " => ./server"} {
		if version == "" || !strings.Contains(readFile(t, "go.work"), m+"\n") {
			t.Errorf("go.work does not say %q", m)
		}
	}
}

// TestModulesAreReleased holds the list of .ci/release to that of these tests.
func TestModulesAreReleased(t *testing.T) {
	list := regexp.MustCompile(`(?m)^MODULES=\(([^)]*)\)`).FindStringSubmatch(readFile(t, ".ci/release"))
	if list == nil || !slices.Equal(strings.Fields(list[1]), installed) {
		t.Errorf(".ci/release has the modules %q, want %v", list, installed)
	}
}
