package server

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/server/internal/fault"
	"github.com/granarydb/granary/server/internal/replace"
	"github.com/granarydb/granary/server/internal/rules"
	"github.com/granarydb/granary/server/internal/source"
	"github.com/granarydb/granary/server/internal/web"
)

// RuleOptions say what becomes of rules: metrics that are made from profiles (Server.SetRules, POST /rules). Server.RunRules reads the
// profiles. The zero value serves them at /metrics.
type RuleOptions struct {
	// Keep is a file for the rules of POST /rules. Empty keeps them in memory.
	Keep string
	// WriteURL is that of a receiver of Prometheus' remote write 1.0. Empty sends nothing.
	WriteURL string
	// WriteToken returns the bearer token for WriteURL, or "". nil sends none.
	WriteToken func() string
}

// Rules are checked rules, of any tenants. The zero value has none.
type Rules struct{ list rules.List }

// ErrRules reports an invalid file of rules. The text names the line or the rule.
var ErrRules = rules.ErrRule

// ParseRules checks a file of rules, in YAML or JSON: at most l.Rules. docs/serving.md has the form. Errors are ErrRules.
func ParseRules(data []byte, l Limits) (Rules, error) {
	list, err := rules.Parse(data, l.WithDefaults().Rules)
	return Rules{list}, err
}

// Names returns the names of the rules, in the order of the file.
func (r Rules) Names() (names []string) {
	for _, one := range r.list.Rules {
		names = append(names, one.Name)
	}
	return names
}

// ruleKeep is for how long late rows are counted.
const ruleKeep = 24 * time.Hour

// ruleSource is where the rules of a tenant are from.
type ruleSource struct {
	tenant   string
	isPosted bool
}

// compare orders by tenant, and the file before POST /rules.
func (a ruleSource) compare(b ruleSource) int {
	if a.tenant != b.tenant || a.isPosted == b.isPosted {
		return cmp.Compare(a.tenant, b.tenant)
	}
	if a.isPosted {
		return 1
	}
	return -1
}

// ruleSets has the rules of all tenants.
type ruleSets struct {
	opts   RuleOptions
	limits Limits
	writer *rules.Writer
	wake   chan struct{} // rules have changed

	stepping sync.Mutex // held while profiles are read, and while rules change

	mu     sync.Mutex
	sets   map[ruleSource]*ruleSet
	posted map[string]string // texts of POST /rules, by tenant
	took   time.Duration     // by all steps
	failed int               // steps
	writes int               // that failed
}

// ruleSet is the rules of one source.
type ruleSet struct {
	*rules.Set
	list rules.List
	next time.Time // of its next step
}

func newRuleSets(opts RuleOptions, l Limits) *ruleSets {
	if opts.WriteToken == nil {
		opts.WriteToken = func() string { return "" }
	}
	s := &ruleSets{opts: opts, limits: l, wake: make(chan struct{}, 1), sets: map[ruleSource]*ruleSet{}, posted: map[string]string{}}
	if opts.WriteURL != "" {
		s.writer = &rules.Writer{URL: opts.WriteURL, Token: opts.WriteToken, Client: &http.Client{}}
	}
	return s
}

// load reads the kept rules.
func (s *ruleSets) load(now time.Time) error {
	if s.opts.Keep == "" {
		return nil
	}
	data, err := os.ReadFile(s.opts.Keep)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = json.Unmarshal(data, &s.posted)
	}
	for tenant, text := range s.posted {
		var list rules.List
		if err == nil {
			list, err = parsePosted(text, tenant, s.limits)
		}
		if err == nil {
			s.replace(ruleSource{tenant, true}, list, now)
		}
	}
	if err != nil {
		return fmt.Errorf("rules of %s: %w", s.opts.Keep, err)
	}
	return nil
}

// parsePosted parses the rules of a tenant.
func parsePosted(text, tenant string, l Limits) (rules.List, error) {
	list, err := rules.Parse([]byte(text), l.Rules)
	for i := range list.Rules {
		r := &list.Rules[i]
		if r.Tenant == profile.Anonymous {
			r.Tenant = tenant
		} else if r.Tenant != tenant && err == nil {
			err = fault.Denied("rule %s: it is for another tenant than %s", fault.Quoted(r.Name), fault.Quoted(tenant))
		}
	}
	return list, err
}

