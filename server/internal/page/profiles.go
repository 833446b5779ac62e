package page

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/granarydb/granary/columnstore"
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
	most, pixels := q.number("rows", 1000, q.page.Read.MaxNodes), q.number("pixels", 0, mostPixels)
	query, name := q.side(ctx, "")
	if q.err != nil {
		return nil, q.err
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

// newestProfiles has a query's profiles in a time range: the times of all, and the complete last profiles.
type newestProfiles struct {
	most   int
	newest []profile.ProfileInfo // at most `most`, by time
	times  []int64               // sorted
}

// collect adds a query's profiles, which are before the profiles of n. If they need more memory than a query
// may take, it divides their time range in halves, and collects the later half first. Each division costs up
// to twice as much; the memory is limited to the profiles of one time and the times of all.
func (n *newestProfiles) collect(ctx context.Context, q *pageQuestion, typ profile.Type, query profile.Query) error {
	infos, err := q.at.DB.Profiles(ctx, q.at.Snap, typ, query)
	if err == nil {
		return n.add(infos, query.MaxBytes)
	}
	if !errors.Is(err, columnstore.ErrQueryMemory) {
		return err
	}
	bounds, failed := q.at.DB.Table().Aggregate(ctx, q.at.Snap, columnstore.AggregateOptions{
		Aggregates: []columnstore.Aggregate{
			{Op: columnstore.Min, Column: profile.ColumnTimestamp}, {Op: columnstore.Max, Column: profile.ColumnTimestamp},
		},
		Where: query.Expr(typ), NoCounts: true, MaxBytes: query.MaxBytes,
	})
	if failed != nil {
		return failed
	}
	least, greatest := &bounds.Aggregates[0].Values, &bounds.Aggregates[1].Values
	if len(least.Int64s) == 0 || least.Null(0) { // not even enough memory for an answer without profiles
		return err
	}
	first, last := least.Int64s[0], greatest.Int64s[0]
	middle := first + int64((uint64(last)-uint64(first)+1)/2)
	if first == last || middle == 0 { // 0 would mean no bound
		return err
	}
	early, late := query, query
	early.To, late.From = middle, middle
	if err := n.collect(ctx, q, typ, late); err != nil {
		return err
	}
	return n.collect(ctx, q, typ, early)
}

// add adds profiles before the profiles of n.
func (n *newestProfiles) add(infos []profile.ProfileInfo, maxBytes int64) error {
	if bytes := 8 * int64(len(infos)+len(n.times)); maxBytes > 0 && bytes > maxBytes {
		return fmt.Errorf("%w: %d bytes for the times of %d profiles, at most %d", columnstore.ErrQueryMemory, bytes, bytes/8, maxBytes)
	}
	times := make([]int64, 0, len(infos)+len(n.times))
	for i := range infos {
		times = append(times, infos[i].Time)
	}
	n.times = append(times, n.times...)
	last := infos[max(0, len(infos)-(n.most-len(n.newest))):]
	n.newest = append(append(make([]profile.ProfileInfo, 0, len(last)+len(n.newest)), last...), n.newest...)
	return nil
}
