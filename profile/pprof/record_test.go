package pprof

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	pprof "github.com/google/pprof/profile"

	"github.com/granarydb/granary/encoding/dict"
)

// A location is parsed as it was encoded, of a program, of a library and of neither, and its id is the hash of its record.
func TestEncodeLocation(t *testing.T) {
	line := RecordLine{Function: "f", SystemName: "_f", Shown: "f", File: "f.c", StartLine: 2, Line: 3, Column: 4}
	mapping := &pprof.Mapping{Start: 0x4000, Limit: 0x8000, Offset: 0x1000, File: "/lib/libc.so", BuildID: "b1", HasFunctions: true}
	for name, l := range map[string]*LocationRecord{
		"library": {Mapping: mapping, Address: 0x4010, Lines: []RecordLine{line, line}},
		"program": {Mapping: mapping, Address: 0x4010, Program: true},
		"none":    {Address: 0x10, Folded: true, Lines: []RecordLine{line}},
	} {
		record, id, err := EncodeLocation(l)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ParseLocation(record)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(l, got, cmpopts.IgnoreUnexported(pprof.Mapping{}), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: -encoded +parsed\n%s", name, diff)
		}
		if dict.IDOfRecord(record) != id {
			t.Errorf("%s: the id is %v, want %v", name, id, dict.IDOfRecord(record))
		}
	}
}
