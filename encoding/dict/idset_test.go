package dict

import (
	"encoding/binary"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/uuid"
)

// idWith returns an id with a hash, the n-th.
func idWith(hash uint64, n int) (id uuid.UUID) {
	binary.LittleEndian.PutUint64(id[:], hash)
	binary.LittleEndian.PutUint64(id[8:], uint64(n))
	return id
}

// hashIn returns the hash of an id of idWith.
func hashIn(id *uuid.UUID) uint64 { return binary.LittleEndian.Uint64(id[:]) }

// idSetHashes are hashes that are hard for sets of ids: n-th of them, by name.
var idSetHashes = map[string]func(r *rand.Rand, n int) uint64{
	"random":         func(r *rand.Rand, _ int) uint64 { return r.Uint64() },
	"one":            func(*rand.Rand, int) uint64 { return 7 },
	"one home":       func(r *rand.Rand, _ int) uint64 { return r.Uint64() >> 32 },
	"the last home":  func(r *rand.Rand, _ int) uint64 { return r.Uint64() | 0xffffffff<<32 },
	"few tags":       func(r *rand.Rand, _ int) uint64 { return r.Uint64()<<32 | 5 | r.Uint64N(2)<<31 },
	"tag of a code":  func(r *rand.Rand, n int) uint64 { return r.Uint64()<<32 | uint64(n) },
	"one shard late": func(r *rand.Rand, n int) uint64 { return r.Uint64()&^15 | uint64(n>>9&1) },
}

// A set of ids finds its members, and nothing else, by each hash while it grows: ids with the
// same home, the same bits beside the code, and codes that outgrow these bits in a small
// shard.
func TestIDSet(t *testing.T) {
	for name, hash := range idSetHashes {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 2))
			var s idSet
			var ids []uuid.UUID
			var hashes []uint64
			for n := range 1500 {
				before, need := s.heap(), s.need(1)
				h := hash(r, n)
				id := idWith(h, n)
				if code := s.find(&id, h); code != 0 {
					t.Fatalf("id %d is code %d before it is added", n, code)
				}
				if code := s.add(id, h, hashIn); code != uint32(n+1) {
					t.Fatalf("id %d has code %d", n, code)
				}
				if grew := s.heap() - before; grew > need {
					t.Fatalf("id %d: grew by %d, need said %d", n, grew, need)
				}
				ids, hashes = append(ids, id), append(hashes, h)
			}
			missing := idWith(hashes[0], -1)
			ids, hashes = append(ids, missing), append(hashes, hashes[0])
			codes := slices.Repeat([]uint32{9}, len(ids))
			s.findAll(codes, ids, hashes)
			for n, code := range codes {
				want := uint32(n + 1)
				if ids[n] == missing {
					want = 0
				}
				if one := s.find(&ids[n], hashes[n]); code != want || one != want {
					t.Fatalf("id %d has code %d, and %d by itself; want %d", n, code, one, want)
				}
			}
		})
	}
}

// Shards move to as many slots when codes need more bits than they left, before that to
// more.
func TestIDSetCodesOutgrowShard(t *testing.T) {
	var s idSet
	s.add(idWith(1, 0), 1, hashIn)
	least := s.shards[1].slots.Load()
	for n := 1; n <= int(least.codes); n++ {
		s.add(idWith(uint64(n)<<36|2, n), uint64(n)<<36|2, hashIn)
	}
	s.add(idWith(1<<40|1, 0), 1<<40|1, hashIn)
	moved := s.shards[1].slots.Load()
	if moved == least || len(moved.slots) != len(least.slots) || moved.codes <= least.codes {
		t.Errorf("%d slots with codes up to %d, then %d with %d", len(least.slots), least.codes, len(moved.slots), moved.codes)
	}
	for _, hash := range []uint64{1, 1<<40 | 1} {
		if id := idWith(hash, 0); s.find(&id, hash) == 0 {
			t.Errorf("the id with hash %d is lost", hash)
		}
	}
}

// The hash of elements equals its documented formula, computed with big integers.
func TestElementKey(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	big128 := func(w [2]uint64) *big.Int {
		n := new(big.Int).Lsh(new(big.Int).SetUint64(w[1]), 64)
		return n.Or(n, new(big.Int).SetUint64(w[0]))
	}
	seen := map[uint64]bool{}
	for n := range 1000 {
		k := newElementKey(r.Uint64() >> (n % 64))
		id := idWith(r.Uint64()>>(n%63), int(r.Uint64()))
		want := new(big.Int).Mul(big128(k.first), new(big.Int).SetUint64(binary.LittleEndian.Uint64(id[:8])))
		want.Add(want, new(big.Int).Mul(big128(k.second), new(big.Int).SetUint64(binary.LittleEndian.Uint64(id[8:]))))
		want.Add(want, big128(k.add)).Rsh(want, 64)
		mask := new(big.Int).SetUint64(1<<64 - 1)
		if got := k.hash(&id); got != want.And(want, mask).Uint64() || seen[got] {
			t.Fatalf("hash of %v is %x, want %x, and no hash twice", id, got, want)
		} else {
			seen[got] = true
		}
	}
}
