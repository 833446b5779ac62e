package server

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/granarydb/granary/columnstore"
)

// TestDelete deletes samples of a running server by selector, type and time: later answers lack them, also those of a snapshot
// that a page holds, and the log of deletions has each.
func TestDelete(t *testing.T) {
	var log []Deletion
	var failing error
	r := newReceiver(t, Options{Deleted: func(d Deletion) error {
		log = append(log, d)
		return failing
	}}, columnstore.Options{})
	for _, job := range []string{"a", "b"} {
		r.want(http.StatusOK, "rows", r.request(http.MethodPost, "/pprof?job="+job, named(t, 10, 20)))
	}
	other := []string{TenantHeader, "other"}
	r.want(http.StatusOK, "rows", r.request(http.MethodPost, "/pprof?job=a", named(t, 10, 20), other...))
	post := func(status int, text, query string) {
		t.Helper()
		r.want(status, text, r.request(http.MethodPost, "/delete"+query, nil))
	}
	post(http.StatusBadRequest, "nothing is chosen", "")
	post(http.StatusBadRequest, "job", "?job=a")
	for _, name := range []string{"selector", "type", "from", "to", "until"} {
		post(http.StatusBadRequest, "is empty", "?"+name+"=")
	}
	post(http.StatusBadRequest, "parameter selector", "?selector={a")
	post(http.StatusBadRequest, "is not before", "?from=-1h&to=-2h")
	post(http.StatusNotFound, "unknown sample type", "?type=heap")
	post(http.StatusOK, `{"rows":0}`, "?selector={job=%22c%22}")
	post(http.StatusOK, `{"rows":0}`, "?selector={job=%22a%22}&to=-1h")
	r.want(http.StatusMethodNotAllowed, "", r.request(http.MethodGet, "/delete?selector={}", nil))
	if len(log) != 0 {
		t.Errorf("the log has %+v", log)
	}
	post(http.StatusOK, `{"rows":10}`, "?selector={job=%22a%22}&type=cpu&from=-1h")
	if len(log) != 1 || log[0].Rows != 10 || log[0].Selector != `{job="a"}` || log[0].Type != "cpu" || log[0].From == 0 || log[0].Tenant != "anonymous" {
		t.Errorf("the log has %+v", log)
	}
	if _, body := r.send(r.request(http.MethodGet, "/pyroscope/label-values?label=job", nil)); strings.Contains(body, `"a"`) || !strings.Contains(body, `"b"`) {
		t.Errorf("the jobs are %s", body)
	}
	if _, body := r.send(r.request(http.MethodGet, "/pyroscope/label-values?label=job", nil, other...)); !strings.Contains(body, `"a"`) {
		t.Errorf("the jobs of another tenant are %s", body)
	}
	failing = errors.New("no space")
	post(http.StatusInternalServerError, "", "?selector={}")
	r.want(http.StatusNotFound, "", r.request(http.MethodGet, "/pprof?type=cpu", nil))
}

// TestDelete_Refused deletes nothing without Options.Deleted.
func TestDelete_Refused(t *testing.T) {
	r := newReceiver(t, Options{}, columnstore.Options{})
	r.want(http.StatusOK, "rows", r.request(http.MethodPost, "/pprof?job=a", named(t, 10, 20)))
	r.want(http.StatusNotImplemented, "--allow-delete", r.request(http.MethodPost, "/delete?selector={}", nil))
	r.want(http.StatusOK, "", r.request(http.MethodGet, "/pprof?type=cpu", nil))
}
