package querier

import (
	querierv1 "github.com/grafana/pyroscope/api/gen/proto/go/querier/v1"

	"github.com/granarydb/granary/profile"
)

// flamebearer is the answer to GET /pyroscope/render and to GET /pyroscope/render-diff.
type flamebearer struct {
	Version     int                  `json:"version"`
	Flamebearer flames               `json:"flamebearer"`
	Metadata    metadata             `json:"metadata"`
	Timeline    *timeline            `json:"timeline"`
	Groups      map[string]*timeline `json:"groups"`
	LeftTicks   *int64               `json:"leftTicks,omitempty"`
	RightTicks  *int64               `json:"rightTicks,omitempty"`
}

// flames is a flame graph, level by level as in levelsOf.
type flames struct {
	Names    []string  `json:"names"`
	Levels   [][]int64 `json:"levels"`
	NumTicks int64     `json:"numTicks"`
	MaxSelf  int64     `json:"maxSelf"`
}

// metadata says how to read the values of a flame graph.
type metadata struct {
	Format     string `json:"format"` // single or double
	SpyName    string `json:"spyName"`
	SampleRate int64  `json:"sampleRate"` // values of a second, if Units is samples
	Units      string `json:"units"`
	Name       string `json:"name"`
}

// newFlamebearer returns the answer with the flame graph of a type.
func newFlamebearer(format string, t profile.Type, names []string, levels []*querierv1.Level, total, maxSelf int64) *flamebearer {
	units, rate := unitsOf(t)
	out := &flamebearer{
		Version: 1, Flamebearer: flames{Names: names, NumTicks: total, MaxSelf: maxSelf},
		Metadata: metadata{Format: format, SpyName: "unknown", SampleRate: rate, Units: units, Name: t.Sample},
	}
	for _, l := range levels {
		out.Flamebearer.Levels = append(out.Flamebearer.Levels, l.GetValues())
	}
	return out
}

// unitsOf returns the unit of a type by its name in a flamebearer, and the number of values in a second. Times are
// samples at a rate of one for each nanosecond, because the format has no unit for them except for locks.
func unitsOf(t profile.Type) (units string, rate int64) {
	const usual, nanos = 100, 1_000_000_000
	switch {
	case t.Sample == "delay" && t.SampleUnit == "nanoseconds":
		return "lock_nanoseconds", nanos
	case t.SampleUnit == "nanoseconds":
		return "samples", nanos
	case t.SampleUnit != "count":
		return t.SampleUnit, usual
	case t.Sample == "contentions":
		return "lock_samples", usual
	case t.Sample == "goroutine" || t.Sample == "goroutines":
		return "goroutines", usual
	}
	return "objects", usual
}
