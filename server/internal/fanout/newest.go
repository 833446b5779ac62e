package fanout

import (
	"context"
	"encoding/json"
	"time"
)

// Newest returns the newest profile's time on all nodes in Unix nanoseconds, or 0 if there is none.
func (s *Set) Newest(ctx context.Context) (newest int64, err error) {
	ask := []Question{{Path: "/api/v1/store", Media: "application/json"}}
	err = s.gather(ctx, s.nodes, 0.5, ask, func(i int, replies []reply) error {
		var of struct{ Newest string }
		if err := json.Unmarshal(replies[0].body, &of); err != nil {
			return s.nodes[i].away("a wrong answer: %v", err)
		}
		if of.Newest == "" {
			return nil
		}
		at, err := time.Parse(time.RFC3339Nano, of.Newest)
		if err != nil {
			return s.nodes[i].away("a wrong answer: %v", err)
		}
		newest = max(newest, at.UnixNano())
		return nil
	})
	return newest, err
}
