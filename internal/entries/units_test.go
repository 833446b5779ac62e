package entries

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/granarydb/granary/internal/catalog"
	"github.com/granarydb/granary/internal/damaged"
)

func TestUnits(t *testing.T) {
	want := catalog.UnitsChange{Seal: []catalog.UnitPlace{{Start: -7, ID: 1}, {Start: 1 << 60, ID: 300}}, Drop: []catalog.UnitPlace{{Start: 9, ID: 2}}}
	body := UnitsEntry(3, want)
	got, err := readUnits(body)
	if err != nil || !cmp.Equal(got, UnitsContents{3, want}) {
		t.Errorf("%+v, %v", got, err)
	}
	for n := range body {
		if _, err := readUnits(body[:n]); !errors.Is(err, ErrEntry) {
			t.Errorf("%d of %d bytes: %v", n, len(body), err)
		}
	}
	if _, err := readUnits(append(slices.Clone(body), 0)); !errors.Is(err, ErrEntry) {
		t.Errorf("a byte more: %v", err)
	}
}

func TestUnits_RandomChanges(t *testing.T) {
	damaged.RandomChanges(t, []damaged.Image{{
		Name: "units", Bytes: UnitsEntry(1, catalog.UnitsChange{Seal: []catalog.UnitPlace{{Start: 5, ID: 1}}, Drop: []catalog.UnitPlace{{Start: 9, ID: 2}}}), Bad: ErrEntry,
		Open: func(image []byte) (any, error) { return readUnits(image) },
		Use:  func(*testing.T, any) {},
	}})
}
