package jfr

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	theirs "github.com/grafana/jfr-parser/pprof"

	"github.com/granarydb/granary/profile/format"
)

// recordings returns the recordings in the module of Pyroscope's decoder.
func recordings(t *testing.T) map[string][]byte {
	t.Helper()
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/grafana/jfr-parser").Output()
	if err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(dir)), "parser", "testdata", "*.jfr.gz"))
	if err != nil || len(names) < 20 {
		t.Fatalf("%d recordings: %v", len(names), err)
	}
	out := map[string][]byte{}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		z, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		if data, err = io.ReadAll(z); err != nil {
			t.Fatal(err)
		}
		out[strings.TrimSuffix(filepath.Base(name), ".jfr.gz")] = data
	}
	return out
}

// last returns a function's name without its class or library, which stand before it in Pyroscope's names.
func last(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }

// sums are the values of each stack, as lines of names, of each type.
type sums map[string]int64

// of returns our sums, in which an interval of samples counts as one.
func of(data []byte) (sums, error) {
	out := sums{}
	for d, err := range format.Decode(data, format.Hints{}) {
		if err != nil {
			return nil, err
		}
		for i, typ := range d.Parsed.SampleType {
			for _, s := range d.Parsed.Sample {
				var stack []string
				for _, l := range s.Location {
					stack = append(stack, fmt.Sprint(last(l.Line[0].Function.Name), ":", l.Line[0].Line))
				}
				value := s.Value[i]
				if typ.Type == "cpu" || typ.Type == "wall" {
					value /= d.Parsed.Period
				}
				out[typ.Type+" "+strings.Join(stack, ";")] += value
			}
		}
	}
	return out, nil
}

// ofTheirs returns the sums of Pyroscope's decoder. It takes durations in ticks for nanoseconds.
func ofTheirs(data []byte) (sums, error) {
	const hertz = 100
	at := time.Unix(1_790_000_000, 0)
	parsed, err := theirs.ParseJFR(data, &theirs.ParseInput{StartTime: at, EndTime: at.Add(time.Second), SampleRate: hertz}, nil)
	if err != nil {
		return nil, err
	}
	out := sums{}
	for _, p := range parsed.Profiles {
		functions, lines := map[uint64]string{}, map[uint64]string{}
		for _, f := range p.Profile.Function {
			functions[f.Id] = last(p.Profile.StringTable[f.Name])
		}
		for _, l := range p.Profile.Location {
			lines[l.Id] = fmt.Sprint(functions[l.Line[0].FunctionId], ":", l.Line[0].Line)
		}
		for i, typ := range p.Profile.SampleType {
			name := p.Profile.StringTable[typ.Type]
			for _, s := range p.Profile.Sample {
				var stack []string
				for _, id := range s.LocationId {
					stack = append(stack, lines[id])
				}
				value := s.Value[i]
				if name == "cpu" || name == "wall" {
					value /= int64(time.Second) / hertz
				}
				out[name+" "+strings.Join(stack, ";")] += value
			}
		}
	}
	return out, nil
}

// TestEqual compares each stack of each recording.
func TestEqual(t *testing.T) {
	for name, data := range recordings(t) {
		want, err := ofTheirs(data)
		if err != nil {
			t.Errorf("%s: theirs: %v", name, err)
			continue
		}
		got, err := of(data)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		ticks := bytes.Equal(data[56:64], []byte{0, 0, 0, 0, 0x3b, 0x9a, 0xca, 0}) // 1e9 a second
		wrong := 0
		for stack, value := range want {
			if strings.HasPrefix(stack, "delay ") && !ticks {
				continue
			}
			if got[stack] != value {
				if wrong++; wrong < 4 {
					t.Errorf("%s: %d, want %d of %.300s", name, got[stack], value, stack)
				}
			}
		}
		if len(got) != len(want) || len(want) == 0 || wrong > 0 {
			t.Errorf("%s: %d stacks, %d of them wrong, want %d", name, len(got), wrong, len(want))
		}
	}
}
