package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"
	pushv1 "github.com/grafana/pyroscope/api/gen/proto/go/push/v1"
	commonv1 "go.opentelemetry.io/proto/otlp/common/v1"
	profilesv1 "go.opentelemetry.io/proto/otlp/profiles/v1development"

	"github.com/granarydb/granary/server/internal/push"
)

// clockEpoch is when the operations of clock tests begin, and clockStep how long one takes.
var clockEpoch = time.Date(2026, 11, 3, 9, 30, 30, 0, time.UTC)

const clockStep = 10 * time.Second

// clockOp is an operation of the workload: a request, or a function.
type clockOp struct {
	name         string
	method, path string
	headers      []string
	body         []byte
	do           func(*clocked, *clockOp)

	row    string    // the label op of the rows that it pushes; empty if it pushes none
	at     time.Time // their time; zero is the server's
	value  int64
	isHeap bool // the value counts from the start of a process
}

// opAt returns the right time of an operation.
func opAt(i int) time.Time { return clockEpoch.Add(time.Duration(i) * clockStep) }

// clockOps returns the first n operations of the workload. The kinds follow each other in a fixed order.
func clockOps(t *testing.T, n int) []clockOp {
	t.Helper()
	kinds := []func(*testing.T, int) clockOp{
		pushPprof, pushNow, askTotal, pushIngest, repeatPush, askHeld, pushConnect, askKinds, pushOTLP, annotateOp,
		pushHeap, stepOp, askAgain, maintainOp, deleteOp, pushNow, askOlder, askRelative, pushHeapNow, askFiles,
	}
	ops := make([]clockOp, n)
	for i := range ops {
		ops[i] = kinds[i%len(kinds)](t, i)
		ops[i].name = fmt.Sprintf("operation %d, %s %s", i, ops[i].method, ops[i].path)
	}
	return ops
}

// clockProfile returns a profile of one sample, of a type.
func clockProfile(t *testing.T, kind, unit string, at time.Time, duration, value int64) []byte {
	t.Helper()
	f := &pprof.Function{ID: 1, Name: "main.work"}
	l := &pprof.Location{ID: 1, Line: []pprof.Line{{Function: f, Line: 7}}}
	typ := &pprof.ValueType{Type: kind, Unit: unit}
	p := &pprof.Profile{
		SampleType: []*pprof.ValueType{typ}, PeriodType: typ, Period: 1, DurationNanos: duration,
		Sample: []*pprof.Sample{{Location: []*pprof.Location{l}, Value: []int64{value}}}, Location: []*pprof.Location{l}, Function: []*pprof.Function{f},
	}
	if !at.IsZero() {
		p.TimeNanos = at.UnixNano()
	}
	return encoded(t, p)
}

// pushTo returns a push of rows with the label op, which a key names.
func pushTo(i int, path string, own bool) clockOp {
	row := fmt.Sprint("i", i)
	op := clockOp{method: http.MethodPost, path: path, headers: []string{push.KeyHeader, row}, row: row, value: int64(i + 1)}
	if own {
		op.at = opAt(i)
	}
	return op
}

func pushPprof(t *testing.T, i int) clockOp {
	op := pushTo(i, fmt.Sprintf("/pprof?src=own&op=i%d", i), true)
	op.body = clockProfile(t, "cpu", "nanoseconds", op.at, 1e9, op.value)
	return op
}

// pushNow pushes a profile without a time.
func pushNow(t *testing.T, i int) clockOp {
	op := pushTo(i, fmt.Sprintf("/pprof?src=server&op=i%d", i), false)
	op.body = clockProfile(t, "cpu", "nanoseconds", time.Time{}, 1e9, op.value)
	return op
}

// pushIngest pushes a profile whose time is in the query.
func pushIngest(t *testing.T, i int) clockOp {
	op := pushTo(i, "", true)
	op.path = "/ingest?" + url.Values{"name": {fmt.Sprintf("a{src=own,op=i%d}", i)}, "from": {fmt.Sprint(op.at.Unix())}, "format": {"pprof"}}.Encode()
	op.body = clockProfile(t, "cpu", "nanoseconds", time.Time{}, 1e9, op.value)
	return op
}

func pushConnect(t *testing.T, i int) clockOp {
	op := pushTo(i, pushPath, true)
	one := clockProfile(t, "cpu", "nanoseconds", op.at, 1e9, op.value)
	op.headers = asProto // its profile has an id
	op.body = marshal(t, &pushv1.PushRequest{Series: []*pushv1.RawProfileSeries{pushSeries([]string{"src", "own", "op", op.row}, one)}})
	return op
}

func pushOTLP(t *testing.T, i int) clockOp {
	op := pushTo(i, otlpPath, true)
	op.headers = asX // its profile has an id; a key would name the request, and a repetition would be none of what was refused
	r := otlpRequest(byte(i))
	r.ResourceProfiles[0].Resource.Attributes = nil
	for name, value := range map[string]string{"src": "own", "op": op.row} {
		r.ResourceProfiles[0].Resource.Attributes = append(r.ResourceProfiles[0].Resource.Attributes,
			&commonv1.KeyValue{Key: name, Value: &commonv1.AnyValue{Value: &commonv1.AnyValue_StringValue{StringValue: value}}})
	}
	p := firstProfile(r)
	p.SampleType = p.GetPeriodType()
	p.TimeUnixNano = uint64(op.at.UnixNano())
	p.ProfileId = fmt.Appendf(nil, "%016d", i)
	p.Samples = []*profilesv1.Sample{{StackIndex: 1, Values: []int64{op.value}}}
	op.body = marshal(t, r)
	return op
}

