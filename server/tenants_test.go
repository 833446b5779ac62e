package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"
	querierv1 "github.com/grafana/pyroscope/api/gen/proto/go/querier/v1"
	"github.com/klauspost/compress/gzip"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/internal/crashfs"
	"github.com/granarydb/granary/internal/disk"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/server/internal/fanout"
	"github.com/granarydb/granary/server/internal/page"
	"github.com/granarydb/granary/server/internal/querier"
	"github.com/granarydb/granary/server/internal/web"
)

// tenantsAt is the time of the profiles of tenants.
var tenantsAt = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

// profileOf returns a profile with a value, whose names all have the name of its tenant.
func profileOf(t testing.TB, tenant string, value int64) []byte {
	t.Helper()
	p, err := pprof.ParseData(small(t, value))
	if err != nil {
		t.Fatal(err)
	}
	p.Function[0].Name, p.Function[0].Filename, p.Function[0].StartLine = "zebra."+tenant, tenant+".zebra", 1
	p.TimeNanos = tenantsAt.UnixNano()
	return encoded(t, p)
}

// shared is a server whose tenants all have profiles of one shape, pushed in their names, and histories.
func shared(t *testing.T, opts Options, tenants ...string) *receiver {
	t.Helper()
	opts.Now = func() time.Time { return tenantsAt.Add(time.Minute) }
	r := newReceiver(t, opts, columnstore.Options{FutureLimit: -1})
	fillTenants(t, r, tenants...)
	return r
}

