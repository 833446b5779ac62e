package server

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/server/internal/page"
	"github.com/granarydb/granary/server/internal/push"
)

// hostileQuestions are questions that have no answer, to each method of the querier and to each GET.
func hostileQuestions() (all []hostile) {
	long := strings.Repeat("x", 1<<20)
	deep := strings.Repeat("(", 2000) + strings.Repeat(")", 2000)
	fields := func(more string) string { return `{"profileTypeID":"` + cpuID + `","labelSelector":"{}"` + more + `}` }
	both := func(side string) string { return `{"left":` + fields("") + `,"right":` + side + `}` }
	selectors := map[string]string{ // of a label, in JSON
		"open brace": `{`, "no value": `{job=}`, "no quote": `{job=\"a}`, "no name": `{=\"a\"}`, "wrong operator": `{job>\"a\"}`, "two commas": `{job=\"a\",,}`, "text behind": `{job=\"a\"} or`,
		"open group": `{job=~\"(\"}`, "repeat of repeats": `{job=~\"((a{1000}){1000}){1000}\"}`, "deep pattern": `{job=~\"` + deep + `\"}`, "zero": `{job=\"a\u0000\"`, "look behind": `{job=~\"(?<=a)\"}`, "flag": `{job=~\"(?z)a\"}`,
	}
	times := map[string]string{
		"start below 0": `,"start":"-1"`, "end below 0": `,"end":"-5"`, "end before start": `,"start":"5","end":"4"`, "end beyond time": `,"end":"9223372036854775807"`, "start beyond time": `,"start":"9223372036854775807"`,
	}
	bodies := map[string]string{
		"number as text": `{"start":"x"}`, "huge number": `{"start":"99999999999999999999"}`, "half a number": `{"start":0.5}`, "list": `[]`, "nothing": ``, "open": `{`, "another open": `{"start":`, "text": `"a"`, "deep": strings.Repeat(`{"a":[`, 5000),
	}
	post := func(method, name, body string, status int, text string) {
		all = append(all, hostile{method + " " + name, "", "/querier.v1.QuerierService/" + method, asJSON, []byte(body), status, text})
	}
	for _, method := range []string{"ProfileTypes", "LabelNames", "LabelValues", "Series", "SelectSeries", "SelectHeatmap", "SelectMergeStacktraces", "SelectMergeSpanProfile", "SelectMergeProfile", "Diff"} {
		for name, body := range bodies {
			if method != "Diff" || !strings.Contains(body, "start\":") || name == "another open" { // which has no start of its own
				post(method, name, body, 400, "unmarshal")
			}
		}
		post(method, "long", `{"a":"`+long+`"}`, 429, "larger than configured max")
	}
	for _, method := range []string{"ProfileTypes", "LabelNames", "LabelValues", "Series"} {
		for name, text := range times {
			post(method, name, `{"name":"job"`+text+`}`, 400, "start and end")
		}
	}
	for _, method := range []string{"LabelNames", "LabelValues", "Series"} {
		for name, text := range selectors {
			post(method, name, `{"name":"job","matchers":["`+text+`"]}`, 400, "matchers")
		}
		post(method, "a wrong second selector", `{"name":"job","matchers":["{}","{"]}`, 400, "matchers")
	}
	post("LabelValues", "no name", `{}`, 400, "name")
	for _, method := range []string{"SelectSeries", "SelectHeatmap", "SelectMergeStacktraces", "SelectMergeSpanProfile", "SelectMergeProfile"} {
		for name, text := range times {
			post(method, name, fields(`,"step":1`+text), 400, "start and end")
		}
		for name, text := range selectors {
			post(method, name, `{"profileTypeID":"`+cpuID+`","step":1,"labelSelector":"`+text+`"}`, 400, "label_selector")
		}
		for _, id := range []string{"", "::::", "a:::::", ":cpu:n:cpu:n"} {
			post(method, "type "+id, `{"profileTypeID":"`+id+`","step":1,"labelSelector":"{}"}`, 400, "profile_typeID")
		}
		for _, id := range []string{"none", "a:::", " *", long[:1000]} {
			post(method, "short name "+id[:min(9, len(id))], `{"profileTypeID":"`+id+`","step":1,"labelSelector":"{}"}`, 404, "profile_typeID")
		}
		post(method, "a short name with a type", `{"profileTypeID":"cpu","step":1,"labelSelector":"{__type__=\"cpu\"}"}`, 400, "a type is chosen by profile_typeID")
	}
	for name, step := range map[string]string{"none": "0", "negative": "-1", "tiny": "1e-300", "huge": "1e300", "not a number": `"NaN"`, "infinite": `"Infinity"`} {
		post("SelectSeries", "step "+name, fields(`,"step":`+step), 400, "step: ")
	}
	post("SelectSeries", "group by nothing", fields(`,"step":1,"groupBy":[""]`), 400, "")
	for _, nodes := range []string{"-2", "100001", "9223372036854775807"} {
		for _, method := range []string{"SelectMergeStacktraces", "SelectMergeSpanProfile"} {
			post(method, nodes+" nodes", fields(`,"maxNodes":"`+nodes+`"`), 429, "max_nodes")
		}
	}
	for name, field := range map[string]string{"trace_id": "traceIdSelector", "span_id": "spanSelector"} {
		for _, id := range []string{"", "x", `a\"}b`, strings.Repeat("0", 33)} {
			post("SelectMergeStacktraces", field+" "+id, fields(`,"`+field+`":["`+id+`"]`), 400, name)
		}
	}
	for name, side := range map[string]string{"nothing": `{}`, "times": fields(`,"start":"2","end":"1"`), "selector": `{"profileTypeID":"` + cpuID + `","labelSelector":"{"}`} {
		post("Diff", name, both(side), 400, "")
	}
	for _, path := range []string{"/pprof", "/arrow"} {
		for name, query := range map[string]string{
			"parameter": "typ=cpu", "twice": "type=cpu&type=cpu", "no query": "a=%zz", "semicolon": "a;b",
			"from": "from=x", "from below 0": "from=-5", "from beyond time": "from=99999999999999999999", "from in 1969": "from=1969-01-01T00:00:00Z", "from in 2300": "from=2300-01-01T00:00:00Z", "from behind to": "from=1769850005000&to=1769850004000", "from as to": "from=1769850005000&to=1769850005000", "to": "to=1x",
		} {
			all = append(all, hostile{path + " " + name, "GET", path + "?" + query, nil, nil, 400, "invalid request"})
		}
		for name, text := range selectors {
			query := url.Values{"selector": {strings.NewReplacer(`\"`, `"`, `\u0000`, "\x00").Replace(text)}}
			all = append(all, hostile{path + " selector " + name, "GET", path + "?" + query.Encode(), nil, nil, 400, "parameter selector"})
		}
		all = append(all, hostile{path + " type", "GET", path + "?type=nothing", nil, nil, 404, "parameter type"})
	}
	return append(append(append(all, hostilePages(selectors)...), hostileRenders(selectors)...),
		hostile{"form", "GET", "/arrow?form=x", nil, nil, 400, "parameter form"},
		hostile{"stacks", "GET", "/arrow?stacks=x", nil, nil, 400, "parameter stacks"},
		hostile{"no unit", "GET", "/arrow?after=-1", nil, nil, 400, "parameter after"},
		hostile{"an empty unit", "GET", "/arrow?after=", nil, nil, 400, "parameter after"},
		hostile{"a unit beyond numbers", "GET", "/arrow?after=18446744073709551616", nil, nil, 400, "parameter after"},
		hostile{"a unit that never was", "GET", "/arrow?after=18446744073709551615", nil, nil, 400, "was never here"})
}

