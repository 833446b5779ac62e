package fanout

import (
	"cmp"
	"context"
	"slices"

	"google.golang.org/protobuf/proto"
)

// ProtoMedia is the media type of a message of Connect.
const ProtoMedia = "application/proto"

// askTyped asks all nodes a query, and maybe more, as gather does. It calls use with each answer to the
// first query.
func askTyped[M any, P interface {
	*M
	proto.Message
}](ctx context.Context, s *Set, share float64, q Question, use func(*node, P, []reply) error, more ...Question) error {
	q.Media = ProtoMedia
	return s.gather(ctx, s.nodes, share, append([]Question{q}, more...), func(i int, replies []reply) error {
		n, answer := s.nodes[i], P(new(M))
		if err := s.opts.Codec.Unmarshal(replies[0].body, answer); err != nil {
			return n.away("a wrong answer: %v", err)
		}
		return use(n, answer, replies)
	})
}

// Union asks all nodes a query whose answer is a list. It returns the distinct elements in all lists,
// sorted by key.
func Union[T, M any, P interface {
	*M
	proto.Message
}](ctx context.Context, s *Set, procedure string, m proto.Message, list func(P) []T, key func(T) string) ([]T, error) {
	type keyed struct {
		key  string
		item T
	}
	var all []keyed
	known := map[string]bool{}
	err := askTyped(ctx, s, 0.25, Question{Path: procedure, Message: m}, func(_ *node, answer P, _ []reply) error {
		for _, item := range list(answer) {
			if k := key(item); !known[k] {
				known[k] = true
				all = append(all, keyed{k, item})
			}
		}
		return nil
	})
	slices.SortFunc(all, func(a, b keyed) int { return cmp.Compare(a.key, b.key) })
	items := make([]T, len(all))
	for i, k := range all {
		items[i] = k.item
	}
	return items, err
}
