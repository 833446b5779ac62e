package replay

import (
	"strings"
	"testing"
)

// A folder that is missing or has no profile is an error that names the folder.
func TestOpen_Errors(t *testing.T) {
	if _, err := Open(t.TempDir() + "/none"); err == nil || !strings.Contains(err.Error(), "is not there") {
		t.Errorf("%v", err)
	}
	if _, err := Open(t.TempDir()); err == nil || !strings.Contains(err.Error(), "no profile") {
		t.Errorf("%v", err)
	}
}
