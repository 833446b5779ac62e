package server

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"
	"github.com/klauspost/compress/snappy"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/granarydb/granary/columnstore"
)

// rulesAt is the time of the profiles of these tests: amid an interval.
var rulesAt = time.Date(2026, 11, 3, 9, 30, 30, 0, time.UTC)

// pushRuled pushes a profile of CPU time: 30 ns of parse and 12 ns of main.
func pushRuled(t *testing.T, r *receiver, at time.Time, query string, headers ...string) {
	t.Helper()
	cpu := &pprof.ValueType{Type: "cpu", Unit: "nanoseconds"}
	p := &pprof.Profile{SampleType: []*pprof.ValueType{cpu}, PeriodType: cpu, Period: 1, TimeNanos: at.UnixNano(), DurationNanos: 1e9}
	for i, name := range []string{"parse", "main"} {
		f := &pprof.Function{ID: uint64(i + 1), Name: name}
		p.Function, p.Location = append(p.Function, f), append(p.Location, &pprof.Location{ID: f.ID, Line: []pprof.Line{{Function: f}}})
	}
	p.Sample = []*pprof.Sample{{Location: p.Location, Value: []int64{30}}, {Location: p.Location[1:], Value: []int64{12}}}
	r.want(http.StatusOK, "rows", r.request(http.MethodPost, "/pprof?"+query, encoded(t, p), headers...))
}

const shopRules = `
rules:
- name: shop_cpu_seconds_total
  type: cpu
  selector: '{service_name="shop"}'
  by: [pod, service_name]
  help: CPU time of the shop.
`

