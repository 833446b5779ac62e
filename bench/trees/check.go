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
	wide  bool // whole numbers of both widths are the same: a history has one kind for them
	count int
	sum   uint64
}

// digests returns empty digests for a store's answers and for the wanted intervals.
func digests(of answers) (got, want digest) {
	_, got.wide = of.(counter)
	return got, got
}

var seed = maphash.MakeSeed()

// add adds an interval with its value.
func (d *digest) add(in block.Interval) {
	if d.wide && in.Kind == block.Int {
		in.Kind = block.Long
	}
	b := make([]byte, 0, 64)
	for _, v := range []uint64{uint64(in.Start), uint64(in.End), uint64(in.Key), uint64(in.Kind), in.Word} {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	d.count++
	d.sum += maphash.Bytes(seed, append(b, in.Text...))
}

// checkSingle compares a store's answer with the interval that is wanted, or nil.
func checkSingle(of answers, key uint32, at int64, wanted *block.Interval) error {
	in, found, err := of.Single(key, at)
	if err != nil {
		return err
	}
	got, want := digests(of)
	if found {
		got.add(in)
	}
	if wanted != nil {
		want.add(*wanted)
	}
	if got != want {
		return fmt.Errorf("key %d at %d is %+v, %v, want %+v", key, at, in, found, wanted)
	}
	return nil
}

// oracle is a list of intervals, of which a look at each gives the answers.
type oracle []block.Interval

// check compares a store's answers, which ask hands over, with the intervals that `is` chooses, and counts them.
func (o oracle) check(name string, of answers, is func(*block.Interval) bool, ask func(f func(block.Interval)) error) (count int, err error) {
	got, want := digests(of)
	for i := range o {
		if is(&o[i]) {
			want.add(o[i])
		}
	}
	if err = ask(got.add); err != nil || got != want {
		err = fmt.Errorf("%s: %d intervals, want %d, or others, %w", name, got.count, want.count, err)
	}
	return want.count, err
}

func (o oracle) checkFull(of answers, at int64) error {
	_, err := o.check(fmt.Sprintf("all at %d", at), of, func(in *block.Interval) bool { return in.Start <= at && at <= in.End },
		func(f func(block.Interval)) error { return of.Full(at, f) })
	return err
}

func (o oracle) checkPlane(of answers, keys []uint32, times []int64) (count int, err error) {
	wanted, sorted := map[uint32]bool{}, slices.Sorted(slices.Values(times))
	for _, key := range keys {
		wanted[key] = true
	}
	return o.check(fmt.Sprintf("2D query of %d keys at %d times", len(keys), len(times)), of, func(in *block.Interval) bool {
		i, _ := slices.BinarySearch(sorted, in.Start)
		return i < len(sorted) && sorted[i] <= in.End && wanted[in.Key]
	}, func(f func(block.Interval)) error { return of.Plane(keys, times, f) })
}

// checkedFull is the number of full queries that are compared before any is timed.
const checkedFull = 5

// check compares a store's answers with the oracle's: all single and 2D questions, and the first full ones. It
// counts the answers to 2D questions.
func (s *intervals) check(of answers) (err error) {
	for _, q := range s.singles {
		if err := checkSingle(of, q.key, q.at, &s.all[q.want]); err != nil {
			return err
		}
	}
	for _, q := range s.singles[:checkedFull] {
		if err := s.all.checkFull(of, q.at); err != nil {
			return err
		}
	}
	for i, keys := range [][]uint32{s.some, s.kind} {
		if s.answers[i], err = s.all.checkPlane(of, keys, s.times); err != nil {
			return err
		}
	}
	return nil
}
