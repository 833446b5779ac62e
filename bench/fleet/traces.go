package fleet

import (
	"encoding/binary"
	"math/rand/v2"

	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/schema"
)

// TraceID is the trace for which queries search. It has ten rows in the first scrape: one in each of two
// types of five pods in two jobs.
var TraceID = uuid.UUID{0xfe, 0xed, 0xfa, 0xce, 15: 1}

const (
	tracedProfiles = 4 // one profile in this number has trace ids, in every row
	tracesAProfile = 8 // ids in a profile, each in about an eighth of its rows
)

// trace adds the column of trace ids if a row in the profile has one. It draws from its own stream, so that
// the other columns are the same as without traces.
func (f *Fleet) trace(b *schema.Batch, place Place) {
	rng := rand.New(rand.NewPCG(f.seed^0x7ace, place.draw()))
	v := encoding.UUIDs(make([]uuid.UUID, b.Rows)...)
	traced := rng.IntN(tracedProfiles) == 0
	if traced {
		var ids [tracesAProfile]uuid.UUID
		for i := range ids {
			binary.BigEndian.PutUint64(ids[i][:], rng.Uint64())
			binary.BigEndian.PutUint64(ids[i][8:], rng.Uint64())
		}
		for i := range v.UUIDs {
			v.UUIDs[i] = ids[rng.IntN(len(ids))]
		}
	}
	pod := place.Job*f.Variant.Pods + place.pod
	special := place.Scrape == 0 && place.Kind < 2 && pod%2 == 0 && pod < 10
	if special {
		row := rng.IntN(b.Rows)
		v.UUIDs[row] = TraceID
		if !traced {
			v.Valid = make([]bool, b.Rows)
			v.Valid[row] = true
		}
	}
	if traced || special {
		b.Columns[profile.ColumnTraceID] = v
	}
}
