package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/server/internal/marks"
	"github.com/granarydb/granary/server/internal/page"
	"github.com/granarydb/granary/server/internal/web"
)

// texts returns the texts of the annotations that a question finds.
func (r *receiver) texts(query string, headers ...string) (texts []string) {
	r.t.Helper()
	status, text := r.send(r.request(http.MethodGet, "/api/v1/annotations?"+query, nil, headers...))
	var out page.AnnotationsAnswer
	if err := json.Unmarshal([]byte(text), &out); status != http.StatusOK || err != nil {
		r.t.Fatalf("%s: status %d, %v: %s", query, status, err, text)
	}
	for _, m := range out.Annotations {
		texts = append(texts, m.Text)
	}
	return texts
}

func (r *receiver) annotate(body string, headers ...string) *http.Request {
	return r.request(http.MethodPost, "/annotations", []byte(body), headers...)
}

func TestAnnotations(t *testing.T) {
	path := filepath.Join(t.TempDir(), "annotations.jsonl")
	now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	opts := Options{Annotations: path, Now: func() time.Time { return now }}
	r := newReceiver(t, opts, columnstore.Options{})
	r.want(http.StatusOK, `"time":"2026-01-31T12:00:00Z"`, r.annotate(`{"text":"now"}`))
	r.want(http.StatusOK, `"labels":{"job":"api"}`, r.annotate(`{"text":"an hour ago","time":"-1h","labels":{"job":"api"}}`))
	r.want(http.StatusOK, `"until":"2026-01-31T10:00:00Z"`, r.annotate(`{"text":"a range","time":"2026-01-31T09:00:00Z","until":"2026-01-31 10:00"}`))
	_, gone := r.send(r.annotate(`{"text":"<b>gone</b>"}`))
	r.want(http.StatusOK, `"text":"of b"`, r.annotate(`{"text":"of b"}`, web.TenantHeader, "b"))
	var of marks.Mark
	if err := json.Unmarshal([]byte(gone), &of); err != nil || of.ID == "" || of.Tenant != "" {
		t.Fatalf("%s: %v", gone, err)
	}
	r.want(http.StatusNotFound, "there is no annotation", r.request(http.MethodDelete, "/annotations?id="+of.ID, nil, web.TenantHeader, "b"))
	r.want(http.StatusNoContent, "", r.request(http.MethodDelete, "/annotations?id="+of.ID, nil))
	r.want(http.StatusNotFound, "there is no annotation", r.request(http.MethodDelete, "/annotations?id="+of.ID, nil))
	check := func(r *receiver) {
		t.Helper()
		for query, want := range map[string][]string{
			"": {"a range", "an hour ago", "now"}, "from=-90m": {"an hour ago", "now"}, "to=2026-01-31T11:30:00Z": {"a range", "an hour ago"},
			"from=2026-01-31T09:30:00Z&to=2026-01-31T09:40:00Z": {"a range"}, "from=2026-01-31T10:30:00Z&to=-1h": nil,
			`q={job="api"}`: {"a range", "an hour ago", "now"}, `q={job="db"}`: {"a range", "now"}, `q={pod=~"x.*"}`: {"a range", "an hour ago", "now"},
		} {
			if got := r.texts(query); !slices.Equal(got, want) {
				t.Errorf("%q: %q, want %q", query, got, want)
			}
		}
		if got := r.texts("", web.TenantHeader, "b"); !slices.Equal(got, []string{"of b"}) {
			t.Errorf("of a tenant: %q", got)
		}
		if got := r.texts("", web.TenantHeader, "c"); len(got) > 0 {
			t.Errorf("of another one: %q", got)
		}
	}
	check(r)
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"id":"zz","time":"2026-01-31T1`); err != nil { // a crash while it was written
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	check(newReceiver(t, opts, columnstore.Options{}))
	again := newReceiver(t, opts, columnstore.Options{})
	again.want(http.StatusOK, `"id"`, again.annotate(`{"text":"after it"}`))
	if got := newReceiver(t, opts, columnstore.Options{}).texts("from=-1m"); !slices.Equal(got, []string{"now", "after it"}) {
		t.Errorf("after a torn line: %q", got)
	}
}

// TestAnnotations_Refused asks for what is not taken.
func TestAnnotations_Refused(t *testing.T) {
	r := newReceiver(t, Options{Tokens: Tokens{Read: []string{"r"}, Write: []string{"w"}}, Tenants: map[string]TenantLimits{"a": {}}}, columnstore.Options{})
	may := []string{"Authorization", "Bearer w", web.TenantHeader, "a"}
	long := fmt.Sprintf(`{"text":%q}`, strings.Repeat("x", marks.MostText+1))
	for body, want := range map[string]struct {
		status int
		text   string
	}{
		``: {400, "want JSON"}, `[]`: {400, "want JSON"}, `{}`: {400, "text is missing"}, `{"text":"x"}{}`: {400, "want one annotation"}, `{"text":"x","at":"y"}`: {400, "want JSON"},
		`{"text":"x","time":"tomorrow"}`: {400, "parameter time"}, `{"text":"x","time":"-1h","until":"-2h"}`: {400, "until is before time"}, `{"text":"x","labels":{"":"y"}}`: {400, "want a name"},
		long: {413, "at most 1000"}, `{"text":"` + strings.Repeat("x", 40<<10) + `"}`: {413, "more than 32768 bytes"},
	} {
		r.want(want.status, want.text, r.annotate(body, may...))
	}
	var many []string
	for i := range 65 {
		many = append(many, fmt.Sprintf(`"l%d":"x"`, i))
	}
	r.want(413, "65 labels, at most 64", r.annotate(`{"text":"x","labels":{`+strings.Join(many, ",")+`}}`, may...))
	r.want(http.StatusUnauthorized, "token", r.annotate(`{"text":"x"}`, "Authorization", "Bearer r"))
	r.want(http.StatusForbidden, "none of this server's", r.annotate(`{"text":"x"}`, "Authorization", "Bearer w", web.TenantHeader, "b"))
	r.want(http.StatusBadRequest, "want the parameter id", r.request(http.MethodDelete, "/annotations", nil, may...))
	r.want(http.StatusUnauthorized, "token", r.request(http.MethodDelete, "/annotations?id=x", nil, "Authorization", "Bearer r"))
	for query, text := range map[string]string{"from=x": "parameter from", "q={": "parameter q", "rows=1": "rows", "from=-1h&from=-2h": "from"} {
		if status, got := r.send(r.request(http.MethodGet, "/api/v1/annotations?"+query, nil, "Authorization", "Bearer r", web.TenantHeader, "a")); status != http.StatusBadRequest || !strings.Contains(got, text) {
			t.Errorf("%s: status %d: %s", query, status, got)
		}
	}
	_, front := newFront(t, Nodes{URLs: []string{"http://localhost:1"}}, Options{})
	if status, text := fetched(t, front+"/api/v1/annotations"); status != http.StatusNotImplemented || !strings.Contains(text, "a front has no annotations") {
		t.Errorf("a front: status %d: %s", status, text)
	}
}
