package page

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/server/internal/fault"
	"github.com/granarydb/granary/server/internal/question"
)

// Limits of a query for services: points of a line, and rows with the function that changed, which cost two merges each.
const (
	mostPoints  = 240
	mostChanged = 100
	mostLabel   = 1 << 10 // bytes of a label's name
)

// serviceBytes is about the memory of a row without its line.
const serviceBytes = 256

// ServicesAnswer is the answer to GET /api/v1/services: the values of a label, with their profiles in a range and before it.
type ServicesAnswer struct {
	Head
	SampleType string `json:"sample_type"`
	Unit       string `json:"unit"`
	// Mean is true if values are means over the times of profiles, not sums.
	Mean  bool   `json:"mean"`
	Label string `json:"label"`
	// From and To are the range, "" if there are no profiles. Without a bound it is that of the profiles.
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
	// Lines have Points points, of which each is for a step from Start on. Step is in nanoseconds. The first begins with the
	// range and the last ends with it: of rates they have also what is less than half a step.
	Start  string `json:"start,omitempty"`
	Step   int64  `json:"step"`
	Points int    `json:"points"`
	// Sides are the ranges of the same length before, of which the store has all profiles.
	Sides []ServicesSide `json:"sides"`
	// Total is the sum over all values of the label.
	Total int64 `json:"total"`
	// All is the number of values, Matching that of values that match.
	All      int       `json:"all"`
	Matching int       `json:"matching"`
	Rows     []Service `json:"rows"`
}

// ServicesSide is a range before the one that is asked for.
type ServicesSide struct {
	Ago  string `json:"ago"` // as in the parameter ago
	From string `json:"from"`
	To   string `json:"to"`
}

// Service is one value of a label. The value "" is that of profiles without the label.
type Service struct {
	Value string `json:"value"`
	Total int64  `json:"total"`
	// Before has the totals of the sides.
	Before []int64 `json:"before"`
	// Series is the number of sources: of profiles with equal labels.
	Series int `json:"series"`
	// Newest is the time of the newest profile in the range, "" if there is none.
	Newest string `json:"newest,omitempty"`
	// Line has a value for each step, null if there is no profile: a rate for each second, or the mean of a gauge.
	Line []*float64 `json:"line,omitempty"`
	// Changed is the function whose share changed most, if the query asks for it.
	Changed *ChangedFunction `json:"changed,omitempty"`
}

// sidesBefore are the sides before, by their names in the parameter ago.
var sidesBefore = []sideBefore{{"1h", time.Hour}, {"1d", 24 * time.Hour}, {"1w", 7 * 24 * time.Hour}}

type sideBefore struct {
	name string
	ago  time.Duration
}

// services is a query for the values of a label.
type services struct {
	*pageQuestion
	query  profile.Query // with both bounds
	typ    profile.Type
	label  string
	first  int64 // start of the first step
	step   int64
	points int
	sides  []profile.Query        // of the answer's sides
	totals [][]profile.LabelTotal // by side
	ago    int                    // index in sides of the side to compare with, or -1
}

// servicesOf answers GET /api/v1/services.
func servicesOf(ctx context.Context, q *pageQuestion) (pageAnswer, error) {
	s := services{pageQuestion: q, label: q.of.Get("label")}
	order := s.parse()
	most := q.page.Read.MaxNodes
	if order.changed = q.flag("changed"); order.changed {
		most = min(most, mostChanged)
	}
	order.rows, order.offset = q.rows(50, most)
	query, name := q.side(ctx, "")
	if q.err != nil {
		return nil, q.err
	}
	found, err := q.findType(ctx, query, name)
	if err != nil {
		return nil, err
	}
	s.query, s.typ = query, found.Type
	if err := s.findLabel(ctx); err != nil {
		return nil, err
	}
	out := &ServicesAnswer{
		SampleType: s.typ.Sample, Unit: s.typ.SampleUnit, Mean: s.typ.IsGauge() && !query.SumGauges,
		Label: s.label, Sides: []ServicesSide{}, Rows: []Service{},
	}
	if err := s.bounds(ctx, out, order.ago); err != nil || out.From == "" {
		return out, err
	}
	if err := s.fill(ctx, out, &order); err != nil {
		return nil, err
	}
	return out, nil
}

