package dict

import (
	"testing"

	"github.com/google/uuid"

	"github.com/granarydb/granary/internal/effort"
)

// Lists that are known are found, and read, without an allocation.
func TestListsAllocations(t *testing.T) {
	d := NewLists(1)
	lists := make([][]uuid.UUID, 200)
	for i := range lists {
		lists[i] = stackOf(i, 20)
	}
	lists = append(lists, lists[199], nil)
	codes := mustLists(t, d, lists)
	elements := make([][]uint32, len(lists))
	for i, code := range codes {
		elements[i] = d.List(nil, code)
	}
	element := mustElement(t, d, lists[0][0], "record")
	ids, few, record := make([]uuid.UUID, 0, 20), make([]uint32, 0, 20), make([]byte, 0, 20)
	for name, read := range map[string]func(){
		"List":           func() { few = d.List(few[:0], codes[7]) },
		"listLen":        func() { d.listLen(codes[7]) },
		"UUIDs":          func() { ids = d.UUIDs(ids[:0], codes[7]) },
		"Element":        func() { d.Element(element) },
		"ReadRecord":     func() { d.ReadRecord(&record, element) },
		"FindElement":    func() { d.FindElement(lists[0][0]) },
		"FindList":       func() { d.FindList(lists[3]) },
		"InternElement":  func() { _, _ = d.InternElement(lists[0][0], nil) },
		"InternElements": func() { few, _ = d.InternElements(few[:0], lists[0], nil) },
		"Need":           func() { d.Need(Growth{Elements: 1, Lists: 1, Members: 1, Longest: 1}) },
	} {
		allocates(t, name, 0, read)
	}
	if effort.Race {
		return // the scratch memory of interning is pooled
	}
	allocates(t, "InternLists", 0, func() { codes, _ = d.InternLists(codes[:0], lists) })
	allocates(t, "InternCodes", 0, func() { codes, _ = d.InternCodes(codes[:0], elements) })
}
