package encoding

import (
	"runtime"
	"testing"

	"github.com/google/uuid"
)

// TestInternLists_Repeats interns two long lists that take turns: they are gathered once
// each, not once a row.
func TestInternLists_Repeats(t *testing.T) {
	const long, rows = 1 << 16, 4096
	var lists [2][]uuid.UUID
	for k := range lists {
		for i := range long {
			lists[k] = append(lists[k], uuid.UUID{byte(i), byte(i >> 8), byte(k)})
		}
	}
	all := make([][]uuid.UUID, rows)
	for i := range all {
		all[i] = lists[i%2]
	}
	d := NewListDict(1)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	codes, err := d.InternLists(nil, all)
	if err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	for i, code := range codes {
		if code != codes[i%2] || code == codes[(i+1)%2] {
			t.Fatalf("row %d has code %d, the first two %d", i, code, codes[:2])
		}
	}
	for k, list := range lists {
		if got := d.UUIDs(nil, codes[k]); len(got) != len(list) || got[7] != list[7] {
			t.Errorf("list %d has %d elements", k, len(got))
		}
	}
	if bytes := after.TotalAlloc - before.TotalAlloc; bytes > 64<<20 {
		t.Errorf("%d MB were allocated for two lists of 1 MB", bytes>>20)
	}
}
