package rules

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/server/internal/question"
)

// Sample is a value of a rule.
type Sample struct {
	Name, Help string
	IsGauge    bool
	Labels     []profile.Label // sorted by name, without the name of the metric
	Value      float64
	// Page is the address of the profiles behind the last interval with a value, in the server's page, and Last is that value. Page is
	// empty for gauges, which cannot have exemplars.
	Page string
	Last float64
	At   time.Time // its end
}

// Samples returns the values of all rules, by rule and labels. Nanoseconds are seconds in them, as is usual in Prometheus.
func (s *Set) Samples() (all []Sample) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.rules {
		first := len(all)
		if r.isGauge {
			for _, cells := range r.slots { // the last one alone
				for _, c := range cells {
					all = append(all, r.sample(c.of, c.value))
				}
			}
		} else {
			for _, one := range r.series {
				sample := r.sample(one, one.total)
				sample.Last, sample.At, sample.Page = r.valueOf(one.value), time.Unix(0, one.last+s.interval).UTC(), r.page(one, s.interval)
				all = append(all, sample)
			}
		}
		slices.SortFunc(all[first:], func(a, b Sample) int { return question.CompareLabels(a.Labels, b.Labels) })
	}
	return all
}

func (r *ruleState) sample(of *ruleSeries, value int64) Sample {
	s := Sample{Name: r.Name, Help: cmp.Or(r.Help, "A rule of profiles."), IsGauge: r.isGauge, Value: r.valueOf(value)}
	for _, l := range of.labels {
		s.Labels = append(s.Labels, profile.Label{Name: r.labels[slices.Index(r.By, l.Name)], Value: l.Value})
	}
	if r.Tenant != profile.Anonymous {
		s.Labels = append(s.Labels, profile.Label{Name: tenantLabel, Value: r.Tenant})
	}
	slices.SortFunc(s.Labels, question.CompareLabel)
	return s
}

// valueOf returns a value in the unit of metrics.
func (r *ruleState) valueOf(value int64) float64 {
	if r.unit == "nanoseconds" {
		return float64(value) / float64(time.Second)
	}
	return float64(value)
}

// PageLabel is the label of exemplars with the address of a page. OpenMetrics bounds an exemplar's labels.
const (
	PageLabel = "page"
	mostPage  = 128 - len(PageLabel)
)

// page returns the address, relative to the server's, of the page of a series' last interval: with the labels of the series if there is
// room, else with those of the rule, or only its type and times.
func (r *ruleState) page(of *ruleSeries, interval int64) string {
	root := ""
	if r.Tenant != profile.Anonymous {
		root = "tenants/" + url.PathEscape(r.Tenant) + "/"
	}
	narrow := r.sum.Selector
	for _, l := range of.labels {
		if one, err := profile.ParseSelector(fmt.Sprintf("{%q=%q}", l.Name, l.Value)); err == nil {
			narrow = narrow.And(one)
		}
	}
	for _, selector := range []profile.Selector{narrow, r.sum.Selector, {}} {
		at := url.Values{"t": {r.Type}, "from": {seconds(of.last)}, "to": {seconds(of.last + interval)}}
		if selector.String() != "" {
			at.Set("q", selector.String())
		}
		if r.Function != "" {
			at.Set("focus", r.Function)
		}
		if page := root + "?" + at.Encode(); utf8.RuneCountInString(page) <= mostPage {
			return page
		}
		at.Del("focus")
		if page := root + "?" + at.Encode(); utf8.RuneCountInString(page) <= mostPage {
			return page
		}
	}
	return ""
}

func seconds(nanos int64) string { return strconv.FormatInt(nanos/int64(time.Second), 10) }
