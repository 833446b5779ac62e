package format_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/profile/format"
)

// TestSampling says what the numbers of texts and trees count: samples, or CPU time at a rate, or other units. Formats with types of
// their own keep these.
func TestSampling(t *testing.T) {
	const folded, lines, tree = "main;f 3\nmain;g 4\n", "main;f\nmain;g\n", "\x00\x00\x01\x04main\x03\x01\x01f\x04\x00"
	speedscope := `{"$schema":"https://www.speedscope.app/file-format-schema.json","shared":{"frames":[{"name":"f"}]},"profiles":[{"type":"sampled","name":"a","unit":"seconds","startValue":0,"endValue":1,"samples":[[0]],"weights":[1]}]}`
	for _, tc := range []struct {
		data     string
		only     format.Name
		sampling format.Sampling
		want     string
	}{
		{folded, "", format.Sampling{}, "samples/count 7 every 0"},
		{folded, "", format.Sampling{Rate: 100}, "cpu/nanoseconds 70000000 every 10000000"},
		{folded, "", format.Sampling{Units: "samples", Rate: 19}, fmt.Sprintf("cpu/nanoseconds %d every 52631578", 7*52631578)},
		{folded, format.StackGroups, format.Sampling{Units: "other", Rate: 1000}, "cpu/nanoseconds 7000000 every 1000000"},
		{folded, "", format.Sampling{Units: "bytes", Rate: 100}, "bytes/bytes 7 every 0"},
		{folded, "", format.Sampling{Units: "lock_nanoseconds", Rate: 100}, "delay/nanoseconds 7 every 0"},
		{folded, "", format.Sampling{Rate: 2_000_000_000}, "samples/count 7 every 0"},
		{lines, format.StackLines, format.Sampling{Rate: 100}, "cpu/nanoseconds 20000000 every 10000000"},
		{tree, format.StackTree, format.Sampling{Rate: 100}, "cpu/nanoseconds 70000000 every 10000000"},
		{tree, format.StackTrie, format.Sampling{Units: "objects"}, "objects/count 7 every 0"},
		{speedscope, "", format.Sampling{Units: "bytes", Rate: 7}, "wall/nanoseconds 1000000000 every 0"},
	} {
		for d, err := range format.Decode([]byte(tc.data), format.Hints{Only: tc.only, Sampling: tc.sampling}) {
			if err != nil {
				t.Errorf("%q: %+v: %v", tc.data, tc.sampling, err)
				continue
			}
			sum := int64(0)
			for _, s := range d.Parsed.Sample {
				sum += s.Value[0]
			}
			of := d.Parsed.SampleType[0]
			if got := fmt.Sprintf("%s/%s %d every %d", of.Type, of.Unit, sum, d.Parsed.Period); got != tc.want {
				t.Errorf("%q: %+v: %s, want %s", tc.data, tc.sampling, got, tc.want)
			}
		}
	}
	for _, value := range []string{"9223372036854775807", "-9223372036854775808"} {
		for _, err := range format.Decode([]byte("main;f "+value+"\n"), format.Hints{Sampling: format.Sampling{Rate: 100}}) {
			if !errors.Is(err, profile.ErrProfile) {
				t.Errorf("%s samples: %v", value, err)
			}
		}
	}
}
