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
	"github.com/granarydb/granary/server/internal/source"
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
	typ    source.Typed
	label  string
	first  int64 // start of the first step
	step   int64
	points int
	sides  []profile.Query // of the answer's sides
	rows   []source.LabelRow
	ago    int // index in sides of the side to compare with, or -1
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
	var err error
	if s.typ, err = q.findType(ctx, query, name); err != nil {
		return nil, err
	}
	s.query = query
	if err := s.findLabel(ctx); err != nil {
		return nil, err
	}
	out := &ServicesAnswer{
		SampleType: s.typ.Type.Sample, Unit: s.typ.Type.SampleUnit, Mean: s.typ.Type.IsGauge() && !query.SumGauges,
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
		has, err := s.view.HasLabel(ctx, s.query, label)
		if err != nil {
			return err
		}
		if has {
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
	newest, err := s.view.Newest(ctx)
	if err != nil || newest == 0 {
		return err
	}
	oldest, err := s.view.Oldest(ctx)
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

// before sets the rows and the sides. A range that begins before the oldest profile is none, because a part would be compared with the
// whole; one step is tolerated, as profiles come at intervals. Nor is one without profiles.
func (s *services) before(ctx context.Context, out *ServicesAnswer, ago string, oldest int64) error {
	s.ago = -1
	ask := source.ByLabel{Typed: s.typ, Name: s.of.Get("t"), Selector: s.of.Get("q"), Query: s.query, Label: s.label, Step: s.step}
	var known []string // names of the sides
	for _, b := range sidesBefore {
		from, to := s.query.From-int64(b.ago), s.query.To-int64(b.ago)
		if from >= 1 && oldest < from+s.step {
			ask.Sides, known = append(ask.Sides, [2]int64{from, to}), append(known, b.name)
		}
	}
	rows, has, err := s.view.ByLabel(ctx, &ask)
	if err != nil {
		return err
	}
	if bytes := int64(serviceBytes * len(rows)); bytes > s.query.MaxBytes {
		return fmt.Errorf("%w: %d bytes for %d values of %.100q, at most %d", columnstore.ErrQueryMemory, bytes, len(rows), s.label, s.query.MaxBytes)
	}
	s.rows = rows
	for i, name := range known {
		if !has[i] {
			continue
		}
		if name == ago {
			s.ago = len(s.sides)
		}
		side := s.query
		side.From, side.To = ask.Sides[i][0], ask.Sides[i][1]
		s.sides = append(s.sides, side)
		out.Sides = append(out.Sides, ServicesSide{name, instantText(side.From), instantText(side.To)})
	}
	for i := range s.rows {
		before := make([]int64, 0, len(s.sides))
		for k, total := range s.rows[i].Before {
			if has[k] {
				before = append(before, total)
			}
		}
		s.rows[i].Before = before
	}
	return nil
}

// stepFor returns a step with which a range of any place has at most the given points: one that clocks have, if it is at
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
func (s *services) fill(ctx context.Context, out *ServicesAnswer, o *servicesOrder) (err error) {
	rows := s.rows
	out.All = len(rows)
	for i := range rows {
		out.Total += rows[i].Total
	}
	rows = slices.DeleteFunc(rows, func(r source.LabelRow) bool { return ctx.Err() != nil || !o.match(r.Value) })
	if ctx.Err() != nil {
		return ctx.Err()
	}
	out.Matching = len(rows)
	s.sort(rows, o)
	rows = rows[min(o.offset, len(rows)):]
	for i := range rows[:min(o.rows, len(rows))] {
		of := &rows[i]
		row := Service{Value: of.Value, Total: of.Total, Before: of.Before, Series: of.Sources, Line: s.line(of.Points, out.Mean)}
		if of.Newest != 0 {
			row.Newest = instantText(of.Newest)
		}
		if o.changed && s.ago >= 0 {
			if row.Changed, err = s.changed(ctx, row.Value); err != nil {
				return err
			}
		}
		out.Rows = append(out.Rows, row)
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

// sort sorts rows: the greatest total, change or time first, or by name. Without the side to compare with, changes are 0.
func (s *services) sort(rows []source.LabelRow, o *servicesOrder) {
	slices.SortFunc(rows, func(a, b source.LabelRow) int {
		by := 0
		switch {
		case o.sort == "total":
			by = cmp.Compare(b.Total, a.Total)
		case o.sort == "change" && s.ago >= 0:
			by = cmp.Compare(distance([2]int64{b.Before[s.ago], b.Total}, 2), distance([2]int64{a.Before[s.ago], a.Total}, 2))
		case o.sort == "newest":
			by = cmp.Compare(b.Newest, a.Newest)
		}
		by = cmp.Or(by, cmp.Compare(a.Value, b.Value))
		if o.reverse {
			return -by
		}
		return by
	})
}