// check returns an error if lists cannot be together: there are too many, or two have one name.
func (s *ruleSets) check(changed map[ruleSource]rules.List) error {
	all := maps.Clone(changed)
	for of, set := range s.sets {
		if _, isChanged := changed[of]; !isChanged {
			all[of] = set.list
		}
	}
	count, names := 0, map[[2]string]bool{}
	for of, list := range all {
		count += len(list.Rules)
		for _, r := range list.Rules {
			key := [2]string{of.tenant, r.Name}
			if names[key] {
				return fmt.Errorf("%w: %s is in the file of the server and in POST /rules", ErrRules, fault.Quoted(r.Name))
			}
			names[key] = true
		}
	}
	if count > s.limits.Rules {
		return fault.TooMany("%d rules of all tenants, at most %d", count, s.limits.Rules)
	}
	return nil
}

// replace sets the rules of a source, which go on with the values of equal ones. The caller holds both locks, or nobody else has s.
func (s *ruleSets) replace(of ruleSource, list rules.List, now time.Time) {
	if len(list.Rules) == 0 {
		delete(s.sets, of)
		return
	}
	var before *rules.Set
	if old := s.sets[of]; old != nil {
		before = old.Set
	}
	l := rules.Limits{Series: s.limits.RuleSeries, Values: s.limits.RuleValues, Keep: ruleKeep, QueryBytes: s.limits.QueryBytes}
	s.sets[of] = &ruleSet{rules.NewSet(list, l, now, before), list, nextStep(now, list.Interval)}
}

// isDue reports whether a step is due. It is too if the next is further ahead than an interval: the clock was set back then.
func (s *ruleSet) isDue(now time.Time) bool {
	return !s.next.After(now) || s.next.Sub(now) > s.Interval()
}

// nextStep returns when the profiles of the present interval are there: most are pushed within ten seconds.
func nextStep(now time.Time, interval time.Duration) time.Time {
	wait := min(10*time.Second, interval/6)
	next := now.Truncate(interval).Add(wait)
	if !next.After(now) {
		next = next.Add(interval)
	}
	return next
}

// SetRules replaces the rules of the server's file; those of POST /rules stay. Rules that were there before go on. Errors are ErrRules for
// a name that a posted rule has, ErrLimit for too many, and that of a front; nothing is replaced then.
func (s *Server) SetRules(r Rules) error {
	if s.tenants.store == nil {
		_, err := s.source.Store(source.Rules)
		return err
	}
	k := s.rules
	k.stepping.Lock()
	defer k.stepping.Unlock()
	k.mu.Lock()
	defer k.mu.Unlock()
	changed := map[ruleSource]rules.List{}
	for of := range k.sets {
		if !of.isPosted {
			changed[of] = rules.List{}
		}
	}
	for _, tenant := range r.list.Tenants() {
		changed[ruleSource{tenant, false}] = r.list.Of(tenant)
	}
	if err := k.check(changed); err != nil {
		return err
	}
	for of, list := range changed {
		k.replace(of, list, s.opts.Now())
	}
	k.changed()
	return nil
}

// changed wakes RunRules.
func (s *ruleSets) changed() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// RunRules makes metrics of profiles by the rules, until ctx is done: shortly after each interval has ended. A program with rules calls
// it on a goroutine of its own, and waits for its end before Wait.
func (s *Server) RunRules(ctx context.Context) {
	if s.rules == nil {
		return // a front
	}
	for {
		wait := s.rules.wait(s.opts.Now())
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-s.rules.wake:
			timer.Stop()
		case <-timer.C:
			s.stepRules(ctx, s.opts.Now())
		}
	}
}

// wait returns the time until the next step.
func (s *ruleSets) wait(now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	wait := time.Hour
	for _, set := range s.sets {
		if set.isDue(now) {
			return 0
		}
		wait = min(wait, set.next.Sub(now))
	}
	return wait
}