// metricsOf returns the lines of /metrics with a text, without those of comments.
func metricsOf(r *receiver, has string, headers ...string) (lines []string) {
	r.t.Helper()
	_, body := r.send(r.request(http.MethodGet, "/metrics", nil, headers...))
	for line := range strings.Lines(body) {
		if strings.Contains(line, has) && !strings.HasPrefix(line, "#") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

// stepAll makes a step of all rules, whether they are due or not.
func stepAll(t *testing.T, s *Server, now time.Time) {
	t.Helper()
	s.rules.mu.Lock()
	for _, set := range s.rules.sets {
		set.next = now
	}
	s.rules.mu.Unlock()
	s.stepRules(t.Context(), now)
}

// TestRules: rules of a file and of POST /rules are at /metrics, with an exemplar in OpenMetrics' form, and go on over a change.
func TestRules(t *testing.T) {
	now := rulesAt
	keep := filepath.Join(t.TempDir(), "rules.json")
	opts := Options{Now: func() time.Time { return now }, Rules: RuleOptions{Keep: keep}}
	r := newReceiver(t, opts, columnstore.Options{Now: opts.Now})
	rules, err := ParseRules([]byte(shopRules), Limits{})
	if err != nil || len(rules.Names()) != 1 {
		t.Fatal(err)
	}
	if err := r.s.SetRules(rules); err != nil {
		t.Fatal(err)
	}
	pushRuled(t, r, now, "service_name=shop&pod=a")
	pushRuled(t, r, now, "service_name=other")
	pushRuled(t, r, now, "service_name=shop&pod=a", TenantHeader, "x")
	step := func() { stepAll(t, r.s, now) }
	if step(); len(metricsOf(r, "shop_cpu")) != 0 {
		t.Errorf("before the interval has ended: %q", metricsOf(r, "shop_cpu"))
	}
	now = now.Add(time.Minute)
	step()
	const want = `shop_cpu_seconds_total{pod="a",service_name="shop"} 4.2e-08`
	if lines := metricsOf(r, "shop_cpu"); len(lines) != 1 || lines[0] != want {
		t.Errorf("%q", lines)
	}
	open := []string{"Accept", "application/openmetrics-text; version=1.0.0"}
	if lines := metricsOf(r, "shop_cpu", open...); len(lines) != 1 || !strings.HasPrefix(lines[0], want+` # {page="?from=`) || !strings.Contains(lines[0], "t=cpu") {
		t.Errorf("%q", lines)
	}

	other := []string{TenantHeader, "x"}
	post := func(status int, text, body string, headers ...string) {
		t.Helper()
		r.want(status, text, r.request(http.MethodPost, "/rules", []byte(body), headers...))
	}
	post(http.StatusBadRequest, "is in the file", shopRules)
	post(http.StatusOK, `"shop_cpu_seconds_total"`, shopRules, other...)
	post(http.StatusBadRequest, "letters, digits", `{"rules":[{"name":"a b","type":"cpu"}]}`)
	post(http.StatusForbidden, "another tenant", `{"rules":[{"name":"a_total","type":"cpu","tenant":"x"}]}`)
	post(http.StatusOK, `"from":"posted"`, `{"rules":[{"name":"parse_total","type":"cpu","function":"parse"},{"name":"heap","type":"inuse_space"}]}`)
	pushRuled(t, r, now, "service_name=shop&pod=b")
	pushRuled(t, r, now, "service_name=shop&pod=b", other...)
	pushRuled(t, r, rulesAt, "service_name=shop&pod=a") // late
	now = now.Add(time.Minute)
	step()
	got := strings.Join(append(metricsOf(r, "shop_cpu"), metricsOf(r, "parse_total")...), "\n")
	if want := strings.Join([]string{
		`shop_cpu_seconds_total{pod="a",service_name="shop"} 8.4e-08`, `shop_cpu_seconds_total{pod="b",service_name="shop"} 4.2e-08`,
		`shop_cpu_seconds_total{pod="b",service_name="shop",tenant="x"} 4.2e-08`, `parse_total 3e-08`,
	}, "\n"); got != want {
		t.Errorf("%s, want\n%s", got, want)
	}
	if lines := metricsOf(r, "granary_rules"); !strings.Contains(strings.Join(lines, " "), "granary_rules 4 ") || !strings.Contains(strings.Join(lines, " "), "granary_rules_failing 0") {
		t.Errorf("%q", lines)
	}

	// Posted rules are there again after a restart, and only their tenant sees them.
	r = receiverOf(t, r.store, opts)
	_, body := r.send(r.request(http.MethodGet, "/rules", nil, other...))
	var answer struct {
		Rules []struct {
			From  string
			Rules []struct{ Name, Kind string }
		}
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil || len(answer.Rules) != 1 || len(answer.Rules[0].Rules) != 1 || answer.Rules[0].From != "posted" {
		t.Errorf("%v %s", err, body)
	}
	if _, body := r.send(r.request(http.MethodGet, "/rules", nil)); !strings.Contains(body, `"gauge"`) || strings.Contains(body, "shop_cpu") {
		t.Errorf("%s", body)
	}
	r.want(http.StatusOK, `{"rules":[]}`, r.request(http.MethodPost, "/rules", []byte("rules: []")))
	if _, body := r.send(r.request(http.MethodGet, "/rules", nil)); strings.TrimSpace(body) != `{"rules":[]}` {
		t.Errorf("%s", body)
	}
}

// TestRules_Limits: all tenants together have a number of rules, tokens hold, and a front has none.
func TestRules_Limits(t *testing.T) {
	r := newReceiver(t, Options{Limits: Limits{Rules: 2}, Tokens: Tokens{Read: []string{"r", "rx"}, Write: []string{"w"}, Tenants: map[string]string{"rx": "x"}}}, columnstore.Options{})
	auth := func(token string, more ...string) []string {
		return append([]string{"Authorization", "Bearer " + token}, more...)
	}
	body := []byte(`rules: [{name: a_total, type: cpu}, {name: b_total, type: cpu}]`)
	r.want(http.StatusUnauthorized, "", r.request(http.MethodPost, "/rules", body))
	r.want(http.StatusUnauthorized, "", r.request(http.MethodPost, "/rules", body, auth("r")...))
	r.want(http.StatusOK, "", r.request(http.MethodPost, "/rules", body, auth("w")...))
	r.want(http.StatusTooManyRequests, "at most 2", r.request(http.MethodPost, "/rules", body, auth("w", TenantHeader, "x")...))
	r.want(http.StatusUnauthorized, "", r.request(http.MethodGet, "/rules", nil, auth("w")...))
	r.want(http.StatusOK, "a_total", r.request(http.MethodGet, "/rules", nil, auth("r")...))
	r.want(http.StatusOK, `{"rules":[]}`, r.request(http.MethodGet, "/rules", nil, auth("rx")...))
	if rules, err := ParseRules([]byte("rules: [{name: a_total, type: cpu}]"), Limits{}); err != nil || r.s.SetRules(rules) == nil {
		t.Errorf("a name that is posted: %v", err)
	}
	front, err := NewFront(Nodes{URLs: []string{r.url}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := answer(front, http.MethodGet, "/rules", "", ""); got.Code != http.StatusNotImplemented {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	if err := front.SetRules(Rules{}); err == nil {
		t.Error("a front took rules")
	}
}

// written is a receiver of remote write.
type written struct {
	mu     sync.Mutex
	status int
	bodies [][]byte
	token  string
}

func (w *written) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.token = r.Header.Get("Authorization"); w.status != 0 || err != nil || r.Header.Get("Content-Encoding") != "snappy" {
		http.Error(rw, "not now", max(w.status, http.StatusBadRequest))
		return
	}
	plain, err := snappy.Decode(nil, body)
	if err != nil {
		http.Error(rw, err.Error(), http.StatusBadRequest)
		return
	}
	w.bodies = append(w.bodies, plain)
}

// texts returns the strings and the number of bytes of a message's first series.
func texts(t *testing.T, message []byte) (all []string) {
	t.Helper()
	for len(message) > 0 {
		_, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			t.Fatal("no message")
		}
		message = message[n:]
		if kind != protowire.BytesType {
			n = protowire.ConsumeFieldValue(0, kind, message)
			message = message[n:]
			continue
		}
		part, n := protowire.ConsumeBytes(message)
		message = message[n:]
		if strings.IndexFunc(string(part), func(r rune) bool { return r < ' ' || r > '~' }) < 0 {
			all = append(all, string(part))
		} else {
			all = append(all, texts(t, part)...)
		}
	}
	return all
}

// TestRules_RemoteWrite: samples are written, kept while the receiver is away, and given up when it refuses them.
func TestRules_RemoteWrite(t *testing.T) {
	to := new(written)
	srv := httptest.NewServer(to)
	defer srv.Close()
	now := rulesAt
	opts := Options{Now: func() time.Time { return now }, Rules: RuleOptions{WriteURL: srv.URL, WriteToken: func() string { return "secret" }}}
	r := newReceiver(t, opts, columnstore.Options{Now: opts.Now})
	rules, err := ParseRules([]byte(shopRules), Limits{})
	if err == nil {
		err = r.s.SetRules(rules)
	}
	if err != nil {
		t.Fatal(err)
	}
	pushRuled(t, r, now, "service_name=shop&pod=a")
	step := func(status int) {
		now = now.Add(time.Minute)
		to.mu.Lock()
		to.status = status
		to.mu.Unlock()
		stepAll(t, r.s, now)
	}
	step(http.StatusServiceUnavailable)
	step(http.StatusServiceUnavailable)
	if step(0); len(to.bodies) != 3 || to.token != "Bearer secret" {
		t.Errorf("%d requests with %q", len(to.bodies), to.token)
	}
	step(http.StatusBadRequest)
	if step(0); len(to.bodies) != 4 {
		t.Errorf("%d requests", len(to.bodies))
	}
	got := texts(t, to.bodies[0])
	if want := []string{"__name__", "shop_cpu_seconds_total", "pod", "a", "service_name", "shop"}; len(got) < 7 || strings.Join(got[:6], " ") != strings.Join(want, " ") {
		t.Errorf("%q", got)
	}
	if lines := metricsOf(r, "granary_rules_write_failures_total"); lines[0] != "granary_rules_write_failures_total 3" {
		t.Errorf("%q", lines)
	}
}

// TestRules_Run: RunRules reads each interval by itself, takes changed rules, and ends with its context.
func TestRules_Run(t *testing.T) {
	r := newReceiver(t, Options{}, columnstore.Options{})
	ended := make(chan struct{})
	go func() {
		r.s.RunRules(t.Context())
		close(ended)
	}()
	t.Cleanup(func() { <-ended })
	r.want(http.StatusOK, "", r.request(http.MethodPost, "/rules", []byte("interval: 1s\nrules: [{name: a_total, type: cpu}]")))
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		pushRuled(t, r, time.Now().UTC(), "service_name=shop")
		if lines := metricsOf(r, "a_total"); len(lines) == 1 && strings.HasPrefix(lines[0], "a_total ") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(metricsOf(r, "granary_rules"))
		}
	}
}

// TestParseRules has the errors of the file of a user.
func TestParseRules(t *testing.T) {
	if _, err := ParseRules([]byte("rules: [{name: a_total, type: cpu}, {name: b_total, type: cpu}]"), Limits{Rules: 1}); err == nil || !strings.Contains(err.Error(), "at most 1") {
		t.Error(err)
	}
}