// hostileRenders are questions of Pyroscope's clients that have no answer, given selectors that are none.
func hostileRenders(selectors map[string]string) (all []hostile) {
	add := func(path, name, query string, status int, text string) {
		all = append(all, hostile{path + " " + name, "GET", path + "?" + query, nil, nil, status, text})
	}
	good := "from=now-1h&query=" + cpuID
	for _, path := range []string{"/pyroscope/render", "/render"} {
		for name, query := range map[string]string{
			"parameter": good + "&q=1", "twice": good + "&from=1", "no query": "from=now-1h", "no type": "from=now-1h&query=%7B%7D", "a short name with a type": "from=now-1h&query=cpu%7B__type__%3D%22cpu%22%7D",
			"no from": "query=" + cpuID, "from": "from=x&query=" + cpuID, "from behind until": good + "&until=now-2h", "many days": "from=now-999999d&until=now-9999999d&query=" + cpuID,
			"nodes": good + "&max-nodes=x", "nodes beyond numbers": good + "&maxNodes=99999999999999999999",
		} {
			add(path, name, query, 400, "parameter")
		}
		for name, text := range selectors {
			query := url.Values{"query": {strings.NewReplacer(`\"`, `"`, `\u0000`, "\x00").Replace(text)}, "from": {"now-1h"}}
			add(path, "selector "+name, query.Encode(), 400, "parameter query")
		}
		add(path, "format", good+"&format=pprof", 501, "parameter format")
	}
	both := "leftFrom=now-1h&rightFrom=now-1h&leftQuery=" + cpuID + "&rightQuery="
	add("/pyroscope/render-diff", "a side", both, 400, "parameter rightQuery")
	add("/pyroscope/render-diff", "types", both+"memory:inuse_space:bytes:space:bytes", 400, "left and right")
	add("/pyroscope/render-diff", "format", both+cpuID+"&format=dot", 501, "parameter format")
	add("/pyroscope/label-values", "label", "", 400, "parameter label")
	add("/pyroscope/label-values", "query", "label=job&query=%7B", 400, "matchers")
	add("/pyroscope/labels", "from", "from=x", 400, "parameter from")
	return all
}

