package fanout

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/protobuf/proto"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/server/internal/fault"
	"github.com/granarydb/granary/server/internal/web"
)

// WarningHeader is the header of an answer that lacks a node, with the node's error.
const WarningHeader = "Granary-Warning"

// node is a queried server.
type node struct {
	url                       string // without a trailing slash
	requests, failed, missing prometheus.Counter
	seconds                   prometheus.Observer
	stalled                   atomic.Int64 // Unix nanoseconds until which a stalled node is not asked
}

// Question is a request to a node: a message for a procedure of Connect, a POST with a body, or a GET without either.
type Question struct {
	Path    string // with its query
	Message proto.Message
	Body    []byte // of a POST without a message
	Media   string // media type of the message and of the answer
	Kinds   bool   // the answer has its kinds
	Sources bool   // the answer has sums and numbers of times by source
}

// reply is a node's answer to a query.
type reply struct {
	body    []byte
	kinds   string
	sources bool
}

// nodeError reports a node without an answer. It is an ErrNode.
type nodeError struct{ url, why string }

func (e *nodeError) Error() string { return "node " + e.url + ": " + e.why }
func (e *nodeError) Unwrap() error { return fault.ErrNode }

// away returns a nodeError with a text of one line of ASCII.
func (n *node) away(format string, args ...any) error {
	const most = 500
	why := strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return ' '
		}
		return r
	}, fmt.Sprintf(format, args...))
	return &nodeError{n.url, why[:min(len(why), most)]}
}

// askAll asks all nodes concurrently, each node its questions one after the other. It returns each node's
// replies, or its error. It calls failed with each error as it comes, from several goroutines.
func (s *Set) askAll(ctx context.Context, nodes []*node, questions func(node int) []Question, failed func(error)) ([][]reply, []error) {
	replies, errs := make([][]reply, len(nodes)), make([]error, len(nodes))
	var asking sync.WaitGroup
	var room atomic.Int64 // for the answers of all nodes
	room.Store(s.opts.Memory)
	for i, n := range nodes {
		asking.Go(func() {
			for _, q := range questions(i) {
				r, err := s.ask(ctx, n, q, &room)
				if err != nil {
					errs[i] = err
					failed(err)
					return
				}
				replies[i] = append(replies[i], r)
			}
		})
	}
	asking.Wait()
	return replies, errs
}

// ask asks a node. The error comes from the context if it was cancelled, or is a refusal of the query, or
// a nodeError.
func (s *Set) ask(ctx context.Context, n *node, q Question, room *atomic.Int64) (reply, error) {
	start := time.Now()
	exchange := s.exchange
	if s.isPartial {
		exchange = s.exchangeAlive
	}
	r, err := exchange(ctx, n, q, room)
	if errors.Is(ctx.Err(), context.Canceled) && err != nil {
		return r, ctx.Err() // the query was cancelled, which is not the node's fault
	}
	n.requests.Inc()
	n.seconds.Observe(time.Since(start).Seconds())
	if errors.Is(ctx.Err(), context.DeadlineExceeded) && err != nil {
		err = n.away("no answer within %s", time.Since(start).Round(time.Millisecond))
	}
	if errors.Is(err, fault.ErrNode) {
		n.failed.Inc()
	}
	return r, err
}

// EmptyHeader is the header of a front's questions, which can have an answer without profiles: other nodes may have some.
const EmptyHeader = "Granary-Empty"

// AllowUTF8 is the parameter of a header Accept of clients that take names of labels with any characters.
const AllowUTF8 = "allow-utf8-labelnames=true"

