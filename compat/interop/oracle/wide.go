package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/google/pprof/profile"
)

// The profiles of -wide have wideProfiles times wideLabels labels, which makes more columns than most tables
// ever have.
const (
	wideProfiles = 10
	wideLabels   = 1000
)

// writeWide writes profiles in which only one sample has each label.
func writeWide(dir string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	for i := range wideProfiles {
		f, err := os.Create(filepath.Join(dir, fmt.Sprintf("%02d.pb.gz", i)))
		if err != nil {
			return err
		}
		if err := wideProfile(i).Write(f); err != nil {
			return err
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
	return nil
}

// wideProfile makes a profile of 10 samples, which have wideLabels labels together.
func wideProfile(i int) *profile.Profile {
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}},
		PeriodType: &profile.ValueType{Type: "cpu", Unit: "nanoseconds"}, Period: 1,
		TimeNanos: 1_700_000_000_000_000_000 + int64(i)*1_000_000_007,
	}
	f := &profile.Function{ID: 1, Name: "main.main"}
	l := &profile.Location{ID: 1, Address: 1, Line: []profile.Line{{Function: f, Line: 1}}}
	p.Function, p.Location = []*profile.Function{f}, []*profile.Location{l}
	const samples = 10
	for s := range samples {
		labels := map[string][]string{}
		for k := range wideLabels / samples {
			labels[fmt.Sprintf("label_%05d", i*wideLabels+s*wideLabels/samples+k)] = []string{fmt.Sprintf("value %d", k)}
		}
		p.Sample = append(p.Sample, &profile.Sample{Location: p.Location, Value: []int64{int64(100*i + s + 1)}, Label: labels})
	}
	return p
}