// hostilePages are questions of a page that have no answer, given selectors that are none.
func hostilePages(selectors map[string]string) (all []hostile) {
	long := strings.Repeat("x", page.MaxPattern+1)
	add := func(path, name, query string, status int, text string) {
		all = append(all, hostile{path + " " + name, "GET", path + "?" + query, nil, nil, status, text})
	}
	for _, path := range []string{"/api/v1/flame", "/api/v1/top", "/api/v1/profiles"} {
		for name, query := range map[string]string{
			"parameter": "type=cpu", "twice": "t=cpu&t=cpu", "no query": "a=%zz", "semicolon": "a;b", "a label as type": "q=%7B__type__%3D%22cpu%22%7D",
			"from": "from=x", "from below 0": "from=-5", "from beyond time": "from=99999999999999999999", "from in 1969": "from=1969-01-01T00:00:00Z",
			"from in 2300": "from=2300-01-01T00:00:00Z", "from behind to": "from=1769850005000&to=1769850004000", "from as to": "from=1769850005000&to=1769850005000", "from behind to, both before the newest": "from=-1h&to=-2h", "to": "to=1x",
			"twice before": "from=--1h", "many days": "from=-999999d", "half of a half": "from=-0.5.5d",
			"commit": "commit=x", "commit below 0": "commit=-1", "commit beyond numbers": "commit=99999999999999999999", "rows": "rows=x", "nodes": "max_nodes=-1",
		} {
			add(path, name, query, 400, "invalid request")
		}
		for name, text := range selectors {
			query := url.Values{"q": {strings.NewReplacer(`\"`, `"`, `\u0000`, "\x00").Replace(text)}}
			if encoded := query.Encode(); len(encoded) <= page.MaxURL {
				add(path, "selector "+name, encoded, 400, "parameter q")
			}
		}
		add(path, "type", "t=nothing", 404, "parameter t")
		add(path, "a commit that is not held", "commit=123456789", 410, "held no more")
		add(path, "a long URL", "q="+strings.Repeat("%20", page.MaxURL/3+1), 414, "bytes of a URL")
	}
	for _, path := range []string{"/api/v1/flame", "/api/v1/top"} {
		for _, name := range []string{"s", "hide", "show", "focus", "ignore"} {
			for _, pattern := range []string{"(", "((a{1000}){1000}){1000}", "(?<=a)", "(?z)a", "\xff", strings.Repeat("(", page.MaxPattern)} {
				add(path, name+" "+pattern[:min(9, len(pattern))], name+"="+url.QueryEscape(pattern), 400, "parameter "+name)
			}
			add(path, "long "+name, name+"="+long, 422, "a pattern of 1001 bytes")
			add(path, name+" of many steps", name+"="+url.QueryEscape(strings.Repeat("[ab]{1000}", 20)), 422, "steps in parameter "+name)
		}
		add(path, "the selector before", "bq=%7B", 400, "parameter bq")
		add(path, "the time before", "bfrom=1769850005000&bto=1769850004000", 400, "bfrom and bto")
		add(path, "norm", "norm=yes", 400, "parameter norm")
		add(path, "sum", "sum=2", 400, "parameter sum")
		add(path, "norm of nothing", "norm=1&bq=%7Bjob%3D%22none%22%7D", 400, "cannot be scaled")
	}
	add("/api/v1/flame", "inv", "inv=true", 400, "parameter inv")
	add("/api/v1/command", "sort", "sort=x", 400, "parameter sort")
	add("/api/v1/flame", "shares", "shares=true", 400, "parameter shares")
	add("/api/v1/flame", "shares of no history", "shares=1", 404, "there is no such history")
	add("/api/v1/flame", "inv and function", "inv=1&function=f", 400, "choose one")
	add("/api/v1/flame", "nodes", "max_nodes=100001", 422, "max_nodes of 100001, at most 100000")
	add("/api/v1/top", "rows", "rows=100001", 422, "rows of 100001, at most 100000")
	add("/api/v1/profiles", "rows", "rows=100001", 422, "rows of 100001, at most 100000")
	add("/api/v1/top", "offset", "offset=9223372036854775807", 422, "offset")
	add("/api/v1/top", "offset beyond numbers", "offset=99999999999999999999", 400, "parameter offset")
	add("/api/v1/top", "sort", "sort=file", 400, "parameter sort")
	add("/api/v1/top", "change", "change=old&bfrom=-1h", 400, "parameter change")
	add("/api/v1/top", "change of one side", "change=new", 400, "there is no side before")
	add("/api/v1/store", "parameter", "t=cpu", 400, "parameter")
	return all
}

