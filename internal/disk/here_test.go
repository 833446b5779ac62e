package disk

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestSystem_Removed removes and replaces the directory or the lock file below a lock: that is an error, and no file is
// made in what is there instead.
func TestSystem_Removed(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows does not remove files in use")
	}
	for name, remove := range map[string]func(dir string) error{
		"directory":          os.RemoveAll,
		"directory replaced": func(dir string) error { return errors.Join(os.Rename(dir, dir+".away"), os.Mkdir(dir, 0o700)) },
		"lock file":          func(dir string) error { return os.Remove(filepath.Join(dir, LockName)) },
		"lock file replaced": func(dir string) error {
			return errors.Join(os.Remove(filepath.Join(dir, LockName)), os.WriteFile(filepath.Join(dir, LockName), nil, 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "db")
			fs := System(dir)
			lock, err := fs.Lock(false)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = lock.Close() }()
			if err := isHere(fs); err != nil {
				t.Fatal(err)
			}
			if err := remove(dir); err != nil {
				t.Fatal(err)
			}
			if err := isHere(fs); err == nil || !strings.Contains(err.Error(), "was removed or replaced") {
				t.Errorf("%v", err)
			}
			if err := isHere(&Space{FS: layer{fs}}); err == nil {
				t.Error("layers hide it")
			}
			if _, err := fs.Create("file"); err == nil {
				t.Error("a file is made in it")
			}
			if names, _ := fs.List(); len(names) > 3 {
				t.Errorf("it has %q", names)
			}
			if err := lock.Close(); err != nil {
				t.Fatal(err)
			}
			if err := isHere(fs); err != nil {
				t.Errorf("after the end: %v", err)
			}
		})
	}
}

// layer is an FS over another one, as other packages have.
type layer struct{ FS }

func (l layer) Under() FS { return l.FS }
