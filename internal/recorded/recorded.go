// Package recorded opens recorded interval sets, for tests. They are not part of the project.
package recorded

import (
	"strings"
	"testing"

	"github.com/granarydb/granary/internal/beside"
	"github.com/granarydb/granary/internal/ihs"
)

// Names are the names of the recorded sets.
var Names = []string{"many-threads", "uneven-streams", "bug446190", "flipping-endianness"}

// Open returns a recorded set, or one that ihs makes ("synth:100:20000"). It skips the test if the recorded sets are not there; with GRANARY_NEED_SHARED=1 that is an error.
func Open(t testing.TB, name string) *ihs.Set {
	t.Helper()
	if !strings.HasPrefix(name, "synth:") {
		name = strings.TrimSuffix(beside.Data(t, "intervals/"+name+ihs.IntervalsSuffix), ihs.IntervalsSuffix)
	}
	s, err := ihs.Open(name, ihs.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}
