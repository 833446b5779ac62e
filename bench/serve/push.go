package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

// pushed is the contents of the acknowledged pushes, and their latencies in microseconds.
type pushed struct {
	profiles int
	rows     int64
	sums     map[string]int64 // by type
	took     []float64        // from the time of sending
	due      []float64        // from the due time
	failed   int              // number that was not acknowledged
	first    error            // error of the first failure
}

func (p *pushed) add(of *pushed) {
	p.profiles, p.rows, p.failed = p.profiles+of.profiles, p.rows+of.rows, p.failed+of.failed
	p.took, p.due = append(p.took, of.took...), append(p.due, of.due...)
	if p.sums == nil {
		p.sums = map[string]int64{}
	}
	for kind, sum := range of.sums {
		p.sums[kind] += sum
	}
	if p.first == nil {
		p.first = of.first
	}
}

// push pushes profiles to a URL until the context ends: each when it is due, or with -most as soon as a
// writer is free.
func (o *options) push(ctx context.Context, to string, f *files) *pushed {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: o.writers}}
	defer client.CloseIdleConnections()
	type turn struct {
		file *file
		due  time.Time
	}
	turns := make(chan turn, 100_000) // a queue, so that a slow server does not delay due pushes
	go func() {
		defer close(turns)
		each, due := o.every/time.Duration(len(f.scrapes[0])), time.Now()
		for n := 0; ; n++ {
			scrape := f.scrapes[n/len(f.scrapes[0])%len(f.scrapes)]
			if o.most {
				due = time.Now()
			} else if due = due.Add(each); time.Until(due) > 0 {
				time.Sleep(time.Until(due))
			}
			select {
			case turns <- turn{&scrape[n%len(scrape)], due}:
			case <-ctx.Done():
				return
			}
			for o.most && len(turns) > 0 && ctx.Err() == nil {
				time.Sleep(50 * time.Microsecond)
			}
		}
	}()
	var all pushed
	var lock sync.Mutex
	var wait sync.WaitGroup
	for range o.writers {
		wait.Go(func() {
			own := pushed{sums: map[string]int64{}}
			for t := range turns {
				if ctx.Err() != nil {
					continue
				}
				own.one(client, to, t.file, t.due)
			}
			lock.Lock()
			defer lock.Unlock()
			all.add(&own)
		})
	}
	wait.Wait()
	return &all
}

// one pushes a profile. It does not stop when the context ends, so that the outcome is known.
func (p *pushed) one(client *http.Client, to string, f *file, due time.Time) {
	start := time.Now()
	resp, err := client.Post(to+"?"+f.query, "application/octet-stream", bytes.NewReader(f.data))
	if err == nil {
		var text []byte
		text, err = io.ReadAll(io.LimitReader(resp.Body, 1000))
		_ = resp.Body.Close()
		if err == nil && resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusNoContent {
			err = fmt.Errorf("%s: %s", resp.Status, text)
		}
	}
	if err != nil {
		if p.failed++; p.first == nil {
			p.first = err
		}
		return
	}
	p.took = append(p.took, float64(time.Since(start).Microseconds()))
	p.due = append(p.due, float64(time.Since(due).Microseconds()))
	p.profiles++
	p.rows += int64(f.rows)
	p.sums[f.kind] += f.sum
}

// noop serves a handler that reads bodies and does nothing, and returns its URL.
func noop(ctx context.Context) (url string, end func(), err error) {
	l, err := listen(ctx)
	if err != nil {
		return "", nil, err
	}
	web := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
	})}
	done := make(chan struct{})
	go func() {
		_ = web.Serve(l)
		close(done)
	}()
	return "http://" + l.Addr().String(), func() { _ = web.Close(); <-done }, nil
}