// serviceLabels tell services apart. The first that the profiles have is the default.
var serviceLabels = []string{"service_name", "job"}

// findLabel sets the label if the query names none.
func (s *services) findLabel(ctx context.Context) error {
	if s.label != "" {
		return nil
	}
	for _, label := range serviceLabels {
		values, err := s.at.DB.LabelValues(ctx, s.at.Snap, label, s.query)
		if err != nil {
			return err
		}
		if len(values) > 0 {
			s.label = label
			return nil
		}
	}
	s.label = serviceLabels[0]
	return nil
}

// servicesOrder is what a query for services wants of the rows.
type servicesOrder struct {
	sort         string
	ago          string
	reverse      bool
	match        func(value string) bool
	rows, offset int
	changed      bool
}

// parse parses the parameters that choose rows.
func (s *services) parse() (o servicesOrder) {
	if len(s.label) > mostLabel {
		s.refuse(fault.TooCostly("a label of %d bytes, at most %d", len(s.label), mostLabel))
	}
	if question.IsTypeLabel(s.label) {
		s.refuse(fault.Invalid("parameter label: %s is of the type, which the parameter t chooses", fault.Quoted(s.label)))
	}
	if s.points = s.number("points", 60, mostPoints); s.points < 2 {
		s.refuse(fault.TooCostly("%d points, at least 2", s.points))
	}
	o.sort, o.ago = cmp.Or(s.of.Get("sort"), "total"), cmp.Or(s.of.Get("ago"), sidesBefore[0].name)
	if !slices.Contains([]string{"total", "change", "name", "newest"}, o.sort) {
		s.refuse(fault.Invalid("parameter sort: want total, change, name or newest, not %s", fault.Quoted(o.sort)))
	}
	if !slices.ContainsFunc(sidesBefore, func(b sideBefore) bool { return b.name == o.ago }) {
		s.refuse(fault.Invalid("parameter ago: want 1h, 1d or 1w, not %s", fault.Quoted(o.ago)))
	}
	o.reverse, o.match = s.flag("reverse"), s.matcher(s.of.Get("match"))
	return o
}

// matcher returns whether a value has a text, whatever its case, or matches it as a pattern. A text that is no pattern is
// only searched for.
func (s *services) matcher(text string) func(string) bool {
	pattern, err := compile("match", text)
	if err != nil && fault.CauseOf(err).Status != http.StatusBadRequest {
		s.refuse(err)
	}
	lower := strings.ToLower(text)
	return func(value string) bool {
		return strings.Contains(strings.ToLower(value), lower) || err == nil && pattern.MatchString(value)
	}
}

// bounds sets the range, the step and the sides. It leaves the range empty if there are no profiles.
func (s *services) bounds(ctx context.Context, out *ServicesAnswer, ago string) error {
	newest, err := s.at.Newest(ctx)
	if err != nil || newest == 0 {
		return err
	}
	oldest, err := s.at.Oldest(ctx)
	if err != nil {
		return err
	}
	from, to := s.query.From, s.query.To
	if to == 0 {
		to = newest + 1
	}
	if from == 0 {
		from = max(1, min(oldest, to-1))
	}
	to = max(to, from+1)
	s.query.From, s.query.To = from, to
	s.step = stepFor(to-from, int64(s.points))
	s.first = from - from%s.step // steps are multiples, as in profile.DB.Range; from is after 1970
	last := to - 1 - (to-1)%s.step
	if !out.Mean { // a rate over a small part of a step would be that of one profile
		if s.first+s.step-from < s.step/2 && s.first < last {
			s.first += s.step
		}
		if to-last < s.step/2 && s.first < last {
			last -= s.step
		}
	}
	s.points = int((last-s.first)/s.step) + 1
	out.From, out.To = instantText(from), instantText(to)
	out.Start, out.Step, out.Points = instantText(s.first), s.step, s.points
	return s.before(ctx, out, ago, oldest)
}

