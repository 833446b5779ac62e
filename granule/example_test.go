package granule_test

import (
	"fmt"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/granule"
	"github.com/granarydb/granary/schema"
)

// Two inserts of two hosts' rows are split in two while a third arrives; the
// third is carried into both children.
func Example() {
	s, err := schema.New(schema.Definition{
		Columns: []schema.Column{
			{Name: "host", Type: encoding.String, Encoding: encoding.DictionaryRLE},
			{Name: "time", Type: encoding.Int64, Encoding: encoding.Delta},
		},
		SortingKey: []string{"host", "time"},
	})
	if err != nil {
		panic(err)
	}
	gen := granule.NewGeneration(1)
	insert := func(time int64) granule.Section {
		b := schema.Batch{Rows: 2, Columns: map[string]encoding.Vector{
			"host": encoding.Strings("b", "a"), "time": encoding.Int64s(time),
		}}
		columns, err := s.Check(&b)
		if err != nil {
			panic(err)
		}
		rows, err := granule.Code(s, gen, 0, &b, columns, nil)
		if err != nil {
			panic(err)
		}
		part := rows.Part(0, rows.Len())
		rows.Done()
		return granule.Section{Part: part, Lo: 0, Hi: part.Rows()}
	}

	old := granule.New("", "").With(insert(1)).With(insert(2))
	children := granule.Rewrite(s, old, granule.Limit{Rows: 2})
	now := old.With(insert(3))
	children, ok := now.Succeed(s, old, children)
	fmt.Println("published:", ok)
	for _, g := range children {
		fmt.Printf("%d rows, %d of them fresh:", g.Rows(), g.FreshRows())
		for _, section := range g.Sections() {
			for i := section.Lo; i < section.Hi; i++ {
				series, _ := s.ReadTuple(gen.Series.Value(uint32(section.Part.Series().At(i))))
				time := section.Part.Find(1, "time").Words().At(i)
				fmt.Printf(" %s@%d", series[0].Value, time)
			}
		}
		fmt.Println()
	}
	// Output:
	// published: true
	// 3 rows, 1 of them fresh: a@1 a@2 a@3
	// 3 rows, 1 of them fresh: b@1 b@2 b@3
}
