package postgres

import (
	"encoding/binary"
	"errors"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/granarydb/granary/bench/trees/block"
	"github.com/granarydb/granary/internal/effort"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A row of another form is an error.
func TestInterval(t *testing.T) {
	long := func(v int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(v)) }
	good := [][]byte{{0, 0, 0, 1}, {0, 4}, long(-2), long(3), nil, []byte("a")}
	in, err := interval(good)
	if err != nil || in.Key != 1 || in.Start != -2 || in.End != 3 || in.Kind != block.String || string(in.Text) != "a" {
		t.Errorf("%+v, %v", in, err)
	}
	for i := range 4 {
		row := append([][]byte{}, good...)
		row[i] = row[i][:1]
		if _, err := interval(row); !errors.Is(err, errRow) {
			t.Errorf("column %d is cut: %v", i, err)
		}
	}
	if _, err := interval(good[:5]); !errors.Is(err, errRow) {
		t.Errorf("a row of five columns: %v", err)
	}
}

// A package that is not installed is fetched, and its server works. It wants a network.
func TestUnpack(t *testing.T) {
	if !effort.Full {
		t.Skip("fetches 20 MB: with GRANARY_FULL=1 alone")
	}
	programs, remove, err := Unpack(os.TempDir())
	if errors.Is(err, ErrAbsent) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if programs == Installed {
		t.Errorf("programs are in %s", programs)
	}
	s, err := New(programs, os.TempDir(), GiST)
	if err != nil {
		t.Fatal(err)
	}
	want := block.Interval{Key: 5, Start: 6, End: 7, Kind: block.Int, Word: 8}
	if err := s.Load([]block.Interval{want}); err != nil {
		t.Error(err)
	}
	if in, found, err := s.Single(5, 7); err != nil || !found || in.Word != 8 {
		t.Errorf("%+v, %v, %v", in, found, err)
	}
	if err := errors.Join(s.Close(), remove()); err != nil {
		t.Error(err)
	}
	for _, name := range []string{programs, s.server.dir} {
		if _, err := os.Stat(name); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left: %v", name, err)
		}
	}
}
