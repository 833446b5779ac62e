package foreign

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// legacyCPU returns the head of a CPU profile of gperftools.
func legacyCPU(order binary.AppendByteOrder, size int) []byte {
	var data []byte
	for _, word := range []uint32{0, 3, 0, 10000, 0, 1, 2, 0x1234} {
		if size == 4 {
			data = order.AppendUint32(data, word)
		} else {
			data = order.AppendUint64(data, uint64(word))
		}
	}
	return data
}

func TestDescribe(t *testing.T) {
	for _, tc := range []struct{ name, data, want string }{
		{"JFR", "FLR\x00\x00\x02\x00\x00", "Flight Recorder"},
		{"perf.data", "PERFILE2h\x00\x00", "perf script -i FILE"},
		{"stackprof", "\x04\x08{\x0e:\x0cversion", "stackprof"},
		{"memray", "memray\x00\x0c\x00", "memray flamegraph"},
		{"Parquet", "PAR1\x15\x04", "it is a Parquet file"},
		{"Arrow", "\xff\xff\xff\xff\x00\x10\x00\x00", "a stream of Arrow records"},
		{"ELF", "\x7fELF\x02\x01\x01\x00", "a program (ELF)"},
		{"zstd", "\x28\xb5\x2f\xfd\x04", "zstd -d"},
		{"execution trace", "go 1.26 trace\x00\x00\x00", "granary history plot"},
		{"gperftools, 64 bits", string(legacyCPU(binary.LittleEndian, 8)), "gperftools"},
		{"gperftools, 32 bits", string(legacyCPU(binary.LittleEndian, 4)), "gperftools"},
		{"gperftools, big endian", string(legacyCPU(binary.BigEndian, 8)), "gperftools"},
		{"growth of a heap", "heap profile: 22: 2236896 [26: 4219360] @ growthz\n", "profile of C++"},
		{"contentions of C++", "--- contentionz 1 ---\n", "profile of C++"},
		{"index page", "<html>\n<head>\n<title>/debug/pprof/</title>\n", "index page of net/http/pprof"},
		{"HTML", "\xef\xbb\xbf<!DOCTYPE html>\n<p>", "an HTML page"},
		{"report", "File: etcd\nType: cpu\n", "a report of go tool pprof"},
		{"Chrome, an object", `{"displayTimeUnit":"ms","traceEvents": [{"ph":"X"}]}`, "JSON of Chrome"},
		{"Chrome, a list", `[ {"name":"a","ph":"B","ts":1}]`, "JSON of Chrome"},
		{"V8", `{"nodes":[{"id":1,"callFrame":{"functionName":"(root)"}}]}`, ".cpuprofile of V8"},
		{"JSON", `{"a":1}`, "it is JSON"},
		{"folded stacks", "main;work;read 12\nmain 1\n", ""},
		{"a text", "to be or not to be\n", ""},
		{"nothing", "", ""},
		{"bytes", "\x0a\x04\x08\x01\x10\x02", ""},
	} {
		if got := Describe([]byte(tc.data)); !strings.Contains(got, tc.want) || tc.want == "" && got != "" {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

// TestDescribe_Real describes what the producers themselves wrote.
func TestDescribe_Real(t *testing.T) {
	dir := "../../../shared/data/clients"
	if _, err := os.Stat(dir); err != nil {
		t.Skip("there is no folder with files of other profilers beside this repository: ", dir)
	}
	for name, want := range map[string]string{
		"async-profiler.jfr": "JFR", "gperftools.cpu": "gperftools",
	} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if got := Describe(data); !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// FuzzDescribe: no input panics, and bytes beyond the head change nothing (F1).
func FuzzDescribe(f *testing.F) {
	f.Add([]byte("FLR\x00"))
	f.Add(legacyCPU(binary.LittleEndian, 8))
	f.Add([]byte(`{"nodes":[`))
	f.Fuzz(func(t *testing.T, data []byte) {
		got := Describe(data)
		if len(data) >= MaxHead && got != Describe(append(bytes.Clone(data), "more;of 1\n"...)) {
			t.Errorf("more bytes change the answer %q", got)
		}
	})
}