// stepRules reads the profiles of the sets that are due.
func (s *Server) stepRules(ctx context.Context, now time.Time) {
	k := s.rules
	k.stepping.Lock()
	defer k.stepping.Unlock()
	k.mu.Lock()
	due := map[ruleSource]*rules.Set{}
	for of, set := range k.sets {
		if set.isDue(now) {
			due[of], set.next = set.Set, nextStep(now, set.Interval())
		}
	}
	k.mu.Unlock()
	var samples []rules.Sample
	for of, set := range due {
		start := time.Now()
		err := s.stepSet(ctx, of.tenant, set, now)
		k.mu.Lock()
		k.took += time.Since(start)
		if err != nil {
			k.failed++
		}
		k.mu.Unlock()
		if err != nil && ctx.Err() == nil {
			s.opts.Log.ErrorContext(ctx, "rules", "tenant", of.tenant, "error", fault.Text(err))
		}
		samples = append(samples, set.Samples()...)
	}
	if k.writer == nil || len(due) == 0 {
		return
	}
	if err := k.writer.Write(ctx, samples, now); err != nil && ctx.Err() == nil {
		k.mu.Lock()
		k.writes++
		k.mu.Unlock()
		s.opts.Log.ErrorContext(ctx, "rules", "error", err)
	}
}

// stepSet is a query, with the limits of one.
func (s *Server) stepSet(ctx context.Context, name string, set *rules.Set, now time.Time) error {
	t, err := s.known(name)
	if t == nil || err != nil {
		return err
	}
	return s.gate.InTime(ctx, func(ctx context.Context) error {
		return t.source.At(ctx, func(v *source.At) error { return set.Step(ctx, v.DB, v.Snap, now) })
	})
}

// postRules handles POST /rules: it replaces the rules that the caller's tenant has posted.
func (s *Server) postRules(of source.Source) http.Handler {
	return web.Handler(func(w http.ResponseWriter, r *http.Request) error {
		if _, err := of.Store(source.Rules); err != nil {
			return err
		}
		tenant := web.CallerOf(r.Context()).Tenant
		if _, err := s.pushDB(tenant); err != nil { // it may not push either
			return err
		}
		text, err := io.ReadAll(r.Body)
		if err != nil {
			return err
		}
		list, err := parsePosted(string(text), tenant, s.limits)
		if err == nil {
			err = s.rules.post(tenant, string(text), list, s.opts.Now())
		}
		if err == nil {
			err = s.kept(r.Context(), s.opts.Rules.Keep)
		}
		if errors.Is(err, ErrRules) {
			return fault.Invalid("%w", err)
		}
		if err != nil {
			return err
		}
		return s.sendRules(w, r)
	})
}

// post replaces the posted rules of a tenant, and keeps them.
func (s *ruleSets) post(tenant, text string, list rules.List, now time.Time) error {
	s.stepping.Lock()
	defer s.stepping.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	own := ruleSource{tenant, true}
	if err := s.check(map[ruleSource]rules.List{own: list}); err != nil {
		return err
	}
	posted := maps.Clone(s.posted)
	if delete(posted, tenant); len(list.Rules) > 0 {
		posted[tenant] = text
	}
	if err := s.keep(posted); err != nil {
		return fmt.Errorf("rules: %w", err)
	}
	s.posted = posted
	s.replace(own, list, now)
	s.changed()
	return nil
}

