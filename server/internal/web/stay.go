package web

import (
	"context"
	"net/http"

	"github.com/granarydb/granary/server/internal/fault"
)

// Stay is what a query keeps until its answer is written: a place among the queries, and memory for the encoded
// answer. It belongs to the goroutine of its request.
type Stay struct {
	grant Grant
	leave func() // gives the place back; nil without a place
}

// stayKey is the key of a request's context with its Stay.
type stayKey struct{}

// NewStay returns a context with a stay that takes memory from a room. The caller must end it.
func NewStay(ctx context.Context, room *Room) (context.Context, *Stay) {
	s := &Stay{grant: room.Grant()}
	return context.WithValue(ctx, stayKey{}, s), s
}

// StayOf returns the stay of a request, or an empty one.
func StayOf(ctx context.Context) *Stay {
	if s, ok := ctx.Value(stayKey{}).(*Stay); ok {
		return s
	}
	return new(Stay)
}

// HasPlace reports whether the query has a place already.
func (s *Stay) HasPlace() bool { return s.leave != nil }

// Keep keeps a place until the end. It returns false for an empty stay, which has no end.
func (s *Stay) Keep(leave func()) bool {
	if s.grant.room == nil {
		return false
	}
	s.leave = leave
	return true
}

// Take reserves memory for an answer.
func (s *Stay) Take(ctx context.Context, bytes int64) error { return s.grant.Take(ctx, bytes) }

// End gives the place and the memory back.
func (s *Stay) End() {
	s.grant.Release()
	if s.leave != nil {
		s.leave()
	}
}

// pieceBytes is the size of an answer's pieces in memory, and of a write that a client has to read in time.
const pieceBytes = 64 << 10

// Whole is an encoded answer in memory. It is kept whole because an answer beyond a limit must be an error, and not
// truncated, and in pieces because a buffer that doubles takes three times its bytes. It is an io.Writer.
type Whole struct {
	ctx    context.Context //nolint:containedctx // of the request, like the answer
	most   int64
	bytes  int64
	pieces [][]byte
}

// NewWhole returns an empty answer of at most `most` bytes, which takes memory from the stay of a query.
func NewWhole(ctx context.Context, most int64) *Whole { return &Whole{ctx: ctx, most: most} }

// Write implements io.Writer. Errors are those of the context, of Stay.Take and of the limit.
func (a *Whole) Write(b []byte) (int, error) {
	if err := a.ctx.Err(); err != nil {
		return 0, err
	}
	if a.bytes += int64(len(b)); a.bytes > a.most {
		return 0, fault.TooCostly("an answer of more than %d bytes", a.most)
	}
	for rest := b; len(rest) > 0; {
		last := len(a.pieces) - 1
		if last < 0 || len(a.pieces[last]) == cap(a.pieces[last]) {
			size := min(pieceBytes, max(512, int(a.bytes))) // an answer of one small piece is common
			if err := StayOf(a.ctx).Take(a.ctx, int64(size)); err != nil {
				return 0, err
			}
			a.pieces = append(a.pieces, make([]byte, 0, size))
			continue
		}
		piece := a.pieces[last]
		n := min(len(rest), cap(piece)-len(piece))
		a.pieces[last], rest = append(piece, rest[:n]...), rest[n:]
	}
	return len(b), nil
}

// Send writes the answer to its client. An error means that the client has gone, or is cut.
func (a *Whole) Send(w http.ResponseWriter) {
	for i, piece := range a.pieces {
		if _, err := w.Write(piece); err != nil {
			return
		}
		a.pieces[i] = nil
	}
}
