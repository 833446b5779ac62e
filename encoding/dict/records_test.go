package dict

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/uuid"
)

// TestLists_Records has one element for each record, in the order of the records, and stops
// when it is told to.
func TestLists_Records(t *testing.T) {
	d := NewLists(1)
	var ids []uuid.UUID
	for i := range 200 {
		ids = append(ids, uuid.UUID{byte(i), 1})
	}
	if _, err := d.InternElements(nil, ids, nil); err != nil {
		t.Fatal(err)
	}
	for element := range d.Records() {
		t.Fatalf("without records: %d", element)
	}
	var want []uint32
	for i, element := range rand.New(rand.NewPCG(1, 1)).Perm(len(ids))[:100] {
		record := []byte{byte(i / 2)} // of two elements each
		if err := d.KeepRecord(ids[element], record); err != nil {
			t.Fatal(err)
		}
		if code := uint32(element + 1); i%2 == 0 {
			want = append(want, code)
		} else {
			want[len(want)-1] = max(want[len(want)-1], code)
		}
	}
	for most := range len(want) + 1 {
		var got []uint32
		for element, record := range d.Records() {
			if len(got) == most {
				break
			}
			if record[0] != byte(len(got)) || string(d.Record(element)) != string(record) {
				t.Fatalf("record %d is %d, that of element %d is %d", len(got), record, element, d.Record(element))
			}
			got = append(got, element)
		}
		if !slices.Equal(got, want[:most]) {
			t.Fatalf("%d, want %d", got, want[:most])
		}
	}
}