// exchange sends a query and reads at most Options.Answer bytes of the answer, and only as much as room
// allows.
func (s *Set) exchange(ctx context.Context, n *node, q Question, room *atomic.Int64) (reply, error) {
	method, body := http.MethodGet, q.Body
	if body != nil {
		method = http.MethodPost
	}
	if q.Message != nil {
		method = http.MethodPost
		var err error
		if body, err = proto.Marshal(q.Message); err != nil {
			return reply{}, connect.NewError(connect.CodeInvalidArgument, err)
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, n.url+q.Path, bytes.NewReader(body))
	if err != nil {
		return reply{}, n.away("%v", err)
	}
	if body != nil {
		req.Header.Set("Content-Type", q.Media)
	}
	if q.Message != nil {
		req.Header.Set("Connect-Protocol-Version", "1")
		req.Header.Set("Accept", "*/*; "+AllowUTF8) // the front writes names as its client wants them
	}
	req.Header.Set(EmptyHeader, "1")
	if q.Kinds {
		req.Header.Set(KindsHeader, "ask")
	}
	if q.Sources {
		req.Header.Set(SourcesHeader, "ask")
	}
	if tenant := web.CallerOf(ctx).Tenant; tenant != "" {
		req.Header.Set(web.TenantHeader, tenant)
	}
	if token := s.opts.Token(); token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := s.client.Do(req)
	if err != nil {
		if u, ok := errors.AsType[*url.Error](err); ok { // the URL has the query, and is long
			err = u.Err
		}
		return reply{}, n.away("%v", err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		const enough = 64 << 10
		text, _ := io.ReadAll(io.LimitReader(resp.Body, enough)) // the status suffices without the text
		return reply{}, n.refusal(resp.StatusCode, text)
	}
	if media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); q.Media != "" && media != q.Media {
		return reply{}, n.away("an answer of type %s, want %s: is it a Granary?", strconv.QuoteToASCII(media), q.Media)
	}
	if warnings := resp.Header.Values(WarningHeader); len(warnings) > 0 {
		return reply{}, n.away("a partial answer: %s", strings.Join(warnings, "; "))
	}
	most := s.opts.Answer
	data, err := io.ReadAll(io.LimitReader(&roomReader{resp.Body, room}, most+1))
	switch {
	case errors.Is(err, columnstore.ErrQueryMemory):
		return reply{}, fmt.Errorf("%w: the answers of all nodes have more than %d bytes", err, s.opts.Memory)
	case int64(len(data)) > most:
		return reply{}, n.away("an answer of more than %d bytes", most)
	case err != nil:
		return reply{}, n.away("amid the answer: %v", err)
	}
	return reply{data, resp.Header.Get(KindsHeader), resp.Header.Get(SourcesHeader) != ""}, nil
}

// roomReader reads while there is room, and then returns columnstore.ErrQueryMemory.
type roomReader struct {
	of   io.Reader
	room *atomic.Int64
}

func (r *roomReader) Read(b []byte) (int, error) {
	n, err := r.of.Read(b)
	if r.room.Add(-int64(n)) < 0 {
		return 0, columnstore.ErrQueryMemory
	}
	return n, err
}

// refusal returns the error for a refused query. A fault of the query is passed on to the front's client,
// because every node would report it. Any other status counts as a node that is away.
func (n *node) refusal(status int, text []byte) error {
	var said struct {
		Code    connect.Code `json:"code"`
		Message string       `json:"message"`
	}
	if json.Unmarshal(text, &said) != nil {
		said.Message = strings.TrimSpace(string(text))
	}
	isQuestion := said.Code == connect.CodeInvalidArgument || said.Code == 0 && status == http.StatusBadRequest
	err := n.away("%d %s", status, said.Message)
	if status == http.StatusNotFound {
		err = n.away("%d %s: is it a Granary of this version?", status, said.Message)
	}
	switch {
	case isQuestion:
		return connect.NewError(connect.CodeInvalidArgument, errors.New(err.Error()))
	case said.Code == connect.CodeUnimplemented:
		return connect.NewError(connect.CodeUnimplemented, errors.New(err.Error()))
	}
	return err
}

// gather asks nodes for answers to questions, and calls use with each node's replies, one node after the
// other. A nodeError from use counts as an error of the node. The nodes have until a share of the
// context's time is left.
//
// The first error ends the requests to all nodes, and is returned. If answers may be partial, a nodeError
// is a warning instead, as long as one node answers.
func (s *Set) gather(ctx context.Context, nodes []*node, share float64, questions []Question, use func(int, []reply) error) error {
	return s.gatherEach(ctx, nodes, share, func(int) []Question { return questions }, use)
}

// timeLeft returns how much of a query's time is left.
func (s *Set) timeLeft(ctx context.Context) time.Duration {
	if until, ok := ctx.Deadline(); ok {
		return time.Until(until)
	}
	return s.opts.Time
}

// gatherEach is gather with questions for each node.
func (s *Set) gatherEach(ctx context.Context, nodes []*node, share float64, questions func(node int) []Question, use func(int, []reply) error) error {
	within, cancel := context.WithTimeout(ctx, time.Duration((1-share)*float64(s.timeLeft(ctx))))
	defer cancel()
	within, fail := context.WithCancelCause(within)
	defer fail(nil)
	replies, errs := s.askAll(within, nodes, questions, func(err error) {
		if !s.isPartial || !errors.Is(err, fault.ErrNode) {
			fail(err)
		}
	})
	if err := ctx.Err(); err != nil {
		return err
	}
	if cause := context.Cause(within); errors.Is(within.Err(), context.Canceled) {
		return cause
	}
	for i, n := range nodes {
		if errs[i] == nil {
			errs[i] = use(i, replies[i])
			replies[i] = nil // frees a reply, which is as large as the answer
			if errors.Is(errs[i], fault.ErrNode) {
				n.failed.Inc()
			}
		}
		if errs[i] != nil && (!s.isPartial || !errors.Is(errs[i], fault.ErrNode)) {
			return errs[i]
		}
	}
	if !slices.Contains(errs, nil) {
		return errors.Join(errs...)
	}
	for i, n := range nodes {
		if errs[i] != nil {
			n.missing.Inc()
			s.opts.Warn(ctx, errs[i])
		}
	}
	return nil
}
