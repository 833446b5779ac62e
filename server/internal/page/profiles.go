package page

import (
	"cmp"
	"context"
	"strconv"
	"strings"

	"github.com/granarydb/granary/profile"
)

// ProfilesAnswer is the answer to GET /api/v1/profiles.
type ProfilesAnswer struct {
	Head
	SampleType string `json:"sample_type"`
	Unit       string `json:"unit"`
	// All is the number of chosen profiles.
	All int `json:"all"`
	// Profiles are the newest of the chosen profiles, by time.
	Profiles []ProfileDot `json:"profiles"`
	// Counts has, if the query asks for pixels, the number of profiles in each pixel of the time from
	// CountsFrom to CountsTo.
	Counts     []int  `json:"counts,omitempty"`
	CountsFrom string `json:"counts_from,omitempty"`
	CountsTo   string `json:"counts_to,omitempty"`
}

// ProfileDot is a profile. Selector, Time and Until as the parameters q, from and to choose it again.
type ProfileDot struct {
	Time     string            `json:"time"` // RFC 3339 with nanoseconds
	Until    string            `json:"until"`
	Duration int64             `json:"duration"` // nanoseconds
	Total    int64             `json:"total"`
	Rows     int64             `json:"rows"`
	Labels   map[string]string `json:"labels"`
	Selector string            `json:"selector"`
}

// profilesOf answers GET /api/v1/profiles.
func profilesOf(ctx context.Context, q *pageQuestion) (pageAnswer, error) {
	most, err := q.number("rows", 1000, q.page.Read.MaxNodes)
	if err != nil {
		return nil, err
	}
	query, name, err := q.side(ctx, "")
	if err != nil {
		return nil, err
	}
	found, err := q.findType(ctx, query, name)
	if err != nil {
		return nil, err
	}
	typ := found.Type
	list := newestProfiles{most: most}
	if err := list.collect(ctx, q, typ, query); err != nil {
		return nil, err
	}
	out := &ProfilesAnswer{SampleType: typ.Sample, Unit: typ.SampleUnit, All: len(list.times), Profiles: []ProfileDot{}}
	for _, p := range list.newest {
		out.Profiles = append(out.Profiles, newProfileDot(p))
	}
	pixels, err := q.number("pixels", 0, mostPixels)
	if err != nil {
		return nil, err
	}
	if pixels > 0 && len(list.times) > 0 {
		out.count(list.times, query.From, query.To, pixels)
	}
	return out, nil
}

// count counts the profiles in each pixel from their sorted times. A missing bound is the first or last time.
func (a *ProfilesAnswer) count(times []int64, from, to int64, pixels int) {
	from = cmp.Or(from, times[0])
	to = cmp.Or(to, times[len(times)-1]+1)
	length := float64(uint64(to) - uint64(from))
	a.Counts, a.CountsFrom, a.CountsTo = make([]int, pixels), instantText(from), instantText(to)
	for _, at := range times {
		pixel := int(float64(uint64(at)-uint64(from)) / length * float64(pixels))
		a.Counts[min(pixel, pixels-1)]++
	}
}

func newProfileDot(p profile.ProfileInfo) ProfileDot {
	dot := ProfileDot{Time: instantText(p.Time), Until: instantText(p.Time + 1), Duration: p.Duration, Total: p.Total, Rows: p.Rows, Labels: map[string]string{}}
	var matchers []string
	for _, l := range p.Labels {
		dot.Labels[l.Name] = l.Value
		matchers = append(matchers, strconv.Quote(l.Name)+"="+strconv.Quote(l.Value))
	}
	dot.Selector = "{" + strings.Join(matchers, ",") + "}"
	return dot
}