// before sets the sides. A range that begins before the oldest profile is none, because a part would be compared with the
// whole; one step is tolerated, as profiles come at intervals.
func (s *services) before(ctx context.Context, out *ServicesAnswer, ago string, oldest int64) error {
	s.ago = -1
	for _, b := range sidesBefore {
		side := s.query
		side.From, side.To = s.query.From-int64(b.ago), s.query.To-int64(b.ago)
		if side.From < 1 || oldest >= side.From+s.step {
			continue
		}
		totals, err := s.at.DB.Totals(ctx, s.at.Snap, s.typ, side, s.label)
		if err != nil {
			return err
		}
		if len(totals) == 0 {
			continue
		}
		if b.name == ago {
			s.ago = len(s.sides)
		}
		s.sides, s.totals = append(s.sides, side), append(s.totals, totals)
		out.Sides = append(out.Sides, ServicesSide{b.name, instantText(side.From), instantText(side.To)})
	}
	return nil
}

// stepFor returns a step with which a range of any place has at most so many points: one that clocks have, if it is at
// least a second.
func stepFor(length, points int64) int64 {
	least := (length + points - 2) / (points - 1)
	if least < int64(time.Second) {
		return max(1, least)
	}
	for _, seconds := range []int64{1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200} {
		if step := seconds * int64(time.Second); step >= least {
			return step
		}
	}
	const day = int64(24 * time.Hour)
	return (least + day - 1) / day * day
}

// fill sets the rows of an answer.
func (s *services) fill(ctx context.Context, out *ServicesAnswer, o *servicesOrder) error {
	rows, err := s.all(ctx, out.Mean)
	if err != nil {
		return err
	}
	out.All = len(rows)
	for _, row := range rows {
		out.Total += row.Total
	}
	rows = slices.DeleteFunc(rows, func(r *serviceRow) bool { return ctx.Err() != nil || !o.match(r.Value) })
	if ctx.Err() != nil {
		return ctx.Err()
	}
	out.Matching = len(rows)
	s.sort(rows, o)
	rows = rows[min(o.offset, len(rows)):]
	for _, row := range rows[:min(o.rows, len(rows))] {
		if row.newest != 0 {
			row.Newest = instantText(row.newest)
		}
		row.Line = s.line(row.points, out.Mean)
		if o.changed && s.ago >= 0 {
			if row.Changed, err = s.changed(ctx, row.Value); err != nil {
				return err
			}
		}
		out.Rows = append(out.Rows, row.Service)
	}
	return nil
}

// all returns a row for each value of the label, in the range or in a side.
func (s *services) all(ctx context.Context, isMean bool) ([]*serviceRow, error) {
	lines, err := s.at.DB.Range(ctx, s.at.Snap, s.typ, s.query, profile.RangeOptions{Step: time.Duration(s.step), By: []string{s.label}})
	if err != nil {
		return nil, err
	}
	all := serviceRows{sides: len(s.sides), of: map[string]*serviceRow{}}
	for i := range lines {
		row := all.row(lines[i].Labels)
		row.points = lines[i].Points
		for _, p := range row.points {
			row.Total += p.Value
		}
	}
	if isMean { // which over the range is no sum of the means of steps
		totals, err := s.at.DB.Totals(ctx, s.at.Snap, s.typ, s.query, s.label)
		if err != nil {
			return nil, err
		}
		for _, t := range totals {
			all.row(t.Labels).Total = t.Value
		}
	}
	for i, totals := range s.totals {
		for _, t := range totals {
			all.row(t.Labels).Before[i] = t.Value
		}
	}
	sources, err := s.at.DB.SourcesBy(ctx, s.at.Snap, s.typ, s.query, s.label)
	if err != nil {
		return nil, err
	}
	for _, of := range sources {
		row := all.row(of.Labels)
		row.Series = of.Sources
	}
	if err := s.findNewest(ctx, &all); err != nil {
		return nil, err
	}
	if bytes := int64(serviceBytes * len(all.list)); bytes > s.query.MaxBytes {
		return nil, fmt.Errorf("%w: %d bytes for %d values of %.100q, at most %d", columnstore.ErrQueryMemory, bytes, len(all.list), s.label, s.query.MaxBytes)
	}
	return all.list, nil
}

