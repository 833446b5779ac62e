// Package recorded opens recorded interval sets, for tests. They are not part of the project.
package recorded

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/granarydb/granary/trace/ihs"
)

// Names are the names of the recorded sets.
var Names = []string{"many-threads", "uneven-streams", "bug446190", "flipping-endianness"}

// Open returns a recorded set, or one that ihs makes ("synth:100:20000"). root is the path from the folder of the test
// to that of the project. It skips the test if the recorded sets are not there; with GRANARY_NEED_SHARED=1 that is an error.
func Open(t testing.TB, root, name string) *ihs.Set {
	t.Helper()
	if !strings.HasPrefix(name, "synth:") {
		name = filepath.Join(filepath.FromSlash(root), "..", "shared", "data", "intervals", name)
		if _, err := os.Stat(name + ihs.IntervalsSuffix); err != nil {
			const what = "../shared/data/intervals is not there: it holds real histories and is not part of the repository"
			if os.Getenv("GRANARY_NEED_SHARED") == "1" {
				t.Fatal(what + ", and GRANARY_NEED_SHARED is 1")
			}
			t.Skip(what)
		}
	}
	s, err := ihs.Open(name, ihs.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}
