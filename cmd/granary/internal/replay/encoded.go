package replay

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"time"

	pprof "github.com/google/pprof/profile"
)

// Encoded is an encoded profile without its time, duration and values. Append inserts new ones and copies the
// rest. It is immutable and safe for concurrent use.
type Encoded struct {
	rest    []byte // all fields except samples and times
	samples []encodedSample
	hot     int // number of hot samples, which come first
}

type encodedSample struct {
	rest   []byte // all fields except the values
	values []int64
}

// Numbers of the fields of profile.proto that Append inserts.
const (
	fieldSample   = 2 // in a profile
	fieldTime     = 9
	fieldDuration = 10
	fieldValue    = 2 // in a sample
)

// Wire types of protocol buffers.
const (
	wireVarint = 0
	wireBytes  = 2
)

var errWire = errors.New("the profile is not what was encoded")

// Encode encodes a profile and splits it into its fields. The first `hot` samples are hot. The error is
// pprof's.
func Encode(p *pprof.Profile, hot int) (Encoded, error) {
	var buf bytes.Buffer
	if err := p.WriteUncompressed(&buf); err != nil {
		return Encoded{}, err
	}
	e := Encoded{hot: hot}
	err := eachField(buf.Bytes(), func(field uint64, whole, content []byte) error {
		switch field {
		case fieldSample:
			s := encodedSample{values: p.Sample[len(e.samples)].Value}
			err := eachField(content, func(field uint64, whole, _ []byte) error {
				if field != fieldValue {
					s.rest = append(s.rest, whole...)
				}
				return nil
			})
			e.samples = append(e.samples, s)
			return err
		case fieldTime, fieldDuration:
		default:
			e.rest = append(e.rest, whole...)
		}
		return nil
	})
	if err == nil && len(e.samples) != len(p.Sample) {
		err = errWire
	}
	return e, err
}

// eachField calls f with each field of a message: its number, its whole encoding and its
// content.
func eachField(data []byte, f func(field uint64, whole, content []byte) error) error {
	for len(data) > 0 {
		tag, n := binary.Uvarint(data)
		value, m := binary.Uvarint(data[max(n, 0):])
		if n <= 0 || m <= 0 {
			return errWire
		}
		end := n + m
		switch tag & 7 {
		case wireVarint:
		case wireBytes:
			if value > uint64(len(data)-end) {
				return errWire
			}
			end += int(value)
		default:
			return errWire // pprof does not use other wire types
		}
		if err := f(tag>>3, data[:end], data[n+m:end]); err != nil {
			return err
		}
		data = data[end:]
	}
	return nil
}

// Hot returns the number of hot samples, which come first.
func (e *Encoded) Hot() int { return e.hot }

// Samples returns the number of samples.
func (e *Encoded) Samples() int { return len(e.samples) }

// Append appends the encoded profile to dst with the given time and duration. It multiplies the values of
// sample i by scale(i). A value that would become 0 stays unchanged.
func (e *Encoded) Append(dst []byte, at time.Time, duration time.Duration, scale func(i int) float64) []byte {
	dst = slices.Grow(dst, len(e.rest)+64*len(e.samples))
	dst = appendVarint(dst, fieldTime, uint64(at.UnixNano()))
	dst = appendVarint(dst, fieldDuration, uint64(duration))
	var values []byte
	for i := range e.samples {
		s := &e.samples[i]
		by := scale(i)
		values = values[:0]
		for _, v := range s.values {
			if scaled := int64(float64(v) * by); scaled != 0 {
				v = scaled
			}
			values = binary.AppendUvarint(values, uint64(v))
		}
		sample := len(s.rest) + 1 + uvarintLen(len(values)) + len(values)
		dst = appendHeader(dst, fieldSample, sample)
		dst = append(dst, s.rest...)
		dst = append(appendHeader(dst, fieldValue, len(values)), values...)
	}
	return append(dst, e.rest...)
}

func appendVarint(dst []byte, field, value uint64) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(dst, field<<3|wireVarint), value)
}

// appendHeader appends the tag of a field, and its length.
func appendHeader(dst []byte, field uint64, length int) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(dst, field<<3|wireBytes), uint64(length))
}

func uvarintLen(n int) int { return len(binary.AppendUvarint(nil, uint64(n))) }
