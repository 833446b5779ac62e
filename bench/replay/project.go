package replay

import (
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/granarydb/granary/testdata"

	pprof "github.com/google/pprof/profile"

	"github.com/granarydb/granary/profile"
)

// pods is the number of pods that replay a profile.
const pods = 20

// Project returns the profiles in the project's testdata by name.
func Project() (map[string]*pprof.Profile, error) {
	templates := map[string]*pprof.Profile{}
	err := fs.WalkDir(testdata.Profiles, ".", func(name string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, ".pb.gz") {
			return err
		}
		data, err := testdata.Profiles.ReadFile(name)
		if err != nil {
			return err
		}
		templates[name], err = pprof.ParseData(data)
		return err
	})
	return templates, err
}

// Insert replays profiles until `rows` rows are in. Every pod is scraped every ten seconds, and a scrape
// has about a third of the samples.
func Insert(ctx context.Context, db *profile.DB, templates map[string]*pprof.Profile, rows int64) error {
	names := make([]string, 0, len(templates))
	for name := range templates {
		names = append(names, name)
	}
	slices.Sort(names)
	rng := rand.New(rand.NewPCG(1, 1))
	at := time.Now().Add(-24 * time.Hour).Truncate(time.Hour)
	for done := int64(0); done < rows; at = at.Add(10 * time.Second) {
		for _, name := range names {
			for pod := range pods {
				n, err := db.Insert(ctx, scrape(rng, templates[name], at), profile.InsertOptions{Labels: map[string]string{
					"job": strings.Split(name, "/")[1], "kind": name, "pod": fmt.Sprint("pod-", pod), "zone": string(rune('a' + pod%3)),
				}})
				if err != nil {
					return err
				}
				done += int64(n)
			}
		}
	}
	return nil
}

func scrape(rng *rand.Rand, from *pprof.Profile, at time.Time) *pprof.Profile {
	p := &pprof.Profile{
		SampleType: from.SampleType, DefaultSampleType: from.DefaultSampleType, PeriodType: from.PeriodType, Period: from.Period,
		Mapping: from.Mapping, Location: from.Location, Function: from.Function,
		TimeNanos: at.UnixNano(), DurationNanos: from.DurationNanos,
	}
	for _, s := range from.Sample {
		if rng.IntN(3) == 0 {
			p.Sample = append(p.Sample, s)
		}
	}
	return p
}