// fillTenants pushes three profiles of each tenant, and commits a history with one state.
func fillTenants(t *testing.T, r *receiver, tenants ...string) {
	t.Helper()
	for _, tenant := range tenants {
		for value := range int64(3) {
			path := fmt.Sprintf("/pprof?pod=zebra-%s&service_name=api", tenant)
			r.want(http.StatusOK, "", r.request(http.MethodPost, path, profileOf(t, tenant, 10*int64(tenant[0])+value), web.TenantHeader, tenant))
		}
		h, err := r.store.CreateHistory(profile.TenantName(tenant, "threads"), columnstore.HistoryOptions{Start: tenantsAt.UnixNano()})
		if err != nil {
			t.Fatal(err)
		}
		tx := r.store.Begin()
		w, err := tx.History(h)
		if err != nil {
			t.Fatal(err)
		}
		place, err := w.Attribute("zebra-" + tenant)
		if err == nil {
			err = w.Change(tenantsAt.UnixNano(), place, history.String("zebra "+tenant))
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
	}
}

// inTenant are the ways in which a request names its tenant.
var inTenant = map[string]func(tenant, path string) (string, []string){
	"header": func(tenant, path string) (string, []string) { return path, []string{web.TenantHeader, tenant} },
	"path":   func(tenant, path string) (string, []string) { return "/tenants/" + tenant + path, nil },
	"token": func(tenant, path string) (string, []string) {
		return path, []string{"Authorization", "Bearer " + tenant + "-read"}
	},
}

var tenantTokens = Tokens{
	Read: []string{"all", "a-read", "b-read"}, Write: []string{"all", "a-write", "b-write"},
	Tenants: map[string]string{"a-read": "a", "a-write": "a", "b-read": "b", "b-write": "b"},
}

// unequal is what answers of equal data do not share.
var unequal = regexp.MustCompile(`"(commit|touched|memory)":(\d+|{[^}]*}),?|http://[0-9.:]+(/tenants/b)?`)

// readAll returns the body of an answer, decompressed.
func (r *receiver) readAll(req *http.Request) (int, []byte) {
	r.t.Helper()
	resp, err := r.http.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	if z, err := gzip.NewReader(bytes.NewReader(body)); err == nil {
		if body, err = io.ReadAll(z); err != nil {
			r.t.Fatal(err)
		}
	}
	return resp.StatusCode, body
}

// Each route and each method of the querier answers a tenant as a server would that has nothing of the others, however the
// request names the tenant.
func TestTenants_EveryRoute(t *testing.T) {
	open := shared(t, Options{}, "a", "b", profile.Anonymous)
	guarded := shared(t, Options{}, "a", "b", profile.Anonymous)
	if err := guarded.s.SetTokens(tenantTokens); err != nil {
		t.Fatal(err)
	}
	alone := shared(t, Options{}, "b")
	for name, ask := range questions(t) {
		path, headers := inTenant["header"]("b", ask.path)
		wantStatus, want := alone.readAll(alone.request(ask.method, path, ask.body, append(headers, ask.headers...)...))
		if wantStatus != http.StatusOK {
			t.Errorf("%s: status %d of one tenant: %s", name, wantStatus, want)
		}
		for way, of := range inTenant {
			r := open
			if way == "token" {
				r = guarded
			}
			path, headers := of("b", ask.path)
			status, got := r.readAll(r.request(ask.method, path, ask.body, append(headers, ask.headers...)...))
			if status != wantStatus || bytes.Contains(got, []byte("zebra-a")) || bytes.Contains(got, []byte("zebra.a")) || bytes.Contains(got, []byte("zebra a")) || bytes.Contains(got, []byte("anonymous")) {
				t.Errorf("%s, by %s: status %d, want %d: %s", name, way, status, wantStatus, got)
			}
			if g, w := unequal.ReplaceAll(got, nil), unequal.ReplaceAll(want, nil); ask.isText && !bytes.Equal(g, w) {
				t.Errorf("%s, by %s:\n%s\nwant\n%s", name, way, g, w)
			}
		}
	}
}

// tenantsAsk is a request.
type tenantsAsk struct {
	method, path string
	body         []byte
	headers      []string
	isText       bool
}

// questions returns a request to each route that answers queries, and for each method of the querier.
func questions(t *testing.T) map[string]tenantsAsk {
	t.Helper()
	from, to := tenantsAt.Add(-time.Hour), tenantsAt.Add(time.Hour)
	selected := url.Values{"type": {"cpu"}, "selector": {"{}"}}
	rendered := url.Values{"query": {"process_cpu:cpu:nanoseconds:cpu:nanoseconds{}"}, "from": {fmt.Sprint(from.Unix())}, "until": {fmt.Sprint(to.Unix())}}
	sides := url.Values{}
	for name, value := range map[string]string{"Query": rendered.Get("query"), "From": rendered.Get("from"), "Until": rendered.Get("until")} {
		sides.Set("left"+name, value)
		sides.Set("right"+name, value)
	}
	window := url.Values{"from": {from.Format(time.RFC3339)}, "to": {to.Format(time.RFC3339)}, "p": {"*"}, "pixels": {"10"}}
	queries := map[string]url.Values{
		"GET /pprof": selected, "GET /pgo": selected, "GET /arrow": selected, "GET /sources": selected, "POST /stacks": selected, "GET /by-label": {"type": {"cpu"}, "selector": {"{}"}, "label": {"pod"}, "step": {"1000000000"}, "from": window["from"], "to": window["to"]},
		"GET /render": rendered, "GET /pyroscope/render": rendered, "GET /render-diff": sides, "GET /pyroscope/render-diff": sides,
		"GET /label-values": {"label": {"pod"}}, "GET /pyroscope/label-values": {"label": {"pod"}},
		"GET /api/v1/inspect": {"t": {"cpu"}, "function": {"zebra.b"}}, "GET /api/v1/states": {"h": {"threads"}, "p": {"{pod}"}, "t": {"cpu"}},
		"GET /api/v1/meanwhile":               {"h": {"threads"}, "p": {"{pod}"}, "attribute": {"zebra-b"}, "t": {"cpu"}, "state": {"zebra b"}},
		"GET /api/v1/profiles":                {"t": {"cpu"}},
		"GET /api/v1/timeline":                {"t": {"cpu"}, "from": window["from"]},
		"GET /api/v1/services":                {"t": {"cpu"}, "label": {"pod"}},
		"GET /api/v1/export":                  {"t": {"cpu"}, "as": {"folded"}},
		"GET /api/v1/lines":                   {"t": {"cpu"}, "function": {"zebra.b"}, "texts": {"1"}},
		"GET /api/v1/histories/{name}/pixels": window, "GET /api/v1/histories/{name}/range": {"from": window["from"], "to": window["to"], "attribute": {"zebra-b"}},
		"GET /api/v1/histories/{name}/lines": window, "GET /api/v1/histories/{name}/stats": {"p": {"*"}}, "GET /api/v1/histories/{name}/at": {"at": {tenantsAt.Format(time.RFC3339)}, "p": {"*"}},
	}
	all := map[string]tenantsAsk{}
	r := newReceiver(t, Options{}, columnstore.Options{})
	routes := slices.Concat(querier.Routes(querier.Options{Source: r.s.source, Gate: r.s.gate, Read: r.s.read}), page.Routes(page.Options{Source: r.s.source, Gate: r.s.gate, Read: r.s.read}))
	for _, route := range routes {
		method, path, isGet := strings.Cut(route.Pattern, " ")
		if !isGet || route.Pattern == "POST /sources" { // Connect, and what fronts send (TestTenants_Front)
			continue
		}
		path = strings.ReplaceAll(path, "{name}", "threads")
		if q := queries[route.Pattern]; q != nil {
			path += "?" + q.Encode()
		}
		delete(queries, route.Pattern)
		all[route.Pattern] = tenantsAsk{method: method, path: path, isText: strings.HasPrefix(path, "/api/")}
		if route.Pattern == "POST /stacks" {
			all[route.Pattern] = tenantsAsk{method: method, path: path, body: (&fanout.StackQuestion{}).Encode()}
		}
	}
	if len(queries) > 0 {
		t.Fatalf("no routes %q", slices.Collect(maps.Keys(queries)))
	}
	methods := querierv1.File_querier_v1_querier_proto.Services().ByName("QuerierService").Methods()
	for i := range methods.Len() {
		m := methods.Get(i)
		all[string(m.Name())] = tenantsAsk{
			method: http.MethodPost, path: "/querier.v1.QuerierService/" + string(m.Name()), body: message(t, m.Input(), from, to),
			headers: []string{"Content-Type", "application/json"}, isText: true,
		}
	}
	return all
}

// message returns a request of the querier as JSON, with its fields as far as they have these names.
func message(t *testing.T, of protoreflect.MessageDescriptor, from, to time.Time) []byte {
	t.Helper()
	m := dynamicpb.NewMessage(of)
	for i := range of.Fields().Len() {
		field := of.Fields().Get(i)
		set := func(v any) { m.Set(field, protoreflect.ValueOf(v)) }
		switch field.Name() {
		case "start":
			set(from.UnixMilli())
		case "end":
			set(to.UnixMilli())
		case "profile_typeID", "profile_type_id":
			set("process_cpu:cpu:nanoseconds:cpu:nanoseconds")
		case "label_selector", "query":
			set("{}")
		case "name":
			set("pod")
		case "step":
			set(float64(60))
		case "left", "right":
			sub := m.Mutable(field).Message()
			if err := protojson.Unmarshal(message(t, field.Message(), from, to), sub.Interface()); err != nil {
				t.Fatal(err)
			}
		}
	}
	text, err := protojson.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// A token that is bound to a tenant reaches no other one and nothing about all of them, in each way of naming one. A request
// that names two is refused, and so is a name that is none.
func TestTenants_Tokens(t *testing.T) {
	r := shared(t, Options{Profiles: profile.Options{Table: "mine"}}, "a", "b", profile.Anonymous)
	if err := r.s.SetTokens(tenantTokens); err != nil {
		t.Fatal(err)
	}
	good := profileOf(t, "b", 1)
	for _, c := range []struct {
		method, path, token, header string
		status                      int
	}{
		{"GET", "/api/v1/store", "a-read", "", 200},
		{"GET", "/api/v1/store", "a-read", "a", 200},
		{"GET", "/api/v1/store", "a-read", "b", 403},
		{"GET", "/tenants/b/api/v1/store", "a-read", "", 403},
		{"GET", "/tenants/anonymous/api/v1/store", "a-read", "", 403},
		{"GET", "/tenants/a/api/v1/store", "a-read", "a", 200},
		{"GET", "/tenants/a/api/v1/store", "all", "b", 400},
		{"GET", "/tenants/b/api/v1/store", "all", "", 200},
		{"GET", "/api/v1/store", "all", "a|b", 400},
		{"GET", "/tenants/a%2Fb/api/v1/store", "all", "", 400},
		{"GET", "/tenants/../b/api/v1/store", "a-read", "", 400},
		{"GET", "/api/v1/store", "none", "a", 401},
		{"GET", "/api/v1/store", "a-write", "", 401},
		{"GET", "/metrics", "a-read", "", 403},
		{"GET", "/metrics", "all", "a", 200},
		{"POST", "/pprof", "a-write", "b", 403},
		{"POST", "/tenants/b/pprof", "a-write", "", 403},
		{"POST", "/pprof", "a-read", "", 401},
		{"POST", "/traces", "a-write", "b", 403},
		{"POST", "/tenants/b/traces", "a-write", "", 403},
		{"POST", "/traces", "a-read", "", 401},
		{"POST", "/tenants/b/traces", "b-write", "", 200},
		{"POST", "/tenants/b/pprof", "b-write", "", 200},
		{"GET", "/tenants/b//api/v1/store", "all", "", 400},
		{"GET", "/tenants/b/./api/v1/store", "all", "", 400},
		{"GET", "/tenants/b/../a/api/v1/store", "all", "", 400},
		{"POST", "/tenants/b//pprof", "all", "", 400},
		{"GET", "/tenants/", "all", "", 400},
		{"GET", "/tenants//api/v1/store", "all", "", 400},
	} {
		req := r.request(c.method, c.path, nil, "Authorization", "Bearer "+c.token, web.TenantHeader, c.header)
		if c.method == http.MethodPost {
			body := good
			if strings.HasSuffix(c.path, "/traces") {
				body = goTrace(t)
			}
			req = r.request(c.method, c.path, body, "Authorization", "Bearer "+c.token, web.TenantHeader, c.header)
		}
		r.want(c.status, "", req)
	}
	twice := r.request(http.MethodGet, "/api/v1/store", nil, "Authorization", "Bearer all")
	twice.Header[web.TenantHeader] = []string{"a", "b"}
	r.want(http.StatusBadRequest, `the request names "a" and "b"`, twice)
	req := r.request(http.MethodGet, "/pprof?type=cpu", nil)
	req.SetBasicAuth("anyone", "b-read")
	if _, body := r.readAll(req); bytes.Contains(body, []byte("zebra.a")) || !bytes.Contains(body, []byte("zebra.b")) {
		t.Errorf("the token as a password answers %q", body)
	}
}

// Pushes of nonsense make no tenants, and leave the places to others. One profile of several is enough.
func TestTenants_Nonsense(t *testing.T) {
	r := newReceiver(t, Options{Limits: Limits{Tenants: 2}}, columnstore.Options{})
	for i := range 5 {
		tenant := fmt.Sprint("junk", i)
		r.want(http.StatusBadRequest, "", r.request(http.MethodPost, "/pprof", []byte("nonsense"), web.TenantHeader, tenant))
		r.want(http.StatusBadRequest, "", r.request(http.MethodPost, "/pprof?=x", small(t, 1), web.TenantHeader, tenant))
	}
	r.want(http.StatusOK, "2 rows", r.request(http.MethodPost, "/pprof", small(t, 1), web.TenantHeader, "a"))
	r.want(http.StatusTooManyRequests, "at most 2 tenants", r.request(http.MethodPost, "/pprof", small(t, 1), web.TenantHeader, "b"))
	r.want(http.StatusOK, "2 rows", r.request(http.MethodPost, "/pprof", small(t, 1), web.TenantHeader, "a"))
	if got := profile.Tenants(r.store, ""); !slices.Equal(got, []string{"a", profile.Anonymous}) {
		t.Errorf("tenants %q", got)
	}
}

// A new tenant's table waits for the disk. Requests of others do not wait for it.
func TestTenants_SlowDisk(t *testing.T) {
	disk := &slowDisk{FS: crashfs.New(crashfs.Options{}), slow: make(chan struct{})}
	r := newReceiver(t, Options{}, columnstore.Options{FS: disk, Sync: columnstore.SyncEach})
	disk.isSlow.Store(true)
	pushed := make(chan int)
	go func() {
		status, _ := r.send(r.request(http.MethodPost, "/pprof", small(t, 1), web.TenantHeader, "a"))
		pushed <- status
	}()
	<-disk.slow
	for _, path := range []string{"/healthz", "/api/v1/store", "/tenants/b/api/v1/store"} {
		r.want(http.StatusOK, "", r.request(http.MethodGet, path, nil))
	}
	disk.isSlow.Store(false)
	disk.slow <- struct{}{}
	if status := <-pushed; status != http.StatusOK {
		t.Errorf("the push: status %d", status)
	}
}

// slowDisk is a disk whose next sync waits, if it is slow: it sends to slow when it waits, and goes on when it can send again.
type slowDisk struct {
	*crashfs.FS
	isSlow atomic.Bool
	slow   chan struct{}
}

type slowFile struct {
	disk.File
	disk *slowDisk
}

func (d *slowDisk) Create(name string) (disk.File, error) {
	f, err := d.FS.Create(name)
	return slowFile{f, d}, err
}

func (f slowFile) Sync() error {
	if f.disk.isSlow.CompareAndSwap(true, false) {
		f.disk.slow <- struct{}{}
		<-f.disk.slow
	}
	return f.File.Sync()
}

// Tokens and limits that change meanwhile let no request reach another tenant: a request has the rights of one instant.
func TestTenants_Reload(t *testing.T) {
	r := shared(t, Options{}, "a", "b")
	without := Tokens{Read: []string{"other"}, Write: []string{"other"}}
	with := Tokens{Read: []string{"other", "a-read"}, Write: []string{"other"}, Tenants: map[string]string{"a-read": "a"}}
	if err := r.s.SetTokens(without); err != nil { // until then everyone may read
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var reloading sync.WaitGroup
	reloading.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			if err := r.s.SetTokens(map[bool]Tokens{true: with, false: without}[i%2 == 0]); err != nil {
				t.Error(err)
			}
		}
	})
	for range 300 {
		if status, body := r.send(r.request(http.MethodGet, "/tenants/b/api/v1/store", nil, "Authorization", "Bearer a-read")); status == http.StatusOK {
			t.Errorf("a token of a reads b: %s", body)
		}
	}
	close(stop)
	reloading.Wait()
	if err := r.s.SetTokens(Tokens{Read: []string{"x"}, Tenants: map[string]string{"x": "a/b"}}); !errors.Is(err, profile.ErrTenant) {
		t.Errorf("a token of a/b: %v", err)
	}
}

