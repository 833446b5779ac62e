package iceberg

import (
	"errors"
	"slices"
	"testing"
	"time"
)

// Invariants L1 and L7 for an id that was freed: the units of its next directory are others, and those before add none any more.
func TestForget(t *testing.T) {
	l := openLake(t)
	end := func(minutes int64) time.Time { return time.Unix(0, start+minutes*int64(time.Minute)) }
	var earlier []*Sealer
	var late *Files // of the first directory
	for life := range int64(3) {
		if err := errors.Join(l.Forget(t.Context(), "n"), l.Register(t.Context(), "n", "http://host:1")); err != nil {
			t.Fatal(err)
		}
		db := openDB(t)
		s := &Sealer{Lake: l, Node: "n", Store: db.Store(), Table: db.Table(), Grace: time.Hour}
		if err := errors.Join(s.Check(t.Context()), insertValue(db, 0, life+1)); err != nil {
			t.Fatal(err)
		}
		if did, err := s.Seal(t.Context(), end(1)); err != nil || did.Units != 1 {
			t.Fatalf("life %d: %+v, %v", life, did, err)
		}
		nodes, _, err := l.Nodes(t.Context())
		if want := []Node{{"n", life<<40 | 1, "http://host:1"}}; err != nil || !slices.Equal(nodes, want) || nodes[0].Unit() != 1 || nodes[0].Hot() != "http://host:1/arrow?form=plain&after=1" {
			t.Errorf("life %d: %+v, %v", life, nodes, err)
		}
		for _, before := range earlier {
			if _, err := before.Seal(t.Context(), end(2)); !errors.Is(err, ErrNode) {
				t.Errorf("the sealer of an earlier life: %v, want %v", err, ErrNode)
			}
		}
		if life == 0 {
			if late, err = l.Write(t.Context(), unit(t, db, "n", 2)); err != nil {
				t.Fatal(err)
			}
		} else if _, err := l.Commit(t.Context(), late); !errors.Is(err, ErrNode) {
			t.Errorf("a unit of an earlier life: %v, want %v", err, ErrNode)
		}
		if err := insertValue(db, 1, 100); err != nil { // for the next unit
			t.Fatal(err)
		}
		earlier = append(earlier, s)
	}
	values, _, err := lakeValues(l, "n")
	slices.Sort(values)
	if err != nil || !slices.Equal(values, []int64{1, 2, 3}) {
		t.Errorf("%v, %v", values, err)
	}
	units := map[string]bool{}
	for _, row := range gotRows(t, l) {
		units[sealPattern.FindString(row)] = true
	}
	if len(units) != 3 {
		t.Errorf("units %v", units)
	}
}
