package export

import (
	"testing"

	"github.com/apache/arrow/go/v14/arrow/array"

	"github.com/granarydb/granary/profile"
	codec "github.com/granarydb/granary/profile/pprof"
)

// The column has the stack of each group, with each location and its lines whole.
func TestStacks(t *testing.T) {
	table := &profile.StackTable{
		Groups: []uint32{1, 0, 1}, Ends: []int32{0, 1, 3}, Members: []uint32{1, 0, 1},
		Locations: codec.LocationColumns{
			Texts: []string{"", "/bin/a", "id", "f", "g", "a.go"}, Addresses: []uint64{16, 32}, Files: []uint32{1, 0}, BuildIDs: []uint32{2, 0},
			LineEnds: []int32{0, 2, 2}, Functions: []uint32{3, 4}, SystemNames: []uint32{3, 0}, SourceFiles: []uint32{5, 5},
			StartLines: []int64{1, 2}, Lines: []int64{7, 8},
		},
	}
	column := Stacks(table)
	defer column.Release()
	const bare = `{"address":32,"lines":[],"mapping_build_id":"","mapping_file":""}`
	const whole = `{"address":16,"lines":[` +
		`{"function_filename":"a.go","function_name":"f","function_start_line":1,"function_system_name":"f","line":7},` +
		`{"function_filename":"a.go","function_name":"g","function_start_line":2,"function_system_name":"","line":8}],` +
		`"mapping_build_id":"id","mapping_file":"/bin/a"}`
	want := []string{"[" + whole + "," + bare + "]", "[" + bare + "]", "[" + whole + "," + bare + "]"}
	if column.Len() != len(want) {
		t.Fatalf("%d elements", column.Len())
	}
	for i, text := range want {
		d := column.(*array.Dictionary)
		if got := d.Dictionary().ValueStr(d.GetValueIndex(i)); got != text {
			t.Errorf("element %d is\n%s, want\n%s", i, got, text)
		}
	}
}

func TestStacks_Empty(t *testing.T) {
	column := Stacks(&profile.StackTable{Ends: []int32{0}})
	defer column.Release()
	if column.Len() != 0 {
		t.Errorf("%d elements", column.Len())
	}
}
