package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/internal/gzipped"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/server/internal/page"
	"github.com/granarydb/granary/server/internal/source"
	"github.com/granarydb/granary/server/internal/web"
)

// sentPart is a part of a form. One without a file name is a field.
type sentPart struct {
	name, file string
	data       []byte
}

// filesForm returns the body of a form and its Content-Type.
func filesForm(t testing.TB, parts ...sentPart) (body []byte, of string) {
	t.Helper()
	var out bytes.Buffer
	w := multipart.NewWriter(&out)
	for _, p := range parts {
		create := w.CreateFormField
		if p.file != "" {
			create = func(name string) (io.Writer, error) { return w.CreateFormFile(name, p.file) }
		}
		to, err := create(p.name)
		if err == nil {
			_, err = to.Write(p.data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), w.FormDataContentType()
}

// opening returns a request to open files.
func (r *receiver) opening(headers []string, parts ...sentPart) *http.Request {
	r.t.Helper()
	body, of := filesForm(r.t, parts...)
	return r.request(http.MethodPost, "/view", body, append([]string{"Content-Type", of}, headers...)...)
}

// opened opens files, and returns the path of their page, its query and the answer.
func (r *receiver) opened(headers []string, parts ...sentPart) (path string, query url.Values, out openedAnswer) {
	r.t.Helper()
	status, text := r.send(r.opening(headers, parts...))
	if status != http.StatusOK {
		r.t.Fatalf("status %d: %s", status, text)
	}
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		r.t.Fatal(err)
	}
	at, err := url.Parse(out.Path)
	if err != nil || !strings.HasPrefix(at.Path, "view/") {
		r.t.Fatalf("%+v, %v", out, err)
	}
	return "/" + at.Path, at.Query(), out
}

// TestFiles opens a profile: the answers below its path are those of a server that has it alone, and the server has nothing of it.
func TestFiles(t *testing.T) {
	r := newReceiver(t, Options{}, columnstore.Options{})
	path, query, out := r.opened(nil, sentPart{"file", `C:\tmp\cpu.pb.gz`, file(t, "etcd/cpu-1.pb.gz")})
	if query.Get("from") == "" || query.Get("to") == "" || query.Get("v") != "" || out.Refused != nil {
		t.Errorf("%+v", out)
	}
	if r.rows() != 0 {
		t.Errorf("the store of the server has %d rows", r.rows())
	}
	alone := newReceiver(t, Options{}, columnstore.Options{FutureLimit: -1})
	alone.want(http.StatusOK, "rows", alone.request(http.MethodPost, "/pprof?file=cpu.pb.gz", file(t, "etcd/cpu-1.pb.gz")))
	asked := "api/v1/top?" + url.Values{"t": {"cpu"}, "from": query["from"], "to": query["to"]}.Encode()
	_, want := alone.send(alone.request(http.MethodGet, "/"+asked, nil))
	_, got := r.send(r.request(http.MethodGet, path+asked, nil))
	var a, b page.TopAnswer
	if err := json.Unmarshal([]byte(got), &a); err != nil || json.Unmarshal([]byte(want), &b) != nil || len(a.Functions) == 0 || fmt.Sprint(a.Type, a.Functions) != fmt.Sprint(b.Type, b.Functions) {
		t.Errorf("%v: %.300s\nwant\n%.300s", err, got, want)
	}
	r.want(http.StatusOK, `"files":["cpu.pb.gz"]`, r.request(http.MethodGet, path+"api/v1/store", nil))
	r.want(http.StatusOK, path+"pprof?", r.request(http.MethodGet, path+"api/v1/command?t=cpu", nil))
	r.want(http.StatusOK, "<title>", r.request(http.MethodGet, path, nil))
	r.want(http.StatusOK, "<title>", r.request(http.MethodGet, strings.TrimSuffix(path, "/"), nil)) // redirected
	r.want(http.StatusMethodNotAllowed, "", r.request(http.MethodPost, path+"pprof?job=x", small(t, 1)))
	r.want(http.StatusNotFound, "not open here", r.request(http.MethodGet, "/view/other/api/v1/store", nil))
	r.want(http.StatusOK, "<title>", r.request(http.MethodGet, "/view/other/", nil)) // which says so
	r.wait()
}

// TestFiles_Sides opens two profiles as a difference, and others beside each other.
func TestFiles_Sides(t *testing.T) {
	r := newReceiver(t, Options{}, columnstore.Options{})
	path, query, _ := r.opened(nil, sentPart{"before", "a.pb.gz", small(t, 5)}, sentPart{"after", "a.pb.gz", small(t, 12)})
	if query.Get("v") != "difference" {
		t.Errorf("%v", query)
	}
	query.Del("v")
	query.Set("t", "cpu")
	r.want(http.StatusOK, `"total":[5,12]`, r.request(http.MethodGet, path+"api/v1/flame?"+query.Encode(), nil))
	r.want(http.StatusOK, `"files":["a.pb.gz","a.pb.gz (2)"]`, r.request(http.MethodGet, path+"api/v1/store", nil))

	path, query, out := r.opened(nil, sentPart{"file", "a.pb.gz", small(t, 5)}, sentPart{"file", "notes.txt", []byte("no profile")}, sentPart{"file", "b.pb.gz", small(t, 6)})
	if query.Get("v") != "" || len(out.Refused) != 1 || !strings.HasPrefix(out.Refused[0], "notes.txt: ") {
		t.Errorf("%v: %q", query, out.Refused)
	}
	r.want(http.StatusOK, `"total":[11]`, r.request(http.MethodGet, path+"api/v1/flame?t=cpu", nil))
}

// TestFiles_Modified dates a profile without a time by its file. Labels of a profile's own stay.
func TestFiles_Modified(t *testing.T) {
	r := newReceiver(t, Options{}, columnstore.Options{})
	at := time.Date(2020, 2, 3, 4, 5, 6, 0, time.UTC)
	_, query, _ := r.opened(nil, sentPart{name: "modified", data: fmt.Append(nil, at.UnixMilli())}, sentPart{"file", "stacks.folded", []byte("main;work 3\nmain;rest 4\n")})
	if query.Get("to") != "2020-02-03T04:05:06.001Z" {
		t.Errorf("%v", query)
	}
}

// TestFiles_Trace opens a Go execution trace: its states and its samples.
func TestFiles_Trace(t *testing.T) {
	r := newReceiver(t, Options{}, columnstore.Options{})
	path, _, _ := r.opened(nil, sentPart{"file", "small.trace", goTrace(t)}, sentPart{"file", "small.trace", goTrace(t)})
	r.want(http.StatusOK, `"name":"small.trace (2)"`, r.request(http.MethodGet, path+"api/v1/histories", nil))
	var top page.TopAnswer
	_, text := r.send(r.request(http.MethodGet, path+"api/v1/top?t=cpu", nil))
	if err := json.Unmarshal([]byte(text), &top); err != nil || len(top.Total) != 1 || top.Total[0] == 0 {
		t.Errorf("%v: %s", err, text)
	}
	chrome := []byte(`{"traceEvents":[{"name":"f","ph":"B","ts":1,"pid":1,"tid":1},{"name":"f","ph":"E","ts":9,"pid":1,"tid":1}]}`)
	path, _, _ = r.opened(nil, sentPart{"file", "chrome.json", chrome})
	r.want(http.StatusOK, `"name":"chrome.json"`, r.request(http.MethodGet, path+"api/v1/histories", nil))
}

// TestFiles_Hostile sends forms that must be refused, and keeps nothing of them.
func TestFiles_Hostile(t *testing.T) {
	r := newReceiver(t, Options{Limits: hostiles}, columnstore.Options{})
	good := sentPart{"file", "a.pb.gz", small(t, 1)}
	many := make([]sentPart, 65)
	for i := range many {
		many[i] = good
	}
	cut := goTrace(t)
	for name, test := range map[string]struct {
		parts  []sentPart
		status int
		text   string
	}{
		"nothing":          {nil, 400, "it has no file"},
		"an empty file":    {[]sentPart{{"file", "a", nil}}, 400, "a: "},
		"no profile":       {[]sentPart{{"file", "a.txt", []byte("hello")}}, 400, "a.txt: "},
		"another part":     {[]sentPart{{"prev", "a", small(t, 1)}}, 400, "part \"prev\" is not taken"},
		"one side":         {[]sentPart{{"before", "a", small(t, 1)}}, 400, "a file before needs one after"},
		"a bad side":       {[]sentPart{{"before", "a", small(t, 1)}, {"after", "b", []byte("x")}}, 400, "b: "},
		"too many":         {many, 413, "more than 64 files"},
		"a bad time":       {[]sentPart{{name: "modified", data: []byte("yesterday")}, good}, 400, "part modified"},
		"a long time":      {[]sentPart{{name: "modified", data: bytes.Repeat([]byte("1"), 1<<10)}, good}, 400, "part modified"},
		"a large profile":  {[]sentPart{{"file", "a", gzipped.Of(t, make([]byte, 5<<20))}}, 413, "a: "},
		"a bomb in a bomb": {[]sentPart{{"file", "a", gzipped.Of(t, gzipped.Of(t, []byte("x")))}}, 400, "compressed twice"},
		"a broken trace":   {[]sentPart{{"file", "a.trace", append(bytes.Clone(cut[:len(cut)/2]), bytes.Repeat([]byte{255}, 100)...)}}, 0, ""},
		"a name with NUL":  {[]sentPart{{"file", "a\x00b", small(t, 1)}}, 400, "body: "},
		"a large body":     {[]sentPart{{"file", "a", make([]byte, 2<<20)}}, 413, ""},
	} {
		status, text := r.send(r.opening(nil, test.parts...))
		if test.status == 0 && status/100 < 5 { // a trace that breaks off may be shown as far as it goes
			continue
		}
		if status != test.status || !strings.Contains(text, test.text) {
			t.Errorf("%s: status %d: %.300s; want %d and %q", name, status, text, test.status, test.text)
		}
	}
	for _, of := range []string{"", "text/plain", "multipart/form-data", "multipart/form-data; boundary="} {
		r.want(http.StatusUnsupportedMediaType, "multipart/form-data", r.request(http.MethodPost, "/view", small(t, 1), "Content-Type", of))
	}
	body, of := filesForm(t, good)
	r.want(http.StatusBadRequest, "body: ", r.request(http.MethodPost, "/view", body[:len(body)-20], "Content-Type", of))
	r.want(http.StatusForbidden, "origin", r.request(http.MethodPost, "/view", body, "Content-Type", of, "Sec-Fetch-Site", "cross-site"))
	if n, _ := r.s.opened.Holds(); n > 1 {
		t.Errorf("%d requests are kept", n)
	}
	for _, file := range []string{"../../etc/passwd", strings.Repeat("n", 1000), "<img src=x>", "..", "/", "\xff.pb"} {
		_, _, out := r.opened(nil, sentPart{"file", file, small(t, 1)})
		if out.Refused != nil {
			t.Errorf("%q: %q", file, out.Refused)
		}
	}
}

// TestFiles_Kept: stores that were not used for longest give way to others, unless within a minute, and all go after half an hour.
func TestFiles_Kept(t *testing.T) {
	var mu sync.Mutex
	now := time.Now()
	pass := func(d time.Duration) { mu.Lock(); now = now.Add(d); mu.Unlock() }
	r := newReceiver(t, Options{Now: func() time.Time { mu.Lock(); defer mu.Unlock(); return now }}, columnstore.Options{})
	var paths []string
	for range 16 {
		path, _, _ := r.opened(nil, sentPart{"file", "a.pb.gz", small(t, 1)})
		paths = append(paths, path)
	}
	r.want(http.StatusTooManyRequests, "that others look at", r.opening(nil, sentPart{"file", "a.pb.gz", small(t, 1)}))
	pass(2 * time.Minute)
	r.want(http.StatusOK, "files", r.request(http.MethodGet, paths[0]+"api/v1/store", nil)) // it is used
	r.opened(nil, sentPart{"file", "a.pb.gz", small(t, 1)})
	r.want(http.StatusOK, "files", r.request(http.MethodGet, paths[0]+"api/v1/store", nil))
	r.want(http.StatusNotFound, "not open here", r.request(http.MethodGet, paths[1]+"api/v1/store", nil))
	pass(source.FilesTime)
	r.want(http.StatusOK, "", r.request(http.MethodGet, "/healthz", nil))
	if n, bytes := r.s.opened.Holds(); n != 0 || bytes != 0 {
		t.Errorf("%d requests of %d bytes are kept", n, bytes)
	}
	r.opened(nil, sentPart{"file", "a.pb.gz", small(t, 1)})
	r.wait()
	if n, _ := r.s.opened.Holds(); n != 0 {
		t.Errorf("%d requests are kept after the end", n)
	}
}

// TestFiles_Memory refuses files beyond the memory, and keeps what fits.
func TestFiles_Memory(t *testing.T) {
	r := newReceiver(t, Options{Limits: Limits{ViewBytes: 1 << 20}}, columnstore.Options{})
	r.want(http.StatusUnprocessableEntity, "the memory of opened files, at most 1048576 bytes", r.opening(nil, sentPart{"file", "a", file(t, "compile/heap.pb.gz")}))
	r.opened(nil, sentPart{"file", "a", small(t, 1)})
	if n, bytes := r.s.opened.Holds(); n != 1 || bytes == 0 || bytes > 1<<20 {
		t.Errorf("%d requests of %d bytes", n, bytes)
	}
}

// TestFiles_Tokens: opening needs the right to read, and so does all that was opened. A path is one of its tenant.
func TestFiles_Tokens(t *testing.T) {
	r := newReceiver(t, Options{Tokens: Tokens{Read: []string{"r"}, Write: []string{"w"}}}, columnstore.Options{})
	for _, token := range []string{"", "Bearer w", "Bearer x"} {
		r.want(http.StatusUnauthorized, "token", r.opening([]string{"Authorization", token}, sentPart{"file", "a", small(t, 1)}))
	}
	headers := []string{"Authorization", "Bearer r", web.TenantHeader, "a"}
	path, _, _ := r.opened(headers, sentPart{"file", "a", small(t, 1)})
	asked := path + "api/v1/flame?t=cpu"
	r.want(http.StatusOK, "main.work", r.request(http.MethodGet, asked, nil, headers...))
	r.want(http.StatusOK, "main.work", r.request(http.MethodGet, "/tenants/a"+asked, nil, "Authorization", "Bearer r"))
	r.want(http.StatusOK, r.url+"/tenants/a"+path+"pprof?", r.request(http.MethodGet, path+"api/v1/command?t=cpu", nil, headers...))
	r.want(http.StatusUnauthorized, "token", r.request(http.MethodGet, asked, nil, web.TenantHeader, "a"))
	for _, tenant := range []string{"b", profile.Anonymous} {
		r.want(http.StatusNotFound, "not open here", r.request(http.MethodGet, asked, nil, "Authorization", "Bearer r", web.TenantHeader, tenant))
	}
	if all := profile.Tenants(r.store, ""); len(all) != 1 {
		t.Errorf("opening made the tenants %v", all)
	}
}

// TestFiles_Front refuses files, and names the nodes.
func TestFiles_Front(t *testing.T) {
	s, err := NewFront(Nodes{URLs: []string{"http://127.0.0.1:1"}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	body, of := filesForm(t, sentPart{"file", "a", small(t, 1)})
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodPost, "http://localhost/view", bytes.NewReader(body))
	r.Header.Set("Content-Type", of)
	if s.ServeHTTP(w, r); w.Code != http.StatusNotImplemented || !strings.Contains(w.Body.String(), "a front") {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
	w = httptest.NewRecorder()
	if s.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://localhost/view/x/api/v1/store", nil)); w.Code != http.StatusNotFound {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
	if err := s.Wait(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestFiles_AtOnce opens files from several clients. Each sees its own.
func TestFiles_AtOnce(t *testing.T) {
	r := newReceiver(t, Options{}, columnstore.Options{})
	var done sync.WaitGroup
	for i := range 6 {
		done.Go(func() {
			path, _, _ := r.opened(nil, sentPart{"file", "a", small(t, int64(100+i))})
			r.want(http.StatusOK, fmt.Sprintf(`"total":[%d]`, 100+i), r.request(http.MethodGet, path+"api/v1/flame?t=cpu", nil))
		})
	}
	done.Wait()
	r.wait()
}