// pushHeap pushes a profile that counts from the start of its process.
func pushHeap(t *testing.T, i int) clockOp {
	op := pushTo(i, "/pprof?src=heap&op=own", true)
	op.value, op.isHeap = int64(100*(i+1)), true
	op.body = clockProfile(t, "alloc_space", "bytes", op.at, 0, op.value)
	return op
}

// pushHeapNow does so without a time.
func pushHeapNow(t *testing.T, i int) clockOp {
	op := pushTo(i, "/pprof?src=heap&op=server", false)
	op.value, op.isHeap = int64(100*(i+1)), true
	op.body = clockProfile(t, "alloc_space", "bytes", time.Time{}, 0, op.value)
	return op
}

// repeatPush repeats the first push of a client that got no answer.
func repeatPush(*testing.T, int) clockOp {
	return clockOp{do: func(c *clocked, _ *clockOp) { c.push(&c.ops[0]) }}
}

func ask(path string) clockOp { return clockOp{method: http.MethodGet, path: path} }

// askTotal asks for the sum of all rows with times of their own.
func askTotal(*testing.T, int) clockOp {
	return clockOp{do: func(c *clocked, op *clockOp) { c.checkTotal(op) }}
}

// askHeld asks for a sum, and for the same of its commit after a push.
func askHeld(t *testing.T, i int) clockOp {
	next := pushPprof(t, i)
	return clockOp{do: func(c *clocked, op *clockOp) {
		total, commit := c.total(op, "")
		if c.push(&next); commit != "" {
			if held, again := c.total(op, "&commit="+commit); again != "" && held != total {
				c.errorf("%s: commit %s has %d, and had %d", op.name, commit, held, total)
			}
		}
	}}
}

func askKinds(_ *testing.T, i int) clockOp {
	return ask([]string{"/api/v1/flame?t=cpu&from=-1h", "/arrow?type=cpu", "/pyroscope/labels", "/pprof?type=cpu&from=-1h", "/metrics"}[i/20%5])
}

func askAgain(_ *testing.T, i int) clockOp {
	return ask([]string{"/api/v1/profiles?t=cpu", "/api/v1/flame?t=cpu", "/pyroscope/render?query=cpu%7B%7D&from=now-1h&until=now", "/api/v1/services", "/api/v1/annotations"}[i/20%5])
}

func askRelative(_ *testing.T, i int) clockOp {
	return ask([]string{"/api/v1/top?t=cpu&from=-1h&to=now", "/api/v1/top?t=cpu&from=latest-1h", "/api/v1/timeline?t=cpu&from=-1h&to=now", "/readyz", "/api/v1/store"}[i/20%5])
}

// annotateOp adds an annotation at a time of its own.
func annotateOp(_ *testing.T, i int) clockOp {
	text := fmt.Sprint("mark ", i)
	body := fmt.Appendf(nil, `{"text":%q,"time":%q}`, text, opAt(i).Format(time.RFC3339))
	return clockOp{method: http.MethodPost, path: "/annotations", body: body, do: func(c *clocked, op *clockOp) {
		if status, _ := c.send(op); status == http.StatusOK {
			c.marks[text] = true
		}
	}}
}

func stepOp(*testing.T, int) clockOp {
	return clockOp{do: func(c *clocked, _ *clockOp) { c.stepRules() }}
}

func maintainOp(_ *testing.T, i int) clockOp {
	return clockOp{do: func(c *clocked, op *clockOp) {
		err := c.store.Maintain(c.t.Context())
		if i/20%3 == 2 && err == nil {
			err = c.store.Compact(c.t.Context())
		}
		if err != nil {
			c.errorf("%s: %v", op.name, err)
		}
	}}
}

// deleteOp deletes the rows of the Push before it.
func deleteOp(_ *testing.T, i int) clockOp {
	row := fmt.Sprint("i", i-8)
	path := "/delete?" + url.Values{"selector": {fmt.Sprintf("{op=%q}", row)}}.Encode()
	return clockOp{method: http.MethodPost, path: path, do: func(c *clocked, op *clockOp) {
		if status, text := c.send(op); status == http.StatusOK {
			_, c.deleted[row] = c.rows[row]
			delete(c.rows, row)
		} else {
			c.errorf("%s: status %d: %s", op.name, status, text)
		}
	}}
}

// askOlder reads older profiles, and asks about them.
func askOlder(*testing.T, int) clockOp {
	return clockOp{do: func(c *clocked, op *clockOp) {
		read := clockOp{name: op.name, method: http.MethodPost, path: madeRange + "/read"}
		c.send(&read)
		top := ask(madeRange + "/api/v1/top?t=cpu")
		top.name = op.name
		if status, text := c.send(&top); status == http.StatusOK && totalOf(text) != 3498 {
			c.errorf("%s: older profiles: %s", op.name, text)
		}
	}}
}

// askFiles opens a file, and asks about it.
func askFiles(t *testing.T, i int) clockOp {
	body, of := filesForm(t, sentPart{"file", "a.pb.gz", clockProfile(t, "cpu", "nanoseconds", opAt(i), 1e9, 5)})
	open := clockOp{method: http.MethodPost, path: "/view", headers: []string{"Content-Type", of}, body: body}
	return clockOp{do: func(c *clocked, op *clockOp) {
		open.name = op.name
		status, text := c.send(&open)
		if status != http.StatusOK {
			return
		}
		var answer openedAnswer
		if err := json.Unmarshal([]byte(text), &answer); err != nil {
			c.errorf("%s: %s", op.name, text)
		}
		path, _, _ := strings.Cut(answer.Path, "?")
		top := ask("/" + path + "api/v1/top?t=cpu")
		top.name = op.name
		if status, text := c.send(&top); status == http.StatusOK && totalOf(text) != 5 {
			c.errorf("%s: opened files: %s", op.name, text)
		}
	}}
}
