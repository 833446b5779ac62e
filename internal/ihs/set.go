package ihs

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/klauspost/compress/gzip"
)

// Set is an interval set in memory: columns, in the file's order. It is safe for concurrent reads.
type Set struct {
	Header Header
	// Attributes has one element for each key. It is empty after Read, because the interval file has no
	// names.
	Attributes []Attribute
	// Columns of the intervals: attribute, first and last instant, the value's kind and word, as in
	// Interval.
	Keys   []uint32
	Starts []int64
	Ends   []int64
	Kinds  []Kind
	Words  []uint64
	// Texts holds the distinct strings. A string's word is its index here.
	Texts []string
}

// Suffixes of a set's two files.
const (
	IntervalsSuffix  = ".ihs.gz"
	AttributesSuffix = ".attrs.tsv.gz"
)

// BaseName returns a set's name without the suffix of either file.
func BaseName(name string) string {
	return strings.TrimSuffix(strings.TrimSuffix(name, IntervalsSuffix), AttributesSuffix)
}

// Open reads the set NAME from the files NAME.ihs.gz and NAME.attrs.tsv.gz, or computes the set for a name
// "synth:ATTRIBUTES:CHANGES" (see Synth). A name may have the first file's suffix. The set has passed
// Check. The errors are ErrFormat, ErrLimit and any from the files.
func Open(name string, limits Limits) (*Set, error) {
	if made, err := ParseSynth(name); err != nil || made != nil {
		if err != nil {
			return nil, err
		}
		return made.Set(limits)
	}
	name = strings.TrimSuffix(name, IntervalsSuffix)
	var s *Set
	err := ReadFile(name+IntervalsSuffix, func(r io.Reader) (err error) {
		s, err = Read(r, limits)
		return err
	})
	if err == nil {
		err = ReadFile(name+AttributesSuffix, func(r io.Reader) (err error) {
			s.Attributes, err = ReadAttributes(r, s.Header.Keys, limits)
			return err
		})
	}
	if err == nil {
		err = s.Check()
	}
	if err != nil {
		return nil, fmt.Errorf("set %s: %w", name, err)
	}
	return s, nil
}

// ReadFile calls read with a file's decompressed content. The errors are ErrFormat, those of read, and any from the
// file.
func ReadFile(name string, read func(io.Reader) error) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrFormat, err)
	}
	return read(z)
}

// Read reads a set's intervals from r, which must be uncompressed. It does not call Check. The errors are
// ErrFormat, ErrLimit and any from r.
func Read(r io.Reader, limits Limits) (*Set, error) {
	d, err := NewReader(r, limits)
	if err != nil {
		return nil, err
	}
	s := &Set{Header: d.Header()}
	s.grow(min(d.Header().Intervals, maxGuess))
	for {
		iv, err := d.Next()
		if errors.Is(err, io.EOF) {
			s.Texts = d.texts.texts
			return s, nil
		}
		if err != nil {
			return nil, err
		}
		s.Append(iv)
	}
}

func (s *Set) grow(n int) {
	s.Keys = slices.Grow(s.Keys, n)
	s.Starts = slices.Grow(s.Starts, n)
	s.Ends = slices.Grow(s.Ends, n)
	s.Kinds = slices.Grow(s.Kinds, n)
	s.Words = slices.Grow(s.Words, n)
}

// Append adds an interval, whose text is already in Texts.
func (s *Set) Append(iv Interval) {
	s.Keys = append(s.Keys, iv.Key)
	s.Starts = append(s.Starts, iv.Start)
	s.Ends = append(s.Ends, iv.End)
	s.Kinds = append(s.Kinds, iv.Kind)
	s.Words = append(s.Words, iv.Word)
}

// Len returns the number of intervals.
func (s *Set) Len() int { return len(s.Keys) }

// At returns interval i.
func (s *Set) At(i int) Interval {
	iv := Interval{Key: s.Keys[i], Start: s.Starts[i], End: s.Ends[i], Kind: s.Kinds[i], Word: s.Words[i]}
	if iv.Kind == KindString {
		iv.Text = s.Texts[iv.Word]
	}
	return iv
}

// Path returns the names from the root down to a key.
func (s *Set) Path(key int) []string {
	var path []string
	for ; key != NoParent; key = s.Attributes[key].Parent {
		path = append(path, s.Attributes[key].Name)
	}
	slices.Reverse(path)
	return path
}

// ByStart returns the numbers of the intervals ordered by start, the order in which a live system learns of
// them. Intervals with equal starts are in the file's order.
func (s *Set) ByStart() []int {
	order := make([]int, s.Len())
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(s.Starts[i], s.Starts[j]) })
	return order
}

// Check returns nil if each key has one interval at each instant from the start of the set to its end (S4).
// Otherwise it returns an ErrFormat that names the fault.
func (s *Set) Check() error {
	if s.Header.Keys > s.Len() {
		return fmt.Errorf("%w: %d keys, but %d intervals", ErrFormat, s.Header.Keys, s.Len())
	}
	// next is the start of each key's next interval, less than End+1 steps from Start.
	next := make([]uint64, s.Header.Keys)
	for i, key := range s.Keys {
		if from := uint64(s.Starts[i] - s.Header.Start); from != next[key] {
			return fmt.Errorf("%w: interval %d of key %d starts at %d, want %d",
				ErrFormat, i, key, s.Starts[i], s.Header.Start+int64(next[key]))
		}
		next[key] = uint64(s.Ends[i]-s.Header.Start) + 1
	}
	all := uint64(s.Header.End-s.Header.Start) + 1
	for key, n := range next {
		if n != all {
			return fmt.Errorf("%w: key %d is covered for %d of %d", ErrFormat, key, n, all)
		}
	}
	return nil
}

// Write writes the intervals to w, uncompressed. each, if not nil, is called before each 10,000 intervals with
// the number of those before them, and its error ends Write. The other errors are those of Writer.
func (s *Set) Write(w io.Writer, each func(done int) error) error {
	e, err := NewWriter(w, s.Header)
	if err != nil {
		return err
	}
	for i := range s.Len() {
		if i%10_000 == 0 && each != nil {
			if err := each(i); err != nil {
				return err
			}
		}
		if err := e.Write(s.At(i)); err != nil {
			return err
		}
	}
	return e.Close()
}
