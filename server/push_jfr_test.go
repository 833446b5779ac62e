package server

import (
	"net/http"
	"os"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/internal/gzipped"
)

// jfrRecording returns a recording with a sample of each kind.
func jfrRecording(t testing.TB) []byte {
	t.Helper()
	data, err := os.ReadFile("../profile/format/testdata/busy.jfr")
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// jfrLabels returns the message LabelsSnapshot in which context 7 has the label tenant with the value acme.
func jfrLabels() []byte {
	message := func(number protowire.Number, content []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), content)
	}
	varint := func(number protowire.Number, n uint64) []byte {
		return protowire.AppendVarint(protowire.AppendTag(nil, number, protowire.VarintType), n)
	}
	name := append(varint(1, 1), message(2, []byte("tenant"))...)
	value := append(varint(1, 2), message(2, []byte("acme"))...)
	labels := message(1, append(varint(1, 1), varint(2, 2)...))
	context := append(varint(1, 7), message(2, labels)...)
	return append(append(message(1, context), message(2, name)...), message(2, value)...)
}

// TestPushJFR takes recordings of Java alone, and with labels as Pyroscope's agent sends them. Types and names are those of
// Pyroscope.
func TestPushJFR(t *testing.T) {
	r := newReceiver(t, Options{}, columnstore.Options{})
	data, labels := jfrRecording(t), jfrLabels()
	r.want(http.StatusOK, "", r.request(http.MethodPost, "/ingest?name=shop&format=jfr&spyName=javaspy&sampleRate=100", data))
	r.want(http.StatusOK, "rows", r.request(http.MethodPost, "/pprof?service_name=shop", gzipped.Of(t, data)))
	for _, parts := range [][]part{{{"jfr", data}, {"labels", labels}}, {{"labels", gzipped.Of(t, labels)}, {"jfr", gzipped.Of(t, data)}}, {{"profile", data}}} {
		body, contentType := form(t, parts...)
		r.want(http.StatusOK, "", r.request(http.MethodPost, "/ingest?name=shop", body, "Content-Type", contentType))
	}
	wantSums(t, r.sums(`{service_name="shop"}`), map[string]int64{
		"process_cpu cpu nanoseconds": 5 * 5_000_000, "wall wall nanoseconds": 5 * 300_000_000,
		"memory alloc_in_new_tlab_objects count": 5 * 2, "memory alloc_in_new_tlab_bytes bytes": 5 * 1030,
		"memory alloc_outside_tlab_objects count": 5, "memory alloc_outside_tlab_bytes bytes": 5 * 5000,
		"memory alloc_sample_objects count": 5, "memory alloc_sample_bytes bytes": 5 * 600,
		"memory live count": 5, "memory malloc_objects count": 5, "memory malloc_bytes bytes": 5 * 64,
		"mutex contentions count": 5 * 2, "mutex delay nanoseconds": 5 * 20, "block contentions count": 5, "block delay nanoseconds": 5 * 1000,
	})
	wantSums(t, r.sums(`{service_name="shop", tenant="acme"}`), map[string]int64{"process_cpu cpu nanoseconds": 2 * 1_000_000})
	rows := r.rows()
	r.want(http.StatusBadRequest, "it is cut off", r.request(http.MethodPost, "/ingest?name=shop&format=jfr", data[:len(data)-1]))
	r.want(http.StatusBadRequest, "not in the format jfr", r.request(http.MethodPost, "/ingest?name=shop&format=jfr", small(t, 1)))
	if r.rows() != rows {
		t.Errorf("%d rows of recordings that were refused", r.rows()-rows)
	}
}
