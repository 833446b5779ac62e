package cli

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Errors of the temporary file name the requested file.
func TestWriteErrorsName(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "out")
	err := WriteTo(name, nil, func(w io.Writer) error {
		temporary, _ := filepath.Glob(name + ".*")
		for _, f := range temporary {
			if err := os.Remove(f); err != nil {
				return err
			}
		}
		_, err := io.WriteString(w, "all")
		return err
	})
	if !errors.Is(err, os.ErrNotExist) || strings.Count(err.Error(), name) != 1 || !strings.Contains(err.Error(), name+":") {
		t.Errorf("error %v, want one of %s", err, name)
	}
	full := &os.PathError{Op: "write", Path: name + ".123", Err: os.ErrInvalid}
	if err := naming(name, full); !errors.Is(err, os.ErrInvalid) || err.Error() != "write "+name+": invalid argument" {
		t.Errorf("error %v", err)
	}
	if naming(name, nil) != nil || !errors.Is(naming(name, io.EOF), io.EOF) {
		t.Error("other errors change")
	}
}
