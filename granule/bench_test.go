package granule

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/schema"
)

// profiles is the profiling table, in the order of the RFC.
var profiles = schema.Definition{
	Columns: []schema.Column{
		{Name: "sample_type", Type: encoding.String, Encoding: encoding.DictionaryRLE},
		{Name: "sample_unit", Type: encoding.String, Encoding: encoding.DictionaryRLE},
		{Name: "period_type", Type: encoding.String, Encoding: encoding.DictionaryRLE},
		{Name: "period_unit", Type: encoding.String, Encoding: encoding.DictionaryRLE},
		{Name: "labels", Type: encoding.String, Encoding: encoding.DictionaryRLE, Dynamic: true},
		{Name: "stacktrace", Type: encoding.UUIDList, Encoding: encoding.Dictionary},
		{Name: "timestamp", Type: encoding.Int64, Encoding: encoding.Delta},
		{Name: "pprof_labels", Type: encoding.String, Encoding: encoding.DictionaryRLE, Dynamic: true},
		{Name: "duration", Type: encoding.Int64, Encoding: encoding.RLE},
		{Name: "period", Type: encoding.Int64, Encoding: encoding.RLE},
		{Name: "value", Type: encoding.Int64, Encoding: encoding.Plain},
	},
	SortingKey: []string{
		"sample_type", "sample_unit", "period_type", "period_unit", "labels",
		"stacktrace", "timestamp", "pprof_labels",
	},
	Bucket: schema.Bucket{Column: "timestamp", Width: 15 * 60 * 1e9},
	Header: []string{"timestamp", "duration", "period"},
}

// profileStacks makes stacks 18 deep that share their roots.
func profileStacks(rng *rand.Rand, n int) [][]uuid.UUID {
	stacks := make([][]uuid.UUID, n)
	for i := range stacks {
		stacks[i] = make([]uuid.UUID, 18)
		for k := range stacks[i] {
			fan := min(1<<k, 500)
			stacks[i][k] = uuid.UUID{byte(k), byte(rng.IntN(fan)), byte(rng.IntN(fan) >> 8)}
		}
	}
	return stacks
}

// profile makes the rows of one scrape: a CPU profile of one pod.
func profile(rng *rand.Rand, stacks [][]uuid.UUID, rows int, at int64) *schema.Batch {
	lists := make([][]uuid.UUID, rows)
	for i, k := range rng.Perm(len(stacks))[:rows] {
		lists[i] = stacks[k]
	}
	values := make([]int64, rows)
	for i := range values {
		values[i] = 1e7 * int64(1+rng.IntN(30)/10*rng.IntN(10))
	}
	return &schema.Batch{Rows: rows, Columns: map[string]encoding.Vector{
		"sample_type": encoding.Strings("cpu"), "sample_unit": encoding.Strings("nanoseconds"),
		"period_type": encoding.Strings("cpu"), "period_unit": encoding.Strings("nanoseconds"),
		"labels.job": encoding.Strings("api"), "labels.namespace": encoding.Strings("prod"),
		"labels.pod": encoding.Strings("api-7d9f4b6c5-x2x9z"), "labels.node": encoding.Strings("node-17"),
		"stacktrace": encoding.UUIDLists(lists...), "timestamp": encoding.Int64s(at),
		"duration": encoding.Int64s(1e10 + at%1e6), "period": encoding.Int64s(1e7),
		"value": encoding.Int64s(values...),
	}}
}

// BenchmarkCodePart is most of an insert: a profile of 500 rows with known stacks becomes a
// part.
func BenchmarkCodePart(b *testing.B) {
	s := mustSchema(b, profiles)
	rng := rand.New(rand.NewPCG(1, 2))
	gen := NewGeneration(1)
	batch := profile(rng, profileStacks(rng, 1000), 500, 1e9)
	columns, err := s.Check(batch)
	if err != nil {
		b.Fatal(err)
	}
	rows := make([]int32, batch.Rows)
	for i := range rows {
		rows[i] = int32(i)
	}
	var part *Part
	b.ReportAllocs()
	for b.Loop() {
		coded, err := Code(s, gen, 0, batch, columns, rows)
		if err != nil {
			b.Fatal(err)
		}
		part = coded.Part(0, coded.Len())
		coded.Done()
	}
	b.ReportMetric(float64(batch.Rows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
	b.ReportMetric(float64(part.Size())/float64(part.Rows()), "B/row")
}

// BenchmarkRewrite compacts 128 profiles of 512 rows, 64 Ki rows in all.
func BenchmarkRewrite(b *testing.B) {
	s := mustSchema(b, profiles)
	rng := rand.New(rand.NewPCG(1, 2))
	gen := NewGeneration(1)
	stacks := profileStacks(rng, 1000)
	g := New(s.BucketBounds(0))
	fresh := 0
	for i := range 128 {
		p := partOf(b, s, gen, profile(rng, stacks, 512, int64(i)*7e9+rng.Int64N(1e6)))
		fresh += p.Size()
		g = g.With(whole(p))
	}
	var children []*Granule
	b.ReportAllocs()
	for b.Loop() {
		children = Rewrite(s, g, Limit{Rows: math.MaxInt})
	}
	rows := float64(g.Rows())
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows, "ns/row")
	b.ReportMetric(rows*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
	b.ReportMetric(float64(fresh)/rows, "B/row-before")
	b.ReportMetric(float64(children[0].base.Part.Size())/rows, "B/row")
}