// TestHostileQuestions asks what has no answer, and a good question after each. The heap stays as it was.
func TestHostileQuestions(t *testing.T) {
	r := newReceiver(t, Options{}, columnstore.Options{})
	r.want(http.StatusOK, "2 rows", r.request(http.MethodPost, "/pprof?job=a", small(t, 1)))
	ask := func(h hostile) (int, string) {
		method := h.method
		if method == "" {
			method = http.MethodPost
		}
		return r.send(r.request(method, h.path, h.body, h.headers...))
	}
	good := hostile{"", "", "/querier.v1.QuerierService/SelectMergeStacktraces", asJSON, []byte(`{"profileTypeID":"` + cpuID + `","labelSelector":"{}"}`), 200, "main.work"}
	costly := hostile{"", "", "/querier.v1.QuerierService/SelectSeries", asJSON, []byte(`{"profileTypeID":"` + cpuID + `","labelSelector":"{}","step":0.001,"start":"1","end":"9000000000000"}`), 200, "points"}
	if status, answer := ask(costly); status != costly.status || !strings.Contains(answer, costly.text) || len(answer) > 1000 {
		t.Errorf("a step of 1 ms over 285 years: status %d: %.300s", status, answer)
	}
	all := hostileQuestions()
	before := liveHeap()
	for _, h := range all {
		if status, answer := ask(h); status != h.status || !strings.Contains(answer, h.text) || len(answer) > 10_000 {
			t.Errorf("%s: status %d: %.300s; want %d and %q", h.name, status, answer, h.status, h.text)
		}
		if status, answer := ask(good); status != good.status || !strings.Contains(answer, good.text) {
			t.Fatalf("after %s: status %d: %.300s", h.name, status, answer)
		}
	}
	if grown := liveHeap() - before; grown > 4<<20 || len(all) < 200 {
		t.Errorf("the heap grew by %d bytes for %d questions", grown, len(all))
	}
	t.Logf("%d questions", len(all))
}

