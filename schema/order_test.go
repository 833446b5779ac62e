package schema_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/schema"
)

// A batch is checked independently of earlier batches with the same order, even after a
// refused batch or one of another schema.
func TestOrder(t *testing.T) {
	s, other := mustNew(t, definition()), definition()
	other.Columns[0], other.Columns[2] = other.Columns[2], other.Columns[0]
	swapped := mustNew(t, other)
	many := func(first int) *schema.Batch {
		b := batch()
		for i := range 100 {
			b.Columns[fmt.Sprint("labels.", first+i)] = encoding.Strings("a")
		}
		return b
	}
	changed := func(change func(*schema.Batch)) *schema.Batch {
		b := batch()
		change(b)
		return b
	}
	batches := map[string]*schema.Batch{
		"some":       batch(),
		"the same":   changed(func(b *schema.Batch) { b.Columns["labels.az"] = encoding.Strings("other") }),
		"as many":    changed(func(b *schema.Batch) { b.Columns["labels.b"] = b.Columns["labels.az"]; delete(b.Columns, "labels.az") }),
		"fewer":      changed(func(b *schema.Batch) { delete(b.Columns, "nums.size") }),
		"more":       changed(func(b *schema.Batch) { b.Columns["labels.zone"] = encoding.Strings("z") }),
		"none":       {},
		"many":       many(0),
		"many more":  many(50),
		"unknown":    changed(func(b *schema.Batch) { b.Columns["nobody"] = b.Columns["nums.size"]; delete(b.Columns, "nums.size") }),
		"bad values": changed(func(b *schema.Batch) { b.Columns["nums.size"] = encoding.Strings("a") }),
		"bad name":   changed(func(b *schema.Batch) { b.Columns["labels.\x01"] = encoding.Strings("a") }),
		"no time":    changed(func(b *schema.Batch) { delete(b.Columns, "time") }),
	}
	for before, first := range batches {
		for name, b := range batches {
			t.Run(name+" after "+before, func(t *testing.T) {
				for _, of := range []*schema.Schema{s, swapped} {
					order := new(schema.Order)
					memory, _ := s.CheckInto(nil, order, first)
					memory, _ = s.CheckInto(memory[:0], order, batches["fewer"])
					want, wantErr := of.Check(b)
					for range 2 { // the second time it is the one before itself
						got, err := of.CheckInto(memory[:0], order, b)
						if diff := cmp.Diff(want, got); diff != "" || fmt.Sprint(err) != fmt.Sprint(wantErr) {
							t.Fatalf("CheckInto(): %v, want %v (-want +got):\n%s", err, wantErr, diff)
						}
					}
				}
			})
		}
	}
}

// Batches of the same columns allocate nothing.
func TestOrderAllocates(t *testing.T) {
	s, order := mustNew(t, definition()), new(schema.Order)
	b, memory := batch(), make([]schema.Concrete, 0, 10)
	fewer, other := batch(), batch()
	delete(fewer.Columns, "nums.size")
	other.Columns["labels.b"] = other.Columns["labels.az"]
	delete(other.Columns, "labels.az")
	for name, batches := range map[string][]*schema.Batch{"one kind": {b}, "two kinds": {b, fewer}, "two as many": {other, b}} {
		n := testing.AllocsPerRun(100, func() {
			for _, b := range batches {
				memory, _ = s.CheckInto(memory[:0], order, b)
			}
		})
		if n != 0 {
			t.Errorf("%s: %v allocations, want none", name, n)
		}
	}
}
