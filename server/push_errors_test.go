package server

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/server/internal/push"
)

// lockedBuffer is a log that requests write to.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// framed returns a message in the frame of gRPC, whose length can be wrong.
func framed(flags byte, length uint32, message string) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{flags}, length), message...)
}

// TestConnect_Refusals counts and logs what Connect's library refuses in each protocol before a method is called,
// although the status can be 200, and what methods refuse.
func TestConnect_Refusals(t *testing.T) {
	const ask, unimplemented = "/querier.v1.QuerierService/ProfileTypes", "/vcs.v1.VCSService/GithubApp"
	type refusal struct {
		name, path, contentType string
		body                    []byte
		handler, cause, text    string
	}
	var all []refusal
	for _, of := range []struct{ path, handler string }{{pushPath, "push"}, {push.OTLPProcedure, "otlp grpc"}, {ask, "querier"}} {
		for name, frame := range map[string][]byte{
			"short head":    {0, 0},
			"cut message":   framed(0, 100, "abc"),
			"long message":  framed(0, 0xffffffff, "abc"),
			"no message":    nil,
			"bad message":   framed(0, 3, "\xff\xff\xff"),
			"bad gzip":      framed(1, 3, "abc"),
			"bad flags":     framed(0x40, 1, "a"),
			"second frame":  append(framed(0, 0, ""), framed(0, 0, "")...),
			"end of stream": framed(0x80, 0, ""),
		} {
			for _, contentType := range []string{"application/grpc", "application/grpc-web"} {
				all = append(all, refusal{contentType + " " + name, of.path, contentType, frame, of.handler, "invalid", of.path})
			}
		}
		all = append(all,
			refusal{"bad JSON", of.path, "application/json", []byte("{"), of.handler, "invalid", "unmarshal"},
			refusal{"bad protobuf", of.path, "application/proto", []byte{0xff}, of.handler, "invalid", "unmarshal"},
			refusal{"content type", of.path, "text/html", nil, of.handler, "invalid", "status 415"})
	}
	for _, contentType := range []string{"application/json", "application/proto", "application/grpc", "application/grpc-web"} {
		body := map[bool][]byte{true: framed(0, 0, ""), false: []byte("{}")}[strings.Contains(contentType, "grpc")]
		if contentType == "application/proto" {
			body = nil
		}
		all = append(all, refusal{"method", unimplemented, contentType, body, "vcs.v1.VCSService", "unimplemented", "GithubApp"})
	}
	all = append(all,
		refusal{"no method of the service", "/querier.v1.QuerierService/Nope", "application/json", nil, "querier", "invalid", "Nope"},
		refusal{"no method of Push", "/push.v1.PusherService/Pull", "application/grpc-web", nil, "none", "invalid", "Pull"},
		refusal{"no path", "/nothing", "", nil, "none", "invalid", "nothing"},
	)
	log := &lockedBuffer{}
	r := newReceiver(t, Options{Log: slog.New(slog.NewTextHandler(log, nil))}, columnstore.Options{})
	counts := map[string]int{}
	for _, tt := range all {
		before := log.String()
		req := r.request(http.MethodPost, tt.path, tt.body, "Content-Type", tt.contentType)
		client := r.http
		if tt.contentType == "application/grpc" {
			client = r.h2c
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatalf("%s %s: %v", tt.handler, tt.name, err)
		}
		_ = resp.Body.Close()
		counts[fmt.Sprintf("granary_http_failures_total{cause=%q,handler=%q}", tt.cause, tt.handler)]++
		r.wait() // the answer is sent before it is counted
		if added := log.String()[len(before):]; strings.Count(added, "\n") != 1 || !strings.Contains(added, tt.text) {
			t.Errorf("%s %s: the log has %q", tt.handler, tt.name, added)
		}
	}
	for name, n := range counts {
		r.wantMetrics(fmt.Sprint(name, " ", n))
	}
	if len(all) < 60 {
		t.Errorf("%d refusals", len(all))
	}
	if r.rows() != 0 {
		t.Errorf("%d rows", r.rows())
	}
}
