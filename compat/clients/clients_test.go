package clients

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
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

func TestMain(m *testing.M) {
	if server := os.Getenv(goServer); server != "" {
		os.Exit(profileGo(server))
	}
	goleak.VerifyTestMain(m)
}

// installed returns the folder with the clients, and skips the test without one.
func installed(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("GRANARY_CLIENTS")
	if dir == "" {
		t.Skip("the clients are not installed: bash compat/clients/run installs them")
	}
	return dir
}

// patience is how long a test waits for a client. All take seconds on a machine without other work.
const patience = 5 * time.Minute

// recorder is a server that keeps the profiles which it was sent.
type recorder struct {
	handle http.Handler
	lock   sync.Mutex
	sent   []*pprof.Profile
	errs   []error
	ended  bool
	broken []string // questions that the server could not answer
}

// statusWriter keeps the status of an answer.
type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// ServeHTTP passes a request on, and decodes the profiles in it if it succeeds. After the end it refuses pushes.
func (r *recorder) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if req.Method != http.MethodPost || strings.Contains(req.URL.Path, "/querier.v1.") {
		answer := &statusWriter{ResponseWriter: w}
		if r.handle.ServeHTTP(answer, req); answer.status >= http.StatusInternalServerError {
			r.lock.Lock()
			r.broken = append(r.broken, req.URL.Path+": "+http.StatusText(answer.status))
			r.lock.Unlock()
		}
		return
	}
	body, err := io.ReadAll(req.Body)
	r.lock.Lock()
	defer r.lock.Unlock()
	if r.ended {
		http.Error(w, "the test has ended", http.StatusServiceUnavailable)
		return
	}
	req.Body = io.NopCloser(bytes.NewReader(body))
	answer := httptest.NewRecorder()
	r.handle.ServeHTTP(answer, req)
	if answer.Code != http.StatusOK {
		err = errors.Join(err, errors.New(req.URL.Path+": "+answer.Body.String()))
	}
	profiles, decoded := profilesOf(req.URL, req.Header, body)
	if err = errors.Join(err, decoded); err != nil {
		r.errs = append(r.errs, err)
	}
	r.sent = append(r.sent, profiles...)
	maps.Copy(w.Header(), answer.Header()) // when all is kept: the client can end at once
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes())
}

// endAfter waits until what was sent is enough, and ends the recording.
func (r *recorder) endAfter(t *testing.T, isEnough func([]*pprof.Profile) bool) {
	t.Helper()
	for until := time.Now().Add(patience); time.Now().Before(until); time.Sleep(50 * time.Millisecond) {
		r.lock.Lock()
		r.ended = isEnough(r.sent)
		ended := r.ended
		r.lock.Unlock()
		if ended {
			return
		}
	}
	r.lock.Lock()
	defer r.lock.Unlock()
	t.Fatalf("after %s %d profiles: %v", patience, len(r.sent), r.errs)
}

// profilesOf decodes the profiles of a request, by libraries that are not the server's.
func profilesOf(u *url.URL, h http.Header, body []byte) (profiles []*pprof.Profile, err error) {
	if h.Get("Content-Encoding") == "gzip" {
		if body, err = unzipped(body); err != nil {
			return nil, err
		}
	}
	encoded := [][]byte{body}
	kind, params, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil {
		return nil, err
	}
	switch {
	case strings.HasSuffix(u.Path, "/Push"):
		var request pushv1.PushRequest
		if err := proto.Unmarshal(body, &request); err != nil {
			return nil, err
		}
		encoded = nil
		for _, s := range request.GetSeries() {
			for _, sample := range s.GetSamples() {
				encoded = append(encoded, sample.GetRawProfile())
			}
		}
	case strings.HasPrefix(kind, "multipart/"):
		parts, err := partsOf(multipart.NewReader(bytes.NewReader(body), params["boundary"]))
		if err != nil {
			return nil, err
		}
		if parts["jfr"] != nil {
			return profilesOfJFR(parts, u.Query().Get("sampleRate"))
		}
		encoded = [][]byte{parts["profile"]}
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

// unzipped returns what is in gzip.
func unzipped(data []byte) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}

// partsOf returns the parts of a body, by name.
func partsOf(r *multipart.Reader) (parts map[string][]byte, err error) {
	parts = map[string][]byte{}
	for {
		part, err := r.NextPart()
		if errors.Is(err, io.EOF) {
			return parts, nil
		}
		if err != nil {
			return nil, err
		}
		if parts[part.FormName()], err = io.ReadAll(part); err != nil {
			return nil, err
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

// run runs a client, which must end with 0, and returns what it prints.
func run(t *testing.T, command ...string) string {
	t.Helper()
	wait, _ := begin(t, command...)
	return wait()
}

// begin starts a client. wait waits for its end, as run does, and stop kills it.
func begin(t *testing.T, command ...string) (wait func() string, stop func()) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	var out, log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &log
	if err := cmd.Start(); err != nil {
		cancel()
		t.Fatal(err)
	}
	ended := sync.OnceValue(cmd.Wait)
	stop = func() { cancel(); _ = ended() }
	t.Cleanup(stop)
	return func() string {
		t.Helper()
		if err := ended(); err != nil {
			t.Fatalf("%s: %v\n%s%s", command, err, out.String(), log.String())
		}
		return out.String()
	}, stop
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
