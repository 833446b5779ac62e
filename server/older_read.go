package server

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"
)

// olderLine is a line of JSON about a reading of older profiles.
type olderLine struct {
	Read  int64  `json:"read"` // rows that were looked at
	Of    int64  `json:"of"`   // of these, at most; 0 while that is not known
	Done  bool   `json:"done,omitempty"`
	Error string `json:"error,omitempty"` // the reading has failed: the last line
}

// olderEvery is the time between two lines.
const olderEvery = 200 * time.Millisecond

// olderLines writes lines to a client.
type olderLines struct {
	s       *Server
	w       http.ResponseWriter
	told    time.Time
	isBegun bool
}

// readOlder answers POST /older/{range}/read: it reads the profiles of the range, unless they are kept, and says how far it
// is. If another request reads them, it waits for that one.
func (s *Server) readOlder(w http.ResponseWriter, r *http.Request) error {
	of, err := parseSpan(r.PathValue("range"))
	if err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, r.Body); err != nil { // its deadline ends with it
		return err
	}
	lines := &olderLines{s: s, w: w}
	_ = http.NewResponseController(w).SetWriteDeadline(time.Time{}) // a reading takes as long as it takes
	for {
		reading, isMine, err := s.older.begin(of)
		switch {
		case err != nil:
			return lines.end(r, nil, err)
		case isMine:
			return lines.end(r, reading, s.fill(r.Context(), reading, lines))
		}
		if err := lines.follow(r.Context(), reading); err != nil {
			return err // the client has gone
		}
		if !reading.isLeft { // else begin again
			return lines.end(r, reading, reading.err)
		}
	}
}

// fill reads the profiles of a reading. What was kept before goes first, so that the memory of both is not needed.
func (s *Server) fill(ctx context.Context, reading *olderReading, lines *olderLines) (err error) {
	var p *olderProfiles
	err = errOlderPanic
	defer func() {
		reading.isLeft = err != nil && ctx.Err() != nil
		s.older.end(reading, p, err)
	}()
	s.logClose(s.older.forget(0))
	p, err = s.makeOlder(ctx, reading, func() { lines.progress(reading) })
	return err
}

// errOlderPanic is what those who wait for a reading get if it panics.
var errOlderPanic = errors.New("older profiles: internal error")

// follow says how far the reading of another request is, until that ends.
func (l *olderLines) follow(ctx context.Context, reading *olderReading) error {
	tick := time.NewTicker(olderEvery)
	defer tick.Stop()
	for {
		select {
		case <-reading.ended:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
			l.progress(reading)
		}
	}
}

// progress says how far a reading is, if a while has passed.
func (l *olderLines) progress(reading *olderReading) {
	if time.Since(l.told) >= olderEvery {
		l.say(olderLine{Read: reading.read.Load(), Of: reading.of.Load()})
	}
}

// end says how a reading has ended. An error before the first line is that of the request.
func (l *olderLines) end(r *http.Request, reading *olderReading, err error) error {
	if err != nil && !l.isBegun {
		return err
	}
	last := olderLine{Done: err == nil}
	if reading != nil {
		last.Read, last.Of = reading.read.Load(), reading.of.Load()
	}
	if err != nil {
		last.Error = textOf(err)
		l.s.note(l.w, r, err)
	}
	l.say(last)
	return nil
}

// say writes a line. An error of it is that the client has gone, which ends the context of the request.
func (l *olderLines) say(line olderLine) {
	answer := http.NewResponseController(l.w)
	if !l.isBegun {
		l.isBegun = true
		l.w.Header().Set("Content-Type", "application/x-ndjson")
		l.w.Header().Set("Cache-Control", "no-store")
		l.w.Header().Set("X-Content-Type-Options", "nosniff")
	}
	l.told = time.Now()
	_ = answer.SetWriteDeadline(l.told.Add(l.s.limits.ReadTime))
	_ = json.NewEncoder(l.w).Encode(line)
	_ = answer.Flush()
	_ = answer.SetWriteDeadline(time.Time{}) // until the next line
}
