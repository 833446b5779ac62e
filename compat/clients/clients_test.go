package clients

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"
	pushv1 "github.com/grafana/pyroscope/api/gen/proto/go/push/v1"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/server"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// installed returns the folder with the clients, and skips the test without one.
func installed(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("GRANARY_CLIENTS")
	if dir == "" {
		t.Skip("the clients are not installed: bash compat/clients/run installs them")
	}
	return dir
}

// recorder is a server that keeps the profiles which it was sent.
type recorder struct {
	handle http.Handler
	lock   sync.Mutex
	sent   []*pprof.Profile
	errs   []error
}

// ServeHTTP passes a request on, and decodes the profiles in it if it succeeds.
func (r *recorder) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if req.Method != http.MethodPost {
		r.handle.ServeHTTP(w, req)
		return
	}
	body, err := io.ReadAll(req.Body)
	req.Body = io.NopCloser(bytes.NewReader(body))
	answer := httptest.NewRecorder()
	r.handle.ServeHTTP(answer, req)
	r.lock.Lock()
	defer r.lock.Unlock()
	defer func() { // when all is kept: the client can end at once
		for name, values := range answer.Header() {
			w.Header()[name] = values
		}
		w.WriteHeader(answer.Code)
		_, _ = w.Write(answer.Body.Bytes())
	}()
	if answer.Code != http.StatusOK {
		err = errors.Join(err, errors.New(req.URL.Path+": "+answer.Body.String()))
	}
	profiles, decoded := profilesOf(req.URL.Path, req.Header, body)
	if err = errors.Join(err, decoded); err != nil {
		r.errs = append(r.errs, err)
	}
	r.sent = append(r.sent, profiles...)
}

// profilesOf decodes the profiles of a request, by libraries that are not the server's.
func profilesOf(path string, h http.Header, body []byte) (profiles []*pprof.Profile, err error) {
	if h.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			return nil, err
		}
		if body, err = io.ReadAll(z); err != nil {
			return nil, err
		}
	}
	var encoded [][]byte
	if strings.HasSuffix(path, "/Push") {
		var request pushv1.PushRequest
		if err := proto.Unmarshal(body, &request); err != nil {
			return nil, err
		}
		for _, s := range request.GetSeries() {
			for _, sample := range s.GetSamples() {
				encoded = append(encoded, sample.GetRawProfile())
			}
		}
	} else {
		kind, params, err := mime.ParseMediaType(h.Get("Content-Type"))
		if err != nil {
			return nil, err
		}
		if !strings.HasPrefix(kind, "multipart/") {
			encoded = append(encoded, body)
		} else if encoded, err = parts(multipart.NewReader(bytes.NewReader(body), params["boundary"])); err != nil {
			return nil, err
		}
	}
	for _, data := range encoded {
		p, err := pprof.ParseData(data)
		if err != nil {
			return nil, err
		}
		profiles = append(profiles, p)
	}
	return profiles, nil
}

// parts returns the parts of a body with a profile.
func parts(r *multipart.Reader) (profiles [][]byte, err error) {
	for {
		part, err := r.NextPart()
		if errors.Is(err, io.EOF) {
			return profiles, nil
		}
		if err != nil {
			return nil, err
		}
		data, err := io.ReadAll(part)
		if err != nil {
			return nil, err
		}
		if part.FormName() == "profile" {
			profiles = append(profiles, data)
		}
	}
}

// sums returns the sums of profiles by sample type, and their nonzero values.
func sums(profiles []*pprof.Profile) (by map[string]int64, rows int) {
	by = map[string]int64{}
	for _, p := range profiles {
		for i, t := range p.SampleType {
			for _, s := range p.Sample {
				if s.Value[i] != 0 {
					by[t.Type] += s.Value[i]
					rows++
				}
			}
		}
	}
	return by, rows
}

// start returns a server of a new store that records what it is sent, and its URL.
func start(t *testing.T) (*recorder, *profile.DB, string) {
	t.Helper()
	store, err := columnstore.Open(columnstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	handle, err := server.New(store, server.Options{})
	if err != nil {
		t.Fatal(err)
	}
	db, err := profile.Open(store, profile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := &recorder{handle: handle}
	web := httptest.NewServer(r)
	t.Cleanup(func() {
		web.Close()
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return r, db, web.URL
}

// run runs a client, which must end with 0.
func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	var out, log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &log
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s%s", args, err, out.String(), log.String())
	}
	return out.String()
}

// check compares what a client sent with the store: types, sums and labels.
func check(t *testing.T, r *recorder, db *profile.DB, selector string, types ...string) {
	t.Helper()
	r.lock.Lock()
	defer r.lock.Unlock()
	for _, err := range r.errs {
		t.Error(err)
	}
	want, rows := sums(r.sent)
	for _, name := range types {
		if want[name] == 0 {
			t.Errorf("the client sent no %s: %v", name, want)
		}
	}
	if got := db.Store().Stats().Rows; got != int64(rows) {
		t.Errorf("the store has %d rows, the client sent %d values", got, rows)
	}
	s, err := profile.ParseSelector(selector)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Store().View(t.Context(), func(snap *columnstore.Snapshot) error {
		for name, want := range want {
			if want == 0 {
				continue
			}
			typ, err := db.FindType(t.Context(), snap, name)
			if err != nil {
				return err
			}
			stacks, err := db.Merge(t.Context(), snap, typ, profile.Query{Selector: s, SumGauges: true, SumKinds: true})
			if err != nil {
				return err
			}
			if stacks.Total != want {
				t.Errorf("%s: the store has %d, the client sent %d", name, stacks.Total, want)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestPython profiles a Python program, and reads it back as Python programs do.
func TestPython(t *testing.T) {
	dir := installed(t)
	python := filepath.Join(dir, "venv", "bin", "python")
	r, db, url := start(t)
	run(t, python, "client.py", url)
	check(t, r, db, `{service_name="pyapp",zone="a",phase="one",__name__="process_cpu"}`, "cpu")

	var read struct {
		Metrics map[string]float64
		Arrow   map[string]struct {
			Rows int
			Sums map[string]int64
		}
	}
	if err := json.Unmarshal([]byte(run(t, python, "read.py", url)), &read); err != nil {
		t.Fatal(err)
	}
	want, rows := sums(r.sent)
	if got := read.Metrics["granary_push_rows_total"]; got != float64(rows) {
		t.Errorf("Prometheus' parser reads %v rows, the client sent %d", got, rows)
	}
	if len(read.Arrow) != 3 {
		t.Errorf("%d forms of Arrow, want 3", len(read.Arrow))
	}
	for form, got := range read.Arrow {
		if got.Rows != rows {
			t.Errorf("form %s: pyarrow reads %d rows, the client sent %d", form, got.Rows, rows)
		}
		for name, sum := range want {
			if got.Sums[name] != sum {
				t.Errorf("form %s: pyarrow reads %d of %s, the client sent %d", form, got.Sums[name], name, sum)
			}
		}
	}
}

// TestNode profiles a Node program.
func TestNode(t *testing.T) {
	dir := installed(t)
	r, db, url := start(t)
	run(t, "node", filepath.Join(dir, "client.js"), url)
	check(t, r, db, `{service_name="nodeapp",zone="a"}`, "wall", "samples")
}
