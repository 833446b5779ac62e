package columnstore

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/schema"
)

// Many lists, known and new in one batch, each get their own code.
func TestCodes_ManyLists(t *testing.T) {
	_, table := open(t, Options{Manual: true}, samples(0))
	codes, err := table.Codes(0)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 81))
	known := map[string]uint32{}
	for batch := range 60 {
		lists := make([][]uuid.UUID, 100)
		for i := range lists {
			for range rng.IntN(6) {
				lists[i] = append(lists[i], uuid.UUID{byte(rng.IntN(12)), 15: byte(rng.IntN(2))})
			}
		}
		got, err := internLists(codes, lists, batch%2 == 0)
		if err != nil {
			t.Fatal(err)
		}
		for i, list := range lists {
			if there := codes.gen.Load().Lists.UUIDs(nil, got[i]); !slices.Equal(there, list) {
				t.Fatalf("seed 1, batch %d: list %v got the code of %v", batch, list, there)
			}
			if code := known[fmt.Sprint(list)]; code != 0 && code != got[i] {
				t.Fatalf("seed 1, batch %d: list %v had the code %d, now %d", batch, list, code, got[i])
			}
			known[fmt.Sprint(list)] = got[i]
		}
	}
	if n := codes.gen.Load().Lists.Len(); n != len(known) || n < 2000 {
		t.Errorf("%d lists in the dictionary, want %d and many", n, len(known))
	}
}

// Rows with values and times far off the others', in parts of many blocks, survive inserts and
// rewrites.
func TestCodes_Outliers(t *testing.T) {
	for seed := range uint64(4) {
		rng := rand.New(rand.NewPCG(seed, 71))
		store, table := open(t, Options{Manual: true}, samples(0))
		codes, err := table.Codes(0)
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]int{}
		for range 5 {
			b := codedRow(t, codes, 0)
			b.Rows = 700
			values, times := make([]int64, b.Rows), make([]int64, b.Rows)
			for i := range values {
				values[i], times[i] = rng.Int64N(16), rng.Int64N(1000)
				if rng.IntN(40) == 0 {
					values[i] <<= 20
				}
				want[fmt.Sprint(values[i], times[i])]++
			}
			b.Columns["stack"] = encoding.ListCodes(slices.Repeat(b.Columns["stack"].Codes, b.Rows)...)
			b.Columns["time"], b.Columns["value"] = encoding.Int64s(times...), encoding.Int64s(values...)
			if _, err := codes.Insert(t.Context(), b); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 {
			got := map[string]int{}
			for row := range scanRows(t, table, snapshot(t, store), ScanOptions{Columns: []string{"value", "time"}}) {
				got[fmt.Sprint(row["value"], row["time"])]++
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("seed %d: rows (-want +got):\n%s", seed, diff)
			}
			compact(t, store)
		}
	}
}

// Profiles of 500 rows with known series and stacks take few allocations. In a transaction of
// 100, each allocates its part, the packed columns, and the growing slices of the transaction.
// A profile in a transaction of its own allocates its part, its columns, the granule it goes
// to, the root, and the transaction, unless that is reused by the insert.
func TestCodes_Allocations(t *testing.T) {
	if effort.Race {
		t.Skip("the race detector allocates")
	}
	store, table := open(t, Options{Manual: true}, samples(0))
	codes, err := table.Codes(0)
	if err != nil {
		t.Fatal(err)
	}
	lists := make([][]uuid.UUID, 500)
	for i := range lists {
		lists[i] = []uuid.UUID{{byte(i)}, {byte(i >> 8), 1}}
	}
	stacks, err := codes.UUIDLists(nil, lists)
	if err != nil {
		t.Fatal(err)
	}
	b := codedRow(t, codes, 0)
	b.Rows, b.Columns["stack"], b.Columns["value"] = 500, encoding.ListCodes(stacks...), encoding.Int64s(make([]int64, 500)...)
	for _, tt := range []struct {
		profiles int     // profiles of a transaction; 0: one, by Codes.Insert
		most     float64 // allocations of a profile
	}{{100, 3.5}, {1, 5}, {0, 4}} {
		checkAllocations(t, store, codes, b, tt.profiles, tt.most)
	}
}

// checkAllocations inserts a batch that many times a transaction.
func checkAllocations(t *testing.T, store *Store, codes *Codes, b schema.Batch, profiles int, most float64) {
	t.Helper()
	transaction := func() {
		if profiles == 0 {
			if _, err := codes.Insert(t.Context(), b); err != nil {
				t.Fatal(err)
			}
			return
		}
		tx := store.Begin()
		for i := range profiles {
			b.Columns["time"].Int64s[0] = int64(i)
			if err := tx.InsertCodes(t.Context(), codes, b); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	transaction() // fills the bucket, the series and the pools
	if n := testing.AllocsPerRun(200/max(profiles, 1), transaction) / float64(max(profiles, 1)); n > most {
		t.Errorf("%d profiles a transaction: %.2f allocations a profile, want at most %.2f", profiles, n, most)
	} else {
		t.Logf("%d profiles a transaction: %.2f allocations a profile", profiles, n)
	}
}
