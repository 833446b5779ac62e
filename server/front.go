package server

import (
	"context"
	"net/http"

	"github.com/granarydb/granary/server/internal/fanout"
	"github.com/granarydb/granary/server/internal/fault"
	"github.com/granarydb/granary/server/internal/source"
	"github.com/granarydb/granary/server/internal/web"
)

// Nodes are the servers from whose profiles a front answers. No profile is on two of them.
type Nodes struct {
	// URLs are the nodes' addresses, such as http://granary-0:4040: http or https, without a user and a
	// query.
	URLs []string
	// PartialAnswers lets a front answer without nodes that are away, as long as one answers. Each
	// answer then has a header Granary-Warning for each missing node, and a profile also a comment.
	// Otherwise a node that is away is an error.
	PartialAnswers bool
	// Transport carries the requests to nodes. nil means a transport that trusts the system's
	// certificates. It must be safe for concurrent use.
	Transport http.RoundTripper
}

// ErrNode reports a front's node with an invalid address, or one that did not answer. The text names the
// node.
var ErrNode = fault.ErrNode

// NewFront returns a server without a store: it answers queries from the profiles of all nodes, and takes
// no pushes. Options.Profiles, DropLabels and Older are not used; Tokens.Node is sent to the nodes. The
// limits bound the front's answers and its reads from each node. Errors are ErrLimit for a negative limit,
// and ErrNode for an address that is invalid or repeated.
func NewFront(nodes Nodes, opts Options) (*Server, error) {
	opts.Older = nil
	s, err := newBare(opts, newMetrics(nil))
	if err != nil {
		return nil, err
	}
	const message = 100 // approximate bytes of a message in memory
	set, err := fanout.New(fanout.Nodes(nodes), fanout.Options{
		Answer: s.limits.ResultBytes, Memory: s.limits.QueryBytes, Time: s.limits.QueryTime, Queries: s.limits.Queries, Profile: s.limits.Profile,
		Registry: s.metrics.registry, Codec: web.ProtoCodec{Most: int(max(s.limits.QueryBytes/message, 1000))},
		Token: func() string { return s.tokens.Load().Node }, Warn: s.warn,
	})
	if err != nil {
		return nil, err
	}
	s.source = source.NewNodes(set)
	s.routes(nil)
	return s, nil
}

// warn adds a warning to the answer, and logs it.
func (s *Server) warn(ctx context.Context, err error) {
	source.Warn(ctx, err)
	s.opts.Log.WarnContext(ctx, "partial answer", "error", err)
}
