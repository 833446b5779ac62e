package dict

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
)

// dump writes how the lists with codes [lo, hi) lie in memory: a field a line, its bytes
// in hex and their meaning. The last element of a list comes first.
func dump(out *strings.Builder, d *Lists, lo, hi uint32) {
	f := &d.lists
	for code := max(lo, 1); code < hi && int(code) <= d.Len(); code++ {
		i := int(code) - 1
		place := *f.places.at(i)
		shared, own, codes := f.open(i)
		var numbers []uint32
		for k := range own {
			numbers = append(numbers, codes.at(k))
		}
		whole := f.appendReversed(nil, i)
		slices.Reverse(whole)
		fmt.Fprintf(out, "list     %d, at %d of block %d\n", code, place&math.MaxUint16, place>>16)
		field := func(name, bytes, meaning string) {
			line := fmt.Sprintf("  %-8s %s", name, bytes)
			if meaning != "" {
				line = fmt.Sprintf("%-11s  %s", line, meaning)
			}
			fmt.Fprintln(out, strings.TrimRight(line, " "))
		}
		field("shared", hexVarint(shared), fmt.Sprintf("%d with the list before", shared))
		field("own", hexVarint(own<<widthBits|(codes.width-1)), fmt.Sprintf("%d of width %d", own, codes.width))
		field("codes", fmt.Sprintf("% x", codes.bytes[:own*codes.width]), text(numbers))
		field("reads", text(whole), "")
	}
}

func hexVarint(v int) string { return fmt.Sprintf("% x", binary.AppendUvarint(nil, uint64(v))) }

func text(codes []uint32) string { return strings.Trim(fmt.Sprint(codes), "[]") }

// Lists that share much, nothing, all, and one after the sixteenth, which is whole.
func TestDumpListsGolden(t *testing.T) {
	d := NewLists(1)
	for i := range 1000 { // so that codes have two bytes, too
		mustElement(t, d, uuidOf(i), "")
	}
	lists := [][]uuid.UUID{
		{uuidOf(7), uuidOf(3), uuidOf(2), uuidOf(1)},
		{uuidOf(900), uuidOf(3), uuidOf(2), uuidOf(1)},
		{uuidOf(3), uuidOf(2), uuidOf(1)},
		{},
		{uuidOf(5)},
	}
	for len(lists) < restart+2 {
		lists = append(lists, []uuid.UUID{uuidOf(len(lists)), uuidOf(2), uuidOf(1)})
	}
	for _, list := range lists { // one by one: a batch would sort them
		mustLists(t, d, [][]uuid.UUID{list})
	}
	var out strings.Builder
	out.WriteString("# Front-coded lists, the last element first: 1 to 5, and those around the seventeenth, which is whole.\n" +
		"# Made by: go test ./encoding/dict -run TestDumpListsGolden -update\n# A field a line: its bytes in order, and what they mean.\n\n")
	for _, r := range [][2]uint32{{0, 6}, {restart, math.MaxUint32}} {
		dump(&out, d, r[0], r[1])
	}
	checkGolden(t, "lists.golden", out.String())
}
