package formats

import (
	"bytes"
	"compress/gzip"
	"io"
	"regexp"
)

// Foreign returns a description of data, gzipped or not, that is no profile but is often taken
// for one, "" for other data.
func Foreign(data []byte) string {
	start := data[:min(len(data), 512)]
	if zip, err := gzip.NewReader(bytes.NewReader(data)); err == nil {
		start = make([]byte, 512)
		n, _ := io.ReadFull(zip, start) // what there is, of broken data too
		start = start[:n]
	}
	head := bytes.TrimLeft(start, "\xef\xbb\xbf \t\r\n")
	lower := bytes.ToLower(head)
	switch {
	case bytes.HasPrefix(head, []byte("go 1.")) && bytes.Contains(head[:min(len(head), 24)], []byte(" trace")):
		return "it is an execution trace of Go: open it with go tool trace, or granary history info"
	case bytes.HasPrefix(lower, []byte("<!doctype html")), bytes.HasPrefix(lower, []byte("<html")):
		if bytes.Contains(lower, []byte("<title>/debug/pprof/")) {
			return "it is the index page of net/http/pprof: add the name of a profile to the URL, such as heap or profile"
		}
		return "it is an HTML page"
	case bytes.HasPrefix(head, []byte("PERFILE")):
		return "it is a recording of Linux perf: convert it with perf_to_profile"
	}
	for _, begin := range []string{"heap profile: ", "goroutine profile: ", "threadcreate profile: ", "--- contention:", "--- mutex:", "goroutine "} {
		if bytes.HasPrefix(head, []byte(begin)) {
			return "it is text: fetch the profile without debug=1 or debug=2"
		}
	}
	switch {
	case bytes.HasPrefix(head, []byte("File: ")), bytes.HasPrefix(head, []byte("Showing nodes")):
		return "it is a report of go tool pprof: name the profile that it was made from"
	case bytes.HasPrefix(head, []byte("{")):
		return "it is JSON"
	case folded.Match(head):
		return "it is text of folded stacks, which granary merge writes and no command reads"
	}
	return ""
}

// folded matches the first line of folded stacks: functions separated by semicolons, a space
// and a number.
var folded = regexp.MustCompile(`^[^\n\x00]*;[^\n\x00]* -?[0-9]+\r?\n`)
