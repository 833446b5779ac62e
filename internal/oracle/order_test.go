package oracle

import (
	"testing"

	"github.com/google/uuid"
)

// TestDisorder has sound orders and mistakes.
func TestDisorder(t *testing.T) {
	a, b := []uuid.UUID{{1}}, []uuid.UUID{{2}}
	key := []string{"kind", "labels", "stack", "time"}
	for _, test := range []struct {
		name   string
		rows   []Row
		sound  bool
		starts []int64
	}{
		{"sorted", []Row{{"time": int64(1), "kind": "a"}, {"time": int64(0), "kind": "b"}}, true, nil},
		{"bucket leads", []Row{{"time": int64(1), "kind": "b"}, {"time": int64(200), "kind": "a"}}, true, nil},
		{"bucket goes back", []Row{{"time": int64(1)}, {"time": int64(-1)}}, false, nil},
		{"value goes back", []Row{{"time": int64(1), "kind": "b"}, {"time": int64(1), "kind": "a"}}, false, nil},
		{"null is last", []Row{{"time": int64(1), "kind": "b"}, {"time": int64(1), "kind": nil}}, false, nil},
		{"no label after label", []Row{
			{"time": int64(1), "labels.a": "x", "labels.b": nil}, {"time": int64(1), "labels.a": nil, "labels.b": "x"},
		}, false, nil},
		{"lists lie together", []Row{{"time": int64(1), "stack": b}, {"time": int64(2), "stack": b}, {"time": int64(0), "stack": a}}, true, nil},
		{"list comes again", []Row{{"time": int64(1), "stack": b}, {"time": int64(2), "stack": a}, {"time": int64(0), "stack": b}}, false, nil},
		{"list comes again behind another prefix", []Row{
			{"time": int64(1), "kind": "a", "stack": b},
			{"time": int64(2), "kind": "a", "stack": a},
			{"time": int64(0), "kind": "b", "stack": b},
		}, true, nil},
		{"time goes back in a list", []Row{{"time": int64(2), "stack": b}, {"time": int64(1), "stack": b}}, false, nil},
		{"value goes back behind a cut", []Row{{"time": int64(1), "kind": "b"}, {"time": int64(7), "kind": "a"}}, true, []int64{0, 5}},
		{"value goes back before a cut", []Row{{"time": int64(1), "kind": "b"}, {"time": int64(4), "kind": "a"}}, false, []int64{0, 5}},
		{"late row", []Row{{"time": int64(7), "kind": "b"}, {"time": int64(5), "kind": "a"}}, true, []int64{0, 5}},
		{"value goes back twice behind a cut", []Row{
			{"time": int64(1), "kind": "c"}, {"time": int64(7), "kind": "b"}, {"time": int64(7), "kind": "a"},
		}, false, []int64{0, 5}},
		{"row of an earlier bucket", []Row{
			{"time": int64(1), "kind": "b"}, {"time": int64(7), "kind": "a"}, {"time": int64(2), "kind": "c"},
		}, false, []int64{0, 5}},
		{"cut of another range", []Row{{"time": int64(1), "kind": "b"}, {"time": int64(99), "kind": "a"}}, false, []int64{0, 100}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if found := Disorder(100, test.starts, key, test.rows); (found == "") != test.sound {
				t.Errorf("Disorder = %q, want sound = %v", found, test.sound)
			}
		})
	}
}
