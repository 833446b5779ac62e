package server

import (
	"net/http"
	"testing"

	"github.com/granarydb/granary/columnstore"
)

// TestDropLabels keeps the labels that an empty list does not drop.
func TestDropLabels(t *testing.T) {
	r := newReceiver(t, Options{DropLabels: []string{}}, columnstore.Options{})
	r.want(http.StatusOK, "2 rows", r.request(http.MethodPost, "/pprof?__session_id__=1&time=1&pod=", small(t, 1)))
	wantLabels(t, r.labels(), `{__name__="process_cpu", __session_id__="1", service_name="unknown_service"}`)
}
