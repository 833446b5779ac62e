package input

import (
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/granarydb/granary/internal/foreign"
	"github.com/granarydb/granary/profile/format"
)

// seen counts the files in a directory that are not profiles, for the error if the directory has no profiles.
type seen struct {
	files int
	known string // the first file that package foreign recognizes, and its format
}

// isProfile reports whether a file begins like a pprof profile or another format of package format, compressed
// or not. It counts other files, including files that cannot be opened.
func (s *seen) isProfile(name string) bool {
	head := Head(name)
	// A CPU profile beside an execution trace has its samples.
	if of := format.Of(head); beginsAsProfile(head) || of != "" && of != format.GoTrace {
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

// String describes the files that were examined.
func (s seen) String() string {
	files := "it has no files"
	if s.files > 0 {
		files = fmt.Sprintf("of its files (%d), none begins as a profile or has a name that ends in %s", s.files, strings.Join(suffixes, ", "))
	}
	return ": " + files + s.known
}

// Describe returns a sentence about a regular file that its caller cannot read: what it is, and which command
// reads it. It returns "" for a file that it does not recognize or cannot read.
func Describe(name string) string {
	return describe(Head(name))
}

func describe(head []byte) string {
	if beginsAsProfile(head) {
		return "it is a pprof profile: granary top FILE shows it"
	}
	return foreign.Describe(head)
}

// Head returns the first bytes of a regular file, decompressed as far as possible, or nothing.
func Head(name string) []byte {
	if info, err := os.Stat(name); err != nil || !info.Mode().IsRegular() {
		return nil // opening a pipe would wait, and reading it consume its first bytes
	}
	f, err := os.Open(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	head := make([]byte, format.HeadBytes)
	n, _ := io.ReadFull(format.Plain(f), head) // keep the available bytes, even if data is broken
	return head[:n]
}

// beginsAsProfile reports whether data begins with fields of a pprof profile, including a sample type: field
// 1, which contains the number of a string. Encoders write it among the first fields, in varying order.
func beginsAsProfile(data []byte) bool {
	const bytesFields = 1<<1 | 1<<2 | 1<<3 | 1<<4 | 1<<5 | 1<<6 | 1<<11 // in profile.proto; the others are numbers
	const sampleType, most = 1, 15
	for len(data) > 0 {
		tag, n := binary.Uvarint(data)
		if n != 1 || tag>>3 < sampleType || tag>>3 > most {
			return false
		}
		value, more := binary.Uvarint(data[n:])
		if more <= 0 {
			return false
		}
		data = data[n+more:]
		switch isBytes := bytesFields>>(tag>>3)&1 == 1; {
		case isBytes != (tag&7 == 2) || !isBytes && tag&7 != 0:
			return false
		case !isBytes:
			continue
		case value > uint64(len(data)):
			return false
		case tag>>3 == sampleType:
			return value >= 2 && value <= 12 && (data[0] == 1<<3 || data[0] == 2<<3)
		}
		data = data[value:]
	}
	return false
}
