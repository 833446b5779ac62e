package server

import (
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	pprof "github.com/google/pprof/profile"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/server/internal/page"
)

// exported returns a file of GET /api/v1/export, and its name.
func (r *receiver) exported(query string) (data, name string) {
	r.t.Helper()
	resp, err := r.http.Do(r.request(http.MethodGet, "/api/v1/export?"+query, nil))
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	h := resp.Header
	if err != nil || resp.StatusCode != http.StatusOK || h.Get("X-Content-Type-Options") != "nosniff" || !strings.Contains(h.Get("Content-Security-Policy"), "sandbox") {
		r.t.Fatalf("%s: %v, status %d, %v: %.300s", query, err, resp.StatusCode, h, body)
	}
	name, is := strings.CutPrefix(h.Get("Content-Disposition"), "attachment; filename=")
	if !is {
		r.t.Errorf("%s: %v", query, h)
	}
	return string(body), strings.Trim(name, `"`)
}

// pathSums returns the values of the whole tree of a query by path, root first.
func (r *receiver) pathSums(query string) map[string]int64 {
	r.t.Helper()
	var flame page.FlameAnswer
	_, answer := r.send(r.request(http.MethodGet, "/api/v1/flame?max_nodes=100000&"+query, nil))
	if err := json.Unmarshal([]byte(answer), &flame); err != nil || flame.Tree.Omitted > 0 {
		r.t.Fatalf("%v: %.300s", err, answer)
	}
	sums, path := map[string]int64{}, []string(nil)
	for i, depth := range flame.Tree.Depth {
		path = append(path[:depth], strings.ReplaceAll(flame.Tree.Names[flame.Tree.Function[i]], ";", ":"))
		if n := flame.Tree.Self[0][i]; n != 0 {
			sums[strings.Join(path[1:], ";")] += n
		}
	}
	return sums
}

// foldedSums reads folded stacks.
func foldedSums(t *testing.T, text string) map[string]int64 {
	t.Helper()
	out := map[string]int64{}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		at := strings.LastIndexByte(line, ' ')
		n, err := strconv.ParseInt(line[at+1:], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		out[line[:at]] = n
	}
	return out
}

// TestPage_Export compares files with the answers that the page has.
func TestPage_Export(t *testing.T) {
	r := newReceiver(t, Options{}, columnstore.Options{FutureLimit: -1})
	r.want(http.StatusOK, "rows", r.request(http.MethodPost, "/pprof?side=before", file(t, "etcd/cpu-1.pb.gz")))
	r.want(http.StatusOK, "rows", r.request(http.MethodPost, "/pprof?side=after", file(t, "etcd/cpu-2.pb.gz")))
	before := "t=cpu&q=" + url.QueryEscape(`{side="before"}`)
	want := r.pathSums(before)
	text, name := r.exported(before + "&as=folded")
	got := foldedSums(t, text)
	for path, n := range want {
		if got[path] != n {
			t.Errorf("%s: %d, want %d", path, got[path], n)
		}
	}
	if len(got) != len(want) || name != "cpu.folded" {
		t.Errorf("%d paths in %s, want %d", len(got), name, len(want))
	}
	r.exportsTop(t, before)
	r.exportsSpeedscope(t, before, want)

	sides := "t=cpu&q=" + url.QueryEscape(`{side="after"}`) + "&bq=" + url.QueryEscape(`{side="before"}`)
	text, _ = r.exported(sides + "&as=folded")
	total := [2]int64{}
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		for i := range total {
			n, err := strconv.ParseInt(f[len(f)-2+i], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			total[i] += n
		}
	}
	var flame page.FlameAnswer
	_, answer := r.send(r.request(http.MethodGet, "/api/v1/flame?"+sides, nil))
	if err := json.Unmarshal([]byte(answer), &flame); err != nil || !slices.Equal(flame.Total, total[:]) {
		t.Errorf("%v: folded stacks have %d, the flame graph %d", err, total, flame.Total)
	}
	for _, query := range []string{before + "&as=svg", before + "&as=svg&inv=1", before + "&as=callers&function=runtime.mallocgc", before + "&as=callees&function=runtime.mallocgc", sides + "&as=svg"} {
		text, name := r.exported(query)
		d := xml.NewDecoder(strings.NewReader(text))
		for {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", query, err)
			}
		}
		if !strings.Contains(text, "runtime.") || !strings.HasSuffix(name, ".svg") {
			t.Errorf("%s: %s: %.200s", query, name, text)
		}
	}
	for query, want := range map[string]string{
		"": "parameter as", "as=png": "parameter as", "as=callers": "parameter function", "as=svg&function=f": "parameter function", "as=callees&function=f&inv=1": "choose one", "as=csv&sort=x": "parameter sort",
	} {
		r.want(http.StatusBadRequest, want, r.request(http.MethodGet, "/api/v1/export?t=cpu&"+query, nil))
	}
}

