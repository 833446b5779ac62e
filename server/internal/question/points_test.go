package question

import (
	"math/rand/v2"
	"testing"

	"github.com/google/uuid"

	"github.com/granarydb/granary/profile"
)

// TestProfileID reads the ids of random profiles.
func TestProfileID(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		at := int64(rng.Uint64() >> rng.IntN(64))
		hash := HashLabels([]profile.Label{{Name: "a", Value: string(rune('a' + rng.IntN(26)))}})
		id := ProfileID(at, hash)
		gotAt, gotHash, err := ParseProfileID(id)
		if err != nil || gotAt != at || gotHash != hash {
			t.Fatalf("%s: %d, %x, %v, want %d, %x", id, gotAt, gotHash, err, at, hash)
		}
		if u, err := uuid.Parse(id); err != nil || u.Version() != 8 || u.Variant() != uuid.RFC4122 {
			t.Fatalf("%s: %v", id, err)
		}
	}
	if HashLabels([]profile.Label{{Name: "a", Value: "b"}}) == HashLabels([]profile.Label{{Name: "a", Value: "c"}}) {
		t.Error("two profiles have one hash")
	}
}

func FuzzParseProfileID(f *testing.F) {
	f.Add(ProfileID(1_790_000_000_000_000_000, 77))
	f.Add("7c9e6679-7425-40de-944b-e07fc1f90ae7")
	f.Fuzz(func(t *testing.T, text string) {
		at, hash, err := ParseProfileID(text)
		if err != nil {
			return
		}
		if again, same, err := ParseProfileID(ProfileID(at, hash)); err != nil || again != at || same != hash {
			t.Errorf("%q: %d, %x: %d, %x, %v", text, at, hash, again, same, err)
		}
	})
}
