// Package foreign recognizes, by content, files that people take for profiles and that package format does
// not decode. It says what a file is and which command makes a profile from it. The error for a profile that
// cannot be decoded includes this sentence, on every path by which a profile arrives.
//
// # Invariants
//
//	F1  Only the first MaxHead bytes matter, therefore the cost does not depend on the input.
//	F2  Describe may recognize a valid pprof profile as another format, because callers ask only
//	    after the decoder has failed.
package foreign

import (
	"bytes"
	"encoding/binary"
	"regexp"
)

// MaxHead is the number of bytes at the start of a file that Describe reads.
const MaxHead = 4 << 10

// fileKind is a kind of file: how it begins, and what to say about it.
type fileKind struct {
	is   func(head []byte) bool
	says string
}

// The order matters if the start of one kind is also the start of another.
var kinds = []fileKind{
	{starts("FLR\x00"), "it is a recording of Java's Flight Recorder (JFR): granary top FILE shows its profiles, and granary history its waits"},
	{starts("PERFILE"), "it is a recording of Linux perf: perf script -i FILE > stacks.txt writes it as text, which can be read"},
	{starts("\x04\x08{"), "it is a dump of Ruby's stackprof: record with rbspy record --format pprof instead"},
	{starts("memray"), "it is a recording of Python's memray, which has no pprof form: memray flamegraph shows it"},
	{starts("PAR1"), "it is a Parquet file, as granary export writes: name the profiles that it was made from"},
	{starts("\xff\xff\xff\xff"), "it is a stream of Arrow records, as granary export writes: name the profiles that it was made from"},
	{starts("\x7fELF"), "it is a program (ELF), not a profile of one"},
	{starts("MZ"), "it is a program of Windows, not a profile of one"},
	{starts("\xcf\xfa\xed\xfe"), "it is a program of macOS, not a profile of one"},
	{starts("\x28\xb5\x2f\xfd"), "it is compressed with zstd: zstd -d unpacks it"},
	{starts("BZh"), "it is compressed with bzip2: bzip2 -d unpacks it"},
	{starts("\xfd7zXZ\x00"), "it is compressed with xz: xz -d unpacks it"},
	{starts("PK\x03\x04"), "it is a ZIP archive: unzip it first"},
	{matches(`^go 1\.\d+ trace`), "it is an execution trace of Go: granary history plot -o states.svg FILE draws its states, granary top FILE shows its CPU samples, and go tool trace opens it"},
	{IsLegacyCPU, "it is a CPU profile of gperftools: granary top FILE shows it"},
	{matches(`^\s*(heap profile: |--- contentionz )`), "it is a profile of C++ as text: go tool pprof -proto -output OUT.pb.gz PROGRAM FILE makes a profile of it"},
	{matches(`(?i)^\s*<(!doctype html|html)[^\x00]*<title>/debug/pprof/`), "it is the index page of net/http/pprof: add the name of a profile to the URL, such as heap or profile"},
	{matches(`(?i)^\s*<(!doctype html|html)`), "it is an HTML page"},
	{matches(`^(File: |Showing nodes)`), "it is a report of go tool pprof: name the profile that it was made from"},
	{matches(`^\s*(\{[^\x00]*"traceEvents"\s*:|\[\s*\{[^\x00]*"ph"\s*:)`), "it is a trace in the JSON of Chrome: granary history plot -o states.svg FILE draws its slices"},
	{matches(`^\s*\{[^\x00]*"nodes"\s*:[^\x00]*"callFrame"`), "it is a .cpuprofile of V8: the package @datadog/pprof records pprof instead"},
	{matches(`^\s*\{`), "it is JSON"},
}

// Describe returns a sentence about data, which is decompressed and not a pprof profile: what it is, and
// which command makes a profile from it. It returns "" for unknown data.
func Describe(data []byte) string {
	head := bytes.TrimPrefix(data[:min(len(data), MaxHead)], []byte("\xef\xbb\xbf"))
	for _, k := range kinds {
		if k.is(head) {
			return k.says
		}
	}
	return ""
}

func starts(magic string) func([]byte) bool {
	return func(head []byte) bool { return bytes.HasPrefix(head, []byte(magic)) }
}

func matches(pattern string) func([]byte) bool { return regexp.MustCompile(pattern).Match }

// IsLegacyCPU reports whether data begins as a CPU profile of gperftools.
func IsLegacyCPU(head []byte) bool {
	size, _ := LegacyWords(head)
	return size > 0
}

// LegacyWords returns the bytes and the order of the words in a CPU profile of gperftools. It begins with the words 0, 3, 0, a
// period and 0, each of 4 or 8 bytes. The size is 0 for other data.
func LegacyWords(head []byte) (size int, order binary.ByteOrder) {
	for _, size := range []int{4, 8} {
		if len(head) < 5*size {
			continue
		}
		for _, at := range []int{size, 2*size - 1} { // place of the byte with value 3
			words := bytes.Clone(head[:5*size])
			if words[at] != 3 {
				continue
			}
			words[at] = 0
			period := words[3*size : 4*size]
			hasPeriod := len(bytes.Trim(period, "\x00")) > 0
			clear(period)
			if hasPeriod && len(bytes.Trim(words, "\x00")) == 0 {
				if at == size {
					return size, binary.LittleEndian
				}
				return size, binary.BigEndian
			}
		}
	}
	return 0, nil
}
