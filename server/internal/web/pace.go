package web

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/granarydb/granary/server/internal/fault"
)

// pace is how fast a client has to read, because one that does not read keeps its query's place and memory. Each piece
// has to be read within the grace, and all of them within that and their time at the least rate. The time in which an
// answer is made does not count.
type pace struct {
	grace  func() time.Duration // at present
	rate   int64                // bytes a second
	end    time.Time
	sent   int64
	waited time.Duration
	isSlow bool // a write failed for it
}

// Pace lets writes to a client fail that reads nothing for a grace, or fewer than rate bytes a second beyond it, or not
// until end.
func (r *Recorder) Pace(grace func() time.Duration, rate int64, end time.Time) {
	r.pace = &pace{grace: grace, rate: rate, end: end}
}

// EndPace sends what is left of a large answer, and removes the deadline, which belongs to the connection. It returns an
// error if the client was cut because it was too slow. Later writes have no deadline.
func (r *Recorder) EndPace() error {
	p := r.pace
	if p == nil {
		return nil
	}
	const buffered = 2 << 10 // by net/http, which then sends the answer's length
	if r.Bytes > buffered && !p.isSlow {
		r.Flush()
	}
	r.pace = nil
	_ = http.NewResponseController(r.ResponseWriter).SetWriteDeadline(time.Time{}) // errors come from servers without deadlines
	if !p.isSlow {
		return nil
	}
	return &fault.LimitError{Status: http.StatusRequestTimeout, Text: fmt.Sprintf("limit: a client that reads less than %d bytes a second, cut after %d bytes", p.rate, r.Bytes)}
}

// timed does a write with its deadline.
func (p *pace) timed(w http.ResponseWriter, write func() (int, error)) (int, error) {
	start := time.Now()
	ahead := time.Duration(float64(p.sent)/float64(p.rate)*float64(time.Second)) - p.waited // of the least rate
	deadline := start.Add(p.grace() + min(0, ahead))
	if deadline.After(p.end) {
		deadline = p.end
	}
	_ = http.NewResponseController(w).SetWriteDeadline(deadline)
	n, err := write()
	p.sent += int64(n)
	p.waited += time.Since(start)
	p.isSlow = p.isSlow || err != nil && (errors.Is(err, os.ErrDeadlineExceeded) || time.Now().After(deadline))
	return n, err
}
