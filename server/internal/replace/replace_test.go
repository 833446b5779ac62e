package replace

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// A file has all new bytes, or after an error its old ones, with nothing beside it.
func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rules.json")
	fault := errors.New("fault")
	for _, step := range []struct {
		text string
		err  error
		want string
	}{{"first", nil, "first"}, {"second", nil, "second"}, {"half", fault, "second"}, {"", nil, ""}} {
		err := File(path, func(w io.Writer) error {
			_, err := io.WriteString(w, step.text)
			return errors.Join(err, step.err)
		})
		if !errors.Is(err, step.err) {
			t.Fatalf("%q: %v, want %v", step.text, err, step.err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != step.want {
			t.Errorf("after %q the file has %q, %v, want %q", step.text, got, err, step.want)
		}
		if all, err := os.ReadDir(filepath.Dir(path)); err != nil || len(all) != 1 {
			t.Errorf("after %q: %v, %v", step.text, all, err)
		}
	}
	if err := File(filepath.Join(path, "none"), func(io.Writer) error { return nil }); err == nil {
		t.Error("a file in no directory was written")
	}
}
