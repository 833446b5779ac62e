package main

import (
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"slices"

	"github.com/granarydb/granary/bench/trees/block"
)

// digest is a set of intervals, in any order.
type digest struct {
	count int
	sum   uint64
}

var seed = maphash.MakeSeed()

// add adds an interval with its value. Whole numbers of both widths are the same: a history
// has one kind for them.
func (d *digest) add(in block.Interval) {
	if in.Kind == block.Int {
		in.Kind = block.Long
	}
	b := make([]byte, 0, 64)
	for _, v := range []uint64{uint64(in.Start), uint64(in.End), uint64(in.Key), uint64(in.Kind), in.Word} {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	d.count++
	d.sum += maphash.Bytes(seed, append(b, in.Text...))
}

// checkedFull is the number of full queries that are compared before any is timed.
const checkedFull = 5

// check compares a store's answers with those that a look at every interval gives: all
// single and 2D questions, and the first full ones.
func (s *intervals) check(of answers) error {
	for _, q := range s.singles {
		want, at := s.all[q.want], q.at
		in, found, err := of.Single(want.Key, at)
		if err != nil {
			return err
		}
		var got, wanted digest
		got.add(in)
		wanted.add(want)
		if !found || got != wanted {
			return fmt.Errorf("key %d at %d is %+v, %v, want %+v", want.Key, at, in, found, want)
		}
	}
	for _, q := range s.singles[:checkedFull] {
		at := q.at
		var got, want digest
		if err := of.Full(at, got.add); err != nil {
			return err
		}
		s.each(func(in *block.Interval) bool { return in.Start <= at && at <= in.End }, want.add)
		if got != want {
			return fmt.Errorf("all at %d: %d intervals, want %d, or others", at, got.count, want.count)
		}
	}
	for _, keys := range [][]uint32{s.some, s.kind} {
		var got, want digest
		if err := of.Plane(keys, s.times, got.add); err != nil {
			return err
		}
		s.each(s.inPlane(keys), want.add)
		if got != want {
			return fmt.Errorf("2D query of %d keys: %d intervals, want %d, or others", len(keys), got.count, want.count)
		}
	}
	return nil
}

// each calls f for the intervals that is chooses.
func (s *intervals) each(is func(*block.Interval) bool, f func(block.Interval)) {
	for i := range s.all {
		if is(&s.all[i]) {
			f(s.all[i])
		}
	}
}

// inPlane chooses the answers of a 2D question.
func (s *intervals) inPlane(keys []uint32) func(*block.Interval) bool {
	wanted := make([]bool, s.set.Header.Keys)
	for _, key := range keys {
		wanted[key] = true
	}
	return func(in *block.Interval) bool {
		i, _ := slices.BinarySearch(s.times, in.Start)
		return wanted[in.Key] && i < len(s.times) && s.times[i] <= in.End
	}
}