// exportsTop compares CSV with the table of functions.
func (r *receiver) exportsTop(t *testing.T, query string) {
	t.Helper()
	var top page.TopAnswer
	_, answer := r.send(r.request(http.MethodGet, "/api/v1/top?rows=100000&"+query, nil))
	if err := json.Unmarshal([]byte(answer), &top); err != nil {
		t.Fatal(err)
	}
	text, _ := r.exported(query + "&as=csv")
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil || len(rows) != len(top.Functions)+1 {
		t.Fatalf("%d rows of CSV, %v, want %d", len(rows), err, len(top.Functions)+1)
	}
	for i, f := range top.Functions {
		if want := []string{f.Name, f.File, fmt.Sprint(f.Line), fmt.Sprint(f.Flat[0]), fmt.Sprint(f.Cum[0])}; !slices.Equal(rows[i+1], want) {
			t.Errorf("row %d is %q, want %q", i, rows[i+1], want)
		}
	}
}

// exportsSpeedscope compares a file of speedscope with sums by path.
func (r *receiver) exportsSpeedscope(t *testing.T, query string, want map[string]int64) {
	t.Helper()
	var file struct {
		Shared   struct{ Frames []struct{ Name string } }
		Profiles []struct {
			EndValue int64
			Samples  [][]int
			Weights  []int64
		}
	}
	text, name := r.exported(query + "&as=speedscope")
	if err := json.Unmarshal([]byte(text), &file); err != nil || len(file.Profiles) != 1 || name != "cpu.speedscope.json" {
		t.Fatalf("%v, %s: %.200s", err, name, text)
	}
	sums := map[string]int64{}
	for i, sample := range file.Profiles[0].Samples {
		var path []string
		for _, f := range sample {
			path = append(path, file.Shared.Frames[f].Name)
		}
		sums[strings.ReplaceAll(strings.Join(path, "\n"), ";", ":")] += file.Profiles[0].Weights[i]
	}
	for path, n := range want {
		if sums[strings.ReplaceAll(path, ";", "\n")] != n {
			t.Errorf("%s: %d, want %d", path, sums[path], n)
		}
	}
}

// TestPage_ExportNames: names that are no text of their format are none in a file, and not in the name of one.
func TestPage_ExportNames(t *testing.T) {
	r := newReceiver(t, Options{}, columnstore.Options{})
	f := &pprof.Function{ID: 1, Name: "=cmd()\"<script>;\x00\nx 9"}
	l := &pprof.Location{ID: 1, Line: []pprof.Line{{Function: f, Line: 7}}}
	body := encoded(t, &pprof.Profile{
		SampleType: []*pprof.ValueType{{Type: "c\"\r\n/../u", Unit: "count"}},
		Sample:     []*pprof.Sample{{Location: []*pprof.Location{l}, Value: []int64{3}}}, Location: []*pprof.Location{l}, Function: []*pprof.Function{f},
	})
	r.want(http.StatusOK, "1 rows", r.request(http.MethodPost, "/pprof?job=a", body))
	if text, name := r.exported("as=folded"); text != "=cmd()\"<script>:\ufffd\ufffdx 9 3\n" || name != "c_______u.folded" {
		t.Errorf("%q in %q", text, name)
	}
	if text, _ := r.exported("as=csv"); !strings.Contains(text, "\n\"'=cmd()\"\"<script>;\ufffd\ufffdx 9\",") {
		t.Errorf("%q", text)
	}
	if text, _ := r.exported("as=svg"); strings.Contains(text, "\"<script>") || !strings.Contains(text, "&lt;script&gt;") {
		t.Errorf("%.2000q", text)
	}
}