// TestHostileResets sends requests in HTTP/2 and resets them at once, as fast as it can. The server goes on, and
// has nothing of them.
func TestHostileResets(t *testing.T) {
	r := newReceiver(t, Options{}, columnstore.Options{})
	good := small(t, 1)
	before := liveHeap()
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for range effort.Less(100, 5) {
				ctx, cancel := context.WithCancel(t.Context())
				path := []string{"/pprof", pushPath, otlpPath, "/arrow"}[i%4]
				req := r.request(http.MethodPost, path, nil, asX...).WithContext(ctx)
				req.Body, req.ContentLength, req.GetBody = io.NopCloser(stalled{strings.NewReader("head"), ctx}), -1, nil
				time.AfterFunc(time.Duration(i)*time.Millisecond, cancel)
				resp, err := r.h2c.Do(req)
				if err == nil {
					_ = resp.Body.Close()
				}
				cancel()
			}
		})
	}
	all.Wait()
	// Server.Wait is for a server that takes no requests: handlers of requests that were reset still begin.
	for range 10_000 {
		if r.s.pushes.MemoryInUse() == 0 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	if n := r.s.pushes.MemoryInUse(); n != 0 {
		t.Errorf("%v bytes of requests that were reset", n)
	}
	if grown := liveHeap() - before; grown > 8<<20 {
		t.Errorf("the heap grew by %d bytes", grown)
	}
	req := r.request(http.MethodPost, "/pprof", good)
	resp, err := r.h2c.Do(req)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("after resets: %v", err)
	}
	_ = resp.Body.Close()
}

// TestHostileSmuggling sends requests whose bodies end in another request, which must not be read as one: what the
// server leaves unread of a body ends the connection.
func TestHostileSmuggling(t *testing.T) {
	t.Parallel() // it waits
	r := newReceiver(t, Options{Limits: Limits{Body: 1 << 20}}, columnstore.Options{})
	address := strings.TrimPrefix(r.url, "http://")
	inner := "POST /pprof?smuggled=1 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n"
	fill := strings.Repeat("x", 300<<10) + strings.Repeat(inner, 4000) // net/http reads 256 KiB of what a handler left
	frame := string(framed(0x40, 3, "abc"))
	for name, head := range map[string]string{
		"path":           "POST /nothing HTTP/1.1\r\n",
		"method":         "PUT /ingest HTTP/1.1\r\n",
		"host":           "POST /pprof HTTP/1.1\r\nX-A: b\r\n",
		"query":          "POST /pprof?a=%zz HTTP/1.1\r\n",
		"format":         "POST /ingest?name=a&format=none HTTP/1.1\r\n",
		"bad form":       "POST /ingest?name=a HTTP/1.1\r\nContent-Type: multipart/form-data; boundary=y\r\n",
		"content type":   "POST " + pushPath + " HTTP/1.1\r\nContent-Type: text/plain\r\n",
		"encoding":       "POST " + pushPath + " HTTP/1.1\r\nContent-Type: application/proto\r\nContent-Encoding: br\r\n",
		"gRPC-Web frame": "POST " + pushPath + " HTTP/1.1\r\nContent-Type: application/grpc-web\r\n",
		"gRPC in HTTP/1": "POST " + pushPath + " HTTP/1.1\r\nContent-Type: application/grpc\r\n",
		"OTLP type":      "POST " + otlpPath + " HTTP/1.1\r\nContent-Type: text/plain\r\n",
		"OTLP gRPC-Web":  "POST " + push.OTLPProcedure + " HTTP/1.1\r\nContent-Type: application/grpc-web\r\n",
		"question":       "POST /querier.v1.QuerierService/Diff HTTP/1.1\r\nContent-Type: application/grpc-web\r\n",
		"GET with body":  "GET /healthz HTTP/1.1\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			host := "localhost"
			if name == "host" {
				host = "evil.example"
			}
			body := frame + fill
			answer := exchange(t, address, fmt.Sprintf("%sHost: %s\r\nContent-Length: %d\r\n\r\n%s", head, host, len(body), body))
			if n := strings.Count(answer, "HTTP/1.1 "); n != 1 {
				t.Errorf("%d answers to one request: %.600q", n, answer)
			}
		})
	}
	t.Cleanup(func() {
		if r.rows() != 0 {
			t.Errorf("%d rows", r.rows())
		}
	})
}

// exchange sends bytes and returns what comes back until the connection ends, or is idle.
func exchange(t *testing.T, address, text string) string {
	t.Helper()
	conn, err := (&net.Dialer{Timeout: effort.Patience}).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(effort.Patience))
	go func() { _, _ = io.WriteString(conn, text) }()
	var answer []byte
	buffer := make([]byte, 4096)
	for {
		n, err := conn.Read(buffer)
		answer = append(answer, buffer[:n]...)
		if err != nil { // the end of the connection, or it is idle
			return string(answer)
		}
		_ = conn.SetReadDeadline(time.Now().Add(time.Second)) // the first answer may take longer
	}
}
