package parca

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// errLocation is the error for a location whose bytes end early.
var errLocation = errors.New("truncated location")

// checkLocation returns an error unless b is a whole location in Parca's encoding. Parca's decoders trust
// it: they read beyond the end of any other bytes.
//
//	address lines mapped [build-id file start length offset]
//	  then for each line: line column known [start-line name system-name file]
//
// Numbers are varints, texts have their length before them, mapped and known are one byte.
func checkLocation(b []byte) error {
	r := locationReader{rest: b}
	r.number()
	lines := r.number()
	if r.flag() {
		r.text()
		r.text()
		r.numbers(3)
	}
	for ; lines > 0 && !r.bad; lines-- {
		r.numbers(2)
		if r.flag() {
			r.number()
			r.text()
			r.text()
			r.text()
		}
	}
	if r.bad {
		return fmt.Errorf("%w: %d bytes", errLocation, len(b))
	}
	return nil
}

// locationReader reads an encoded location. bad is set when a value is missing.
type locationReader struct {
	rest []byte
	bad  bool
}

func (r *locationReader) number() uint64 {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 {
		r.bad, r.rest = true, nil
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

func (r *locationReader) numbers(n int) {
	for range n {
		r.number()
	}
}

func (r *locationReader) flag() bool {
	if len(r.rest) == 0 {
		r.bad = true
		return false
	}
	set := r.rest[0] == 1
	r.rest = r.rest[1:]
	return set
}

func (r *locationReader) text() {
	n := r.number()
	if n > uint64(len(r.rest)) {
		r.bad, r.rest = true, nil
		return
	}
	r.rest = r.rest[n:]
}