// keep writes the posted rules into a new file, which replaces the one before.
func (s *ruleSets) keep(posted map[string]string) error {
	if s.opts.Keep == "" {
		return nil
	}
	data, err := json.Marshal(posted)
	if err != nil {
		return err
	}
	return replace.File(s.opts.Keep, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// ruleAnswer is an element of the answer to GET /rules.
type ruleAnswer struct {
	From string `json:"from"` // file, or posted
	rules.Status
}

// getRules handles GET /rules: the rules of the caller's tenant, and what came of them.
func (s *Server) getRules(of source.Source) http.Handler {
	return web.Handler(func(w http.ResponseWriter, r *http.Request) error {
		if _, err := of.Store(source.Rules); err != nil {
			return err
		}
		return s.sendRules(w, r)
	})
}

func (s *Server) sendRules(w http.ResponseWriter, r *http.Request) error {
	answer := struct {
		Rules []ruleAnswer `json:"rules"`
	}{[]ruleAnswer{}}
	for _, isPosted := range []bool{false, true} {
		from := "file"
		if isPosted {
			from = "posted"
		}
		if set := s.rules.get(ruleSource{web.CallerOf(r.Context()).Tenant, isPosted}); set != nil {
			answer.Rules = append(answer.Rules, ruleAnswer{from, set.Status()})
		}
	}
	return web.SendJSON(w, r, s.limits.ResultBytes, answer)
}

func (s *ruleSets) get(of ruleSource) *ruleSet {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sets[of]
}

// all returns the sets, in a fixed order.
func (s *ruleSets) all() (sets []*ruleSet) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, of := range slices.SortedFunc(maps.Keys(s.sets), ruleSource.compare) {
		sets = append(sets, s.sets[of])
	}
	return sets
}

// ruleCollector has the metrics that rules make, and those about rules.
type ruleCollector struct{ sets *ruleSets }

// Describe implements prometheus.Collector.
func (c ruleCollector) Describe(ch chan<- *prometheus.Desc) { prometheus.DescribeByCollect(c, ch) }

// Collect implements prometheus.Collector.
func (c ruleCollector) Collect(ch chan<- prometheus.Metric) {
	help := map[string]string{} // a metric has one, whatever its rules say
	count, failing, tooLate := 0, 0, int64(0)
	for _, set := range c.sets.all() {
		status := set.Status()
		for _, r := range status.Rules {
			if count++; r.Error != "" {
				failing++
			}
		}
		tooLate += status.TooLate
		for _, s := range set.Samples() {
			if help[s.Name] == "" {
				help[s.Name] = s.Help
			}
			if m := ruleMetric(s, help[s.Name]); m != nil {
				ch <- m
			}
		}
	}
	own := func(kind prometheus.ValueType, name, help string, value float64) {
		ch <- prometheus.MustNewConstMetric(prometheus.NewDesc("granary_rules"+name, help, nil, nil), kind, value)
	}
	c.sets.mu.Lock()
	defer c.sets.mu.Unlock()
	own(prometheus.GaugeValue, "", "Rules.", float64(count))
	own(prometheus.GaugeValue, "_failing", "Rules whose last interval could not be read; GET /rules tells why.", float64(failing))
	own(prometheus.CounterValue, "_seconds_total", "Time in which rules read profiles.", c.sets.took.Seconds())
	own(prometheus.CounterValue, "_failures_total", "Readings of profiles that failed for all rules of a tenant.", float64(c.sets.failed))
	own(prometheus.CounterValue, "_too_late_rows_total", "Rows that came later than rules count them.", float64(tooLate))
	own(prometheus.CounterValue, "_write_failures_total", "Remote writes that failed.", float64(c.sets.writes))
}

// ruleMetric returns a sample as a metric, or nil if its labels are none of Prometheus.
func ruleMetric(s rules.Sample, help string) prometheus.Metric {
	var names, values []string
	for _, l := range s.Labels {
		names, values = append(names, l.Name), append(values, strings.ToValidUTF8(l.Value, "\uFFFD"))
	}
	kind := prometheus.CounterValue
	if s.IsGauge {
		kind = prometheus.GaugeValue
	}
	m, err := prometheus.NewConstMetric(prometheus.NewDesc(s.Name, help, names, nil), kind, s.Value, values...)
	if err != nil {
		return nil
	}
	if s.Page == "" {
		return m
	}
	linked, err := prometheus.NewMetricWithExemplars(m, prometheus.Exemplar{Value: s.Last, Labels: prometheus.Labels{rules.PageLabel: s.Page}, Timestamp: s.At})
	if err != nil {
		return m
	}
	return linked
}