// findNewest finds the time of the newest profile of each row. It reads the profiles of the last step of its line, which
// most rows share.
func (s *services) findNewest(ctx context.Context, all *serviceRows) error {
	last := map[int64]bool{} // starts of the steps
	for _, row := range all.list {
		if n := len(row.points); n > 0 {
			last[row.points[n-1].Time] = true
		}
	}
	for start := range last {
		query := s.query
		query.From = max(query.From, start)
		if query.To-start > s.step {
			query.To = start + s.step
		}
		times, err := s.at.DB.NewestBy(ctx, s.at.Snap, s.typ, query, s.label)
		if err != nil {
			return err
		}
		for _, of := range times {
			row := all.row(of.Labels)
			row.newest = max(row.newest, of.Time)
		}
	}
	return nil
}

// line returns the points of a line, which has null where there are none. The first begins with the range, and the last
// ends with it.
func (s *services) line(points []profile.Point, isMean bool) []*float64 {
	line := make([]*float64, s.points)
	for _, p := range points {
		i := max(0, min(int64(s.points-1), (p.Time-s.first)/s.step))
		if line[i] == nil {
			line[i] = new(float64)
		}
		*line[i] += float64(p.Value)
	}
	if isMean {
		return line
	}
	for i, v := range line {
		lo, hi := s.query.From, s.query.To
		if i > 0 {
			lo = s.first + int64(i)*s.step
		}
		if i < s.points-1 {
			hi = s.first + int64(i+1)*s.step
		}
		if v != nil {
			*v /= time.Duration(hi - lo).Seconds()
		}
	}
	return line
}

// serviceRow is a row in the making.
type serviceRow struct {
	Service
	points []profile.Point
	newest int64
}

// serviceRows has a row for each value of the label.
type serviceRows struct {
	sides int
	of    map[string]*serviceRow
	list  []*serviceRow
}

// row returns the row for the labels of an answer, which are the label, or none.
func (all *serviceRows) row(labels []profile.Label) *serviceRow {
	value := ""
	if len(labels) > 0 {
		value = labels[0].Value
	}
	row := all.of[value]
	if row == nil {
		row = &serviceRow{Service: Service{Value: value, Before: make([]int64, all.sides)}}
		all.of[value] = row
		all.list = append(all.list, row)
	}
	return row
}

// sort sorts rows: the greatest total, change or time first, or by name. Without the side to compare with, changes are 0.
func (s *services) sort(rows []*serviceRow, o *servicesOrder) {
	slices.SortFunc(rows, func(a, b *serviceRow) int {
		by := 0
		switch {
		case o.sort == "total":
			by = cmp.Compare(b.Total, a.Total)
		case o.sort == "change" && s.ago >= 0:
			by = cmp.Compare(distance([2]int64{b.Before[s.ago], b.Total}, 2), distance([2]int64{a.Before[s.ago], a.Total}, 2))
		case o.sort == "newest":
			by = cmp.Compare(b.newest, a.newest)
		}
		by = cmp.Or(by, cmp.Compare(a.Value, b.Value))
		if o.reverse {
			return -by
		}
		return by
	})
}
