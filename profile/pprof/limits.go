package pprof

// Limits bounds a profile. A field that is 0 means its default.
type Limits struct {
	// Bytes is the decompressed profile's size. Default 64 MiB. The largest heap profiles in the field
	// take a few MiB.
	Bytes int
	// Samples is the number of samples. Default 1,000,000.
	Samples int
	// Depth is the number of locations in a sample. Default 16,384, which is also the store's limit.
	Depth int
}

// WithDefaults returns the limits with a default for each field that is 0.
func (l Limits) WithDefaults() Limits {
	if l.Bytes == 0 {
		l.Bytes = 64 << 20
	}
	if l.Samples == 0 {
		l.Samples = 1_000_000
	}
	if l.Depth == 0 {
		l.Depth = 16 << 10
	}
	return l
}

// A profile shares strings and locations, but its samples do not, so these sums are bounded too. No
// hostile profile of 64 MiB in TestBombs takes more than 1 GiB to insert. The largest profiles in the
// field need far less than these limits.
const (
	// maxStackIDs bounds the locations of all samples, 4 bytes each.
	maxStackIDs = 16 << 20
	// maxLabels bounds the labels of all samples, 24 bytes each.
	maxLabels = 6 << 20
	// maxSampleValues bounds the values of all samples, 8 bytes each.
	maxSampleValues = 8 << 20
	// maxEntries bounds each table: sample types, strings, mappings, functions, locations and lines. An
	// entry takes up to 64 bytes.
	maxEntries = 1 << 20
	// maxTypeBytes bounds the names of the sample types, each with the period type's name, because every
	// pair of types is compared, and a store keeps all of them as one string.
	maxTypeBytes = 64 << 10
)
