package encoding

import "github.com/google/uuid"

// Lists is a dictionary of lists to read: what an answer with codes of lists
// comes with. Its methods are those of ListDict. The zero Lists has no list.
type Lists struct{ dict *ListDict }

// Reader returns the dictionary without the means to change it.
func (d *ListDict) Reader() Lists { return Lists{d} }

// List appends the codes of the elements of a list to dst.
func (l Lists) List(dst []uint32, code uint32) []uint32 { return l.dict.List(dst, code) }

// Len returns the number of elements of a list.
func (l Lists) Len(code uint32) int { return l.dict.ListLen(code) }

// UUIDs appends the elements of a list to dst.
func (l Lists) UUIDs(dst []uuid.UUID, code uint32) []uuid.UUID { return l.dict.UUIDs(dst, code) }

// Element returns the element with the given code.
func (l Lists) Element(code uint32) uuid.UUID { return l.dict.Element(code) }

// Record returns what is kept beside an element, nil if nothing is. It must
// not be changed.
func (l Lists) Record(code uint32) []byte { return l.dict.Record(code) }
