package format

import "iter"

// decodePPROF returns the profile of pprof bytes. They stay encoded, because a store decodes them into
// rows at a fraction of the cost of a profile in memory, and checks them and their limits then.
func decodePPROF(data []byte) iter.Seq2[Decoded, error] {
	return func(yield func(Decoded, error) bool) { yield(Decoded{Encoded: data}, nil) }
}
