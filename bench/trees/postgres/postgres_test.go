package postgres

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/granarydb/granary/bench/trees/block"
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

// A folder without the programs is named.
func TestFind(t *testing.T) {
	if dir := t.TempDir(); !errors.Is(Find(dir), ErrAbsent) || !strings.Contains(Find(dir).Error(), dir) {
		t.Error(Find(dir))
	}
}
