package events

import (
	"os"
	"strings"
	"testing"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/trace/ihs"
)

// Recorded are the names of the recorded sets.
var Recorded = []string{"many-threads", "uneven-streams", "bug446190", "flipping-endianness"}

// Set returns a recorded set from a folder, or one that ihs makes ("synth:100:20000"), its intervals as changes in the order
// of their starts, and the paths of its attributes. It skips the test if the folder is not there.
func Set(t testing.TB, folder, name string) (s *ihs.Set, l List, path func(n int) []string) {
	t.Helper()
	if !strings.HasPrefix(name, "synth:") { // those are made
		name = folder + "/" + name
		if _, err := os.Stat(name + ".ihs.gz"); err != nil {
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
	return s, changes(s), paths(s)
}

func changes(s *ihs.Set) (l List) {
	for _, i := range s.ByStart() {
		in := s.At(i)
		e := Event{At: in.Start, N: int(in.Key)}
		switch in.Kind {
		case ihs.KindInt, ihs.KindLong:
			e.Value = history.Int(in.Int())
		case ihs.KindFloat:
			e.Value = history.Float(in.Float())
		case ihs.KindString:
			e.Value = history.String(in.Text)
		}
		l = append(l, e)
	}
	return l
}

func paths(s *ihs.Set) func(n int) []string {
	paths := make([][]string, len(s.Attributes))
	for key := range paths {
		paths[key] = s.Path(key)
	}
	return func(n int) []string { return paths[n] }
}
