package planted

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// TestBugsApply reads every planted bug of this repository and applies it to the sources of its
// module. The suites themselves run with the tag planted alone; a change to code that a bug needs
// shows here first.
func TestBugsApply(t *testing.T) {
	bugs := 0
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() || d.Name() != "planted" || filepath.Base(filepath.Dir(path)) != "testdata" {
			return err
		}
		files, err := filepath.Glob(filepath.Join(path, "*.diff"))
		for _, file := range files {
			bugs++
			b, err := readBug(file)
			if err == nil {
				_, err = (&tree{root: moduleOf(path)}).plant(b)
			}
			if err != nil {
				t.Error(err)
			}
		}
		return cmp.Or(err, fs.SkipDir)
	})
	if err != nil || bugs == 0 {
		t.Errorf("%d bugs: %v", bugs, err)
	}
}

// moduleOf returns the folder of the module that has a folder.
func moduleOf(folder string) string {
	for {
		if _, err := os.Stat(filepath.Join(folder, "go.mod")); err == nil {
			return folder
		}
		folder = filepath.Dir(folder)
	}
}
