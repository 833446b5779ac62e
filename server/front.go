package server

import (
	"context"
	"net/http"

	"github.com/granarydb/granary/server/internal/fanout"
	"github.com/granarydb/granary/server/internal/fault"
	"github.com/granarydb/granary/server/internal/source"
	"github.com/granarydb/granary/server/internal/web"
)

// Nodes are the servers whose profiles a front answers from. No profile is on two of them.
type Nodes struct {
	// URLs are the addresses of the nodes, such as http://granary-0:4040: http or https, without
	// a user and a query.
	URLs []string
	// PartialAnswers lets a front answer without the nodes that are away, as long as one answers.
	// Each answer then has a header Granary-Warning for each node that it lacks, and a profile
	// a comment as well. Otherwise a node that is away is an error.
	PartialAnswers bool
	// Transport carries the requests to nodes. nil means one that trusts the certificates that the
	// system trusts. It must be safe for concurrent use.
	Transport http.RoundTripper
}

// ErrNode reports a node of a front: an address that is none, or a node that did not answer. The text
// names the node.
var ErrNode = fault.ErrNode

// NewFront returns a server without a store: it answers questions from the profiles of all nodes, and
// takes no pushes. Of the options, Profiles, DropLabels and Older are not used; Tokens.Node is what nodes are
// sent. The limits bound an answer of the front, and what it reads of a node. Errors are ErrLimit
// for a negative limit, and ErrNode for an address that is none, or is there twice.
func NewFront(nodes Nodes, opts Options) (*Server, error) {
	opts.Older = nil
	s, err := newBare(opts, newMetrics(nil))
	if err != nil {
		return nil, err
	}
	const message = 100 // bytes that one takes in memory, about
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
