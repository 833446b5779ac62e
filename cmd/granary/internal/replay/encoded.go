package replay

import (
	"bytes"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	pprof "github.com/google/pprof/profile"
	"github.com/klauspost/compress/gzip"
	"google.golang.org/protobuf/encoding/protowire"
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
	fieldSample   protowire.Number = 2 // in a profile
	fieldTime     protowire.Number = 9
	fieldDuration protowire.Number = 10
	fieldValue    protowire.Number = 2 // in a sample
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
	err := eachField(buf.Bytes(), func(field protowire.Number, whole, content []byte) error {
		switch field {
		case fieldSample:
			s := encodedSample{values: p.Sample[len(e.samples)].Value}
			err := eachField(content, func(field protowire.Number, whole, _ []byte) error {
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

// eachField calls f with each field of a message: its number, its whole encoding, and its content if it has a
// length.
func eachField(data []byte, f func(field protowire.Number, whole, content []byte) error) error {
	for len(data) > 0 {
		field, kind, n := protowire.ConsumeField(data)
		if n < 0 {
			return errWire
		}
		var content []byte
		if kind == protowire.BytesType {
			content, _ = protowire.ConsumeBytes(data[protowire.SizeTag(field):n])
		}
		if err := f(field, data[:n], content); err != nil {
			return err
		}
		data = data[n:]
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
	dst = protowire.AppendVarint(protowire.AppendTag(dst, fieldTime, protowire.VarintType), uint64(at.UnixNano()))
	dst = protowire.AppendVarint(protowire.AppendTag(dst, fieldDuration, protowire.VarintType), uint64(duration))
	var values []byte
	for i := range e.samples {
		s := &e.samples[i]
		by := scale(i)
		values = values[:0]
		for _, v := range s.values {
			if scaled := int64(float64(v) * by); scaled != 0 {
				v = scaled
			}
			values = protowire.AppendVarint(values, uint64(v))
		}
		sample := len(s.rest) + protowire.SizeTag(fieldValue) + protowire.SizeBytes(len(values))
		dst = protowire.AppendVarint(protowire.AppendTag(dst, fieldSample, protowire.BytesType), uint64(sample))
		dst = append(dst, s.rest...)
		dst = protowire.AppendBytes(protowire.AppendTag(dst, fieldValue, protowire.BytesType), values)
	}
	return append(dst, e.rest...)
}

// Folder returns the folder of profiles with these labels, with a level NAME=VALUE for each label, in the
// layout of Hive partitions.
func Folder(dir string, labels map[string]string) string {
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		dir = filepath.Join(dir, name+"="+labels[name])
	}
	return dir
}

// Save writes an encoded profile to a gzipped file, and creates its folder. The errors come from the file
// system.
func Save(name string, data []byte) error {
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	if _, err := zip.Write(data); err != nil {
		return err
	}
	if err := zip.Close(); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return err
	}
	return os.WriteFile(name, packed.Bytes(), 0o666)
}
