package input

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/granarydb/granary/internal/foreign"
)

// seen counts the files of a directory that are no profiles, for the error if there is none.
type seen struct {
	files int
	known string // the first of them that foreign knows, and what it is
}

// isProfile reports whether a file begins as a pprof profile, gzipped or not. A file that cannot be
// opened is none.
func (s *seen) isProfile(name string) bool {
	head := headOf(name)
	if beginsAsProfile(head) {
		return true
	}
	s.files++
	if s.known == "" {
		if what := foreign.Describe(head); what != "" {
			s.known = fmt.Sprintf("; %s: %s", name, what)
		}
	}
	return false
}

// String says what was looked at.
func (s seen) String() string {
	files := "it has no files"
	if s.files > 0 {
		files = fmt.Sprintf("of %d files, none begins as a pprof profile or has a name that ends in %s", s.files, strings.Join(suffixes, ", "))
	}
	return ": " + files + s.known
}

// headOf returns the first bytes of a file, decompressed, as far as they can be read.
func headOf(name string) []byte {
	f, err := os.Open(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	head := make([]byte, foreign.MaxHead)
	in := bufio.NewReaderSize(f, foreign.MaxHead)
	var from io.Reader = in
	if magic, _ := in.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		zip, err := gzip.NewReader(in)
		if err != nil {
			return nil
		}
		from = zip
	}
	n, _ := io.ReadFull(from, head) // what there is, of broken data too
	return head[:n]
}

// beginsAsProfile reports whether data begins with the first sample type of a pprof profile, as
// encoders write it: field 1, and in it numbers of strings.
func beginsAsProfile(data []byte) bool {
	const sampleType, name, unit = 1<<3 | 2, 1 << 3, 2 << 3
	if len(data) < 4 || data[0] != sampleType {
		return false
	}
	size := int(data[1])
	return size >= 2 && size <= 12 && len(data) > 2+size && (data[2] == name || data[2] == unit)
}
