package main

import (
	"bytes"
	"strconv"
	"time"

	pprof "github.com/google/pprof/profile"
	"github.com/google/uuid"

	"github.com/granarydb/granary/bench/fleet"
	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/profile"
	codec "github.com/granarydb/granary/profile/pprof"
	"github.com/granarydb/granary/schema"
)

// maker makes a fleet's CPU profiles as a table's codes. It belongs to one goroutine.
type maker struct {
	fleet *fleet.Fleet
	named *fleet.Fleet // the same with records, which cost more than the rest
	table *columnstore.Table
	from  time.Time // time of the first scrape

	codes    *columnstore.Codes // for a time range, like the next two
	coder    *fleet.Coder
	elements map[uuid.UUID]bool
	stacks   map[*uuid.UUID]uint32 // by first location, because a fleet has each stack once
}

// cpu is the number of the CPU time type among a fleet's four.
const cpu, types = 1, 4

// batch returns the n-th CPU profile.
func (m *maker) batch(n int) (*columnstore.Codes, schema.Batch, error) {
	b := m.fleet.Profile(types*n+cpu, m.from)
	if err := m.at(b.Columns[profile.ColumnTimestamp].Int64s[0]); err != nil {
		return nil, b, err
	}
	all := b.Columns[profile.ColumnStacktrace].UUIDLists
	if err := m.intern(all, n); err != nil {
		return nil, b, err
	}
	codes := make([]uint32, len(all))
	for i, stack := range all {
		codes[i] = m.stacks[&stack[0]]
	}
	b.Columns[profile.ColumnStacktrace] = encoding.UUIDLists(all[:1]...) // because the coder needs lists
	b, err := m.coder.Code(b)
	b.Columns[profile.ColumnStacktrace] = encoding.ListCodes(codes...)
	return m.codes, b, err
}

// at sets codes to the codes for time t.
func (m *maker) at(t int64) (err error) {
	if m.codes != nil {
		if from, to := m.codes.Range(); from <= t && t <= to {
			return nil
		}
	}
	if m.codes, err = m.table.Codes(t); err != nil {
		return err
	}
	m.coder, m.elements, m.stacks = fleet.NewCoder(m.codes), map[uuid.UUID]bool{}, map[*uuid.UUID]uint32{}
	return nil
}

// intern makes codes for the n-th profile's stacks that have none, and stores their locations' records as
// package profile does.
func (m *maker) intern(all [][]uuid.UUID, n int) error {
	var of map[uuid.UUID][]byte
	var stacks [][]uuid.UUID
	var ids []uuid.UUID
	var records [][]byte
	for _, stack := range all {
		if m.stacks[&stack[0]] != 0 {
			continue
		}
		stacks = append(stacks, stack)
		for _, id := range stack {
			if m.elements[id] {
				continue
			}
			if of == nil {
				of = m.named.Profile(types*n+cpu, m.from).Records
			}
			m.elements[id] = true
			record, err := recordOf(of[id])
			if err != nil {
				return err
			}
			ids, records = append(ids, id), append(records, record)
		}
	}
	if len(stacks) == 0 {
		return nil
	}
	if _, err := m.codes.Elements(nil, ids, records); err != nil {
		return err
	}
	codes, err := m.codes.UUIDLists(nil, stacks)
	for i, code := range codes {
		m.stacks[&stacks[i][0]] = code
	}
	return err
}

// recordOf converts a fleet's record, which is a name, a zero byte, a file and a line, into package
// profile's.
func recordOf(record []byte) ([]byte, error) {
	name, place, _ := bytes.Cut(record, []byte{0})
	file, digits, _ := bytes.Cut(place, []byte{':'})
	line, err := strconv.ParseInt(string(digits), 10, 64)
	if err != nil {
		return nil, err
	}
	f := &pprof.Function{ID: 1, Name: string(name), Filename: string(file)}
	l := &pprof.Location{ID: 1, Line: []pprof.Line{{Function: f, Line: line}}}
	var flat codec.Flat
	err = codec.Flatten(&pprof.Profile{
		SampleType: []*pprof.ValueType{{Type: "cpu", Unit: "nanoseconds"}}, Function: []*pprof.Function{f}, Location: []*pprof.Location{l},
		Sample: []*pprof.Sample{{Location: []*pprof.Location{l}, Value: []int64{1}}},
	}, codec.Limits{}.WithDefaults(), &flat)
	if err != nil {
		return nil, err
	}
	record, _ = flat.AppendLocation(nil, 1)
	return record, nil
}
