package soak

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	pprof "github.com/google/pprof/profile"
	"google.golang.org/protobuf/encoding/protowire"
)

// ways are the protocols, and how each sends a profile with labels.
var ways = []struct {
	name string
	make func(labels map[string]string, profile []byte) (path, contentType string, body []byte)
}{
	{"pprof", pprofPush},
	{"ingest", ingestPush},
	{"push", connectPush},
	{"otlp", otlpPush},
}

func pprofPush(labels map[string]string, profile []byte) (string, string, []byte) {
	q := url.Values{}
	for name, value := range labels {
		q.Set(name, value)
	}
	return "/pprof?" + q.Encode(), "application/octet-stream", profile
}

func ingestPush(labels map[string]string, profile []byte) (string, string, []byte) {
	var name strings.Builder
	name.WriteString("soak{")
	for i, label := range sortedKeys(labels) {
		if i > 0 {
			name.WriteByte(',')
		}
		fmt.Fprintf(&name, "%s=%s", label, labels[label])
	}
	name.WriteByte('}')
	return "/ingest?format=pprof&name=" + url.QueryEscape(name.String()), "application/octet-stream", profile
}

func connectPush(labels map[string]string, profile []byte) (string, string, []byte) {
	type pair struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	pairs := []pair{{"__name__", "process_cpu"}, {"service_name", "soak"}}
	for _, name := range sortedKeys(labels) {
		pairs = append(pairs, pair{name, labels[name]})
	}
	body, err := json.Marshal(map[string]any{"series": []any{map[string]any{
		"labels": pairs, "samples": []any{map[string]string{"rawProfile": base64.StdEncoding.EncodeToString(profile)}},
	}}})
	if err != nil {
		panic(err) // it has texts alone
	}
	return "/push.v1.PusherService/Push", "application/json", body
}

// otlpPush sends the profile as the original payload of one of OTLP.
func otlpPush(labels map[string]string, profile []byte) (string, string, []byte) {
	message := func(dst []byte, number protowire.Number, body []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(dst, number, protowire.BytesType), body)
	}
	var resource []byte
	for _, name := range sortedKeys(labels) {
		value := message(nil, 1, []byte(labels[name]))                                    // AnyValue.string_value
		resource = message(resource, 1, message(message(nil, 1, []byte(name)), 2, value)) // Resource.attributes
	}
	of := message(message(nil, 9, []byte("pprof")), 10, profile) // Profile.original_payload_format, original_payload
	scope := message(nil, 2, of)                                 // ScopeProfiles.profiles
	all := message(message(nil, 1, resource), 2, scope)          // ResourceProfiles.resource, scope_profiles
	return "/v1development/profiles", "application/x-protobuf", message(nil, 1, all)
}

// pusher sends profiles until ctx ends.
type pusher struct {
	rng    *rand.Rand
	number int
	server *server
	ledger *ledger
	client *http.Client
}

func (p *pusher) run(ctx context.Context) {
	for ctx.Err() == nil {
		p.ledger.pushing.RLock()
		p.push(ctx)
		p.ledger.pushing.RUnlock()
		sleep(ctx, time.Duration(p.rng.IntN(100))*time.Millisecond)
	}
}

// push sends one profile and notes the result.
func (p *pusher) push(ctx context.Context) {
	way := ways[p.rng.IntN(len(ways))]
	body, value := p.profile()
	labels := map[string]string{
		"way": way.name, "worker": strconv.Itoa(p.number), "zone": "z" + strconv.Itoa(p.rng.IntN(5)),
		"churn": time.Now().UTC().Format("150405")[:5], // a new series each ten seconds
	}
	path, contentType, data := way.make(labels, body)
	p.ledger.note(way.name, value, p.send(ctx, path, contentType, data))
}

// profile makes a profile of new and of known stacks. Some are of days ago, as those of a backfill.
func (p *pusher) profile() (gzipped []byte, sum int64) {
	cpu := &pprof.ValueType{Type: "cpu", Unit: "nanoseconds"}
	of := &pprof.Profile{SampleType: []*pprof.ValueType{cpu}, PeriodType: cpu, Period: 10_000_000, TimeNanos: time.Now().UnixNano(), DurationNanos: 1e9}
	if p.rng.IntN(10) == 0 {
		of.TimeNanos -= p.rng.Int64N(int64(30 * 24 * time.Hour))
	}
	functions := make([]*pprof.Location, 30)
	for i := range functions {
		name := fmt.Sprintf("soak.known%d", i)
		if p.rng.IntN(20) == 0 {
			name = fmt.Sprintf("soak.new%d", p.rng.Uint64())
		}
		f := &pprof.Function{ID: uint64(i + 1), Name: name, Filename: "soak.go"}
		functions[i] = &pprof.Location{ID: f.ID, Line: []pprof.Line{{Function: f, Line: int64(p.rng.IntN(100))}}}
		of.Function, of.Location = append(of.Function, f), append(of.Location, functions[i])
	}
	for range 1 + p.rng.IntN(200) {
		s := &pprof.Sample{Value: []int64{1 + p.rng.Int64N(1e6)}}
		for range 1 + p.rng.IntN(12) {
			s.Location = append(s.Location, functions[p.rng.IntN(len(functions))])
		}
		if p.rng.IntN(4) == 0 {
			s.Label = map[string][]string{"request": {strconv.FormatUint(p.rng.Uint64(), 36)}}
		}
		sum += s.Value[0]
		of.Sample = append(of.Sample, s)
	}
	var out bytes.Buffer
	if err := of.Write(&out); err != nil {
		panic(err) // it is valid, and the buffer takes all
	}
	return out.Bytes(), sum
}

// send posts a body, and tells what came of it.
func (p *pusher) send(ctx context.Context, path, contentType string, body []byte) result {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute) // the end of a run cuts no push
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.server.at(path), bytes.NewReader(body))
	if err != nil {
		return refused
	}
	req.Header.Set("Content-Type", contentType)
	resp, err := p.client.Do(req)
	switch {
	case errors.Is(err, syscall.ECONNREFUSED): // between two processes
		return refused
	case err != nil:
		return perhaps
	}
	defer func() { _ = resp.Body.Close() }()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return perhaps
	}
	switch resp.StatusCode / 100 {
	case 2:
		return acknowledged
	case 4:
		return refused
	}
	return perhaps
}

// bomb is a small body that is large when it is decompressed.
func bomb() []byte {
	var out bytes.Buffer
	z, _ := gzip.NewWriterLevel(&out, gzip.BestCompression) // the level is one
	zeros := make([]byte, 1<<20)
	for range 512 {
		_, _ = z.Write(zeros) // the buffer takes all
	}
	_ = z.Close()
	return out.Bytes()
}