// The command of a page asks the tenant of the request, and a token of anonymous sees nothing of the whole store.
func TestTenants_Page(t *testing.T) {
	r := shared(t, Options{}, "a", profile.Anonymous)
	for way, of := range inTenant {
		if way == "token" {
			if err := r.s.SetTokens(tenantTokens); err != nil {
				t.Fatal(err)
			}
		}
		path, headers := of("a", "/api/v1/command?t=cpu&from=latest-1h")
		if _, text := r.readAll(r.request(http.MethodGet, path, nil, headers...)); !bytes.Contains(text, []byte("/tenants/a/pprof?")) {
			t.Errorf("by %s: %s", way, text)
		}
		if err := r.s.SetTokens(Tokens{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.s.SetTokens(Tokens{Read: []string{"bound", "free"}, Tenants: map[string]string{"bound": profile.Anonymous}}); err != nil {
		t.Fatal(err)
	}
	var bound, free page.StoreAnswer
	for token, to := range map[string]*page.StoreAnswer{"bound": &bound, "free": &free} {
		_, text := r.readAll(r.request(http.MethodGet, "/api/v1/store", nil, "Authorization", "Bearer "+token))
		if err := json.Unmarshal(text, to); err != nil {
			t.Fatal(err)
		}
	}
	if bound.Rows != free.Rows || bound.Memory.Bytes >= free.Memory.Bytes {
		t.Errorf("a bound token sees %+v, another %+v", bound, free)
	}
}

// Only tenants in the list may push, each within its limits. A limit that changes holds at once.
func TestTenants_Limits(t *testing.T) {
	c := newClock()
	r := newReceiver(t, Options{Now: c.now, Tenants: map[string]TenantLimits{
		"a": {Series: 1, TableLimits: columnstore.TableLimits{Retention: time.Hour}}, "b": {},
	}}, columnstore.Options{FutureLimit: -1, PastLimit: -1})
	pushed := func(status int, tenant, pod string, at time.Time) {
		t.Helper()
		p, err := pprof.ParseData(small(t, 1))
		if err != nil {
			t.Fatal(err)
		}
		p.TimeNanos = at.UnixNano()
		r.want(status, "", r.request(http.MethodPost, "/pprof?pod="+pod, encoded(t, p), web.TenantHeader, tenant))
	}
	for hour := range 5 {
		at := tenantsAt.Add(time.Duration(hour) * time.Hour)
		pushed(200, "a", "1", at)
		pushed(200, "b", "1", at)
	}
	pushed(429, "a", "2", tenantsAt.Add(5*time.Hour))
	pushed(200, "b", "2", tenantsAt.Add(5*time.Hour))
	pushed(403, "c", "1", tenantsAt)
	if r.s.tableOf("c") != nil {
		t.Error("a refused tenant has a table")
	}
	if a, b := r.store.Table(profile.TenantName("a", "profiles")).Stats(), r.store.Table(profile.TenantName("b", "profiles")).Stats(); a.Rows != 4 || b.Rows != 12 {
		t.Errorf("%d and %d rows", a.Rows, b.Rows)
	}
	if err := r.s.SetTenants(map[string]TenantLimits{OtherTenants: {Series: 2}, "b": {TableLimits: columnstore.TableLimits{Retention: time.Hour}}}); err != nil {
		t.Fatal(err)
	}
	pushed(200, "a", "2", tenantsAt.Add(5*time.Hour))
	pushed(200, "c", "1", tenantsAt)
	pushed(200, "b", "1", tenantsAt.Add(5*time.Hour))
	if b := r.store.Table(profile.TenantName("b", "profiles")).Stats(); b.Rows >= 12 || b.Oldest.Before(tenantsAt.Add(3*time.Hour)) {
		t.Errorf("%d rows from %v on", b.Rows, b.Oldest)
	}
	for _, bad := range []map[string]TenantLimits{{"a/b": {}}, {"a": {Series: -1}}, {"a": {TableLimits: columnstore.TableLimits{FileBytes: -1}}}} {
		if err := r.s.SetTenants(bad); err == nil {
			t.Errorf("limits %v are taken", bad)
		}
	}
}

// A front asks its nodes for the tenant of its request.
func TestTenants_Front(t *testing.T) {
	node := shared(t, Options{}, "a", "b", profile.Anonymous)
	_, front := newFront(t, Nodes{URLs: []string{node.url}}, Options{})
	r := &receiver{t: t, url: front, http: http.DefaultClient}
	for _, tenant := range []string{"a", "b", "nobody"} {
		for way := range maps.Keys(map[string]bool{"header": true, "path": true}) {
			path, headers := inTenant[way](tenant, "/api/v1/top?t=cpu")
			status, body := r.readAll(r.request(http.MethodGet, path, nil, headers...))
			found := strings.Join(regexp.MustCompile(`zebra\.\w+`).FindAllString(string(body), -1), " ")
			if want := map[string]string{"a": "zebra.a", "b": "zebra.b"}[tenant]; found != want {
				t.Errorf("%s by %s: status %d: %s", tenant, way, status, body)
			}
		}
	}
}

// Tenants have equal profiles, questions and pushes at once. Each has what it pushed.
func TestTenants_AtOnce(t *testing.T) {
	r := newReceiver(t, Options{}, columnstore.Options{})
	const each = 20
	names := []string{"a", "b", "c", profile.Anonymous}
	errs := make(chan error, len(names))
	for _, tenant := range names {
		go func() {
			for range each {
				status, text := r.send(r.request(http.MethodPost, "/pprof?pod=1", small(t, 1), web.TenantHeader, tenant))
				if status != http.StatusOK {
					errs <- fmt.Errorf("%s: %d: %s", tenant, status, text)
					return
				}
				r.send(r.request(http.MethodGet, "/api/v1/store", nil, web.TenantHeader, tenant))
			}
			errs <- nil
		}()
	}
	for range names {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	for _, tenant := range names {
		if rows := r.store.Table(profile.TenantName(tenant, "profiles")).Stats().Rows; rows != 2*each {
			t.Errorf("%s has %d rows, want %d", tenant, rows, 2*each)
		}
	}
}
