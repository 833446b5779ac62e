package debugfiles

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"
)

// ErrNotFound reports a build id that a debuginfod server does not know.
var ErrNotFound = errors.New("the server has no file of this build id")

const (
	// maxWanted bounds the build ids to fetch, and to remember as failed: they are what clients say.
	maxWanted = 1000
	// retryAfter is the time after which a build id that a server did not have is asked for again.
	retryAfter = time.Hour
)

// want adds a build id to those to fetch. The caller holds mu.
func (s *Finder) want(id string) {
	if s.opts.Debuginfod == "" || len(s.wanted) >= maxWanted || slices.Contains(s.wanted, id) {
		return
	}
	if at, failed := s.failed[id]; failed && s.opts.Now().Sub(at) < retryAfter {
		return
	}
	s.wanted = append(s.wanted, id)
}

// FetchWanted fetches one of the build ids that questions did not find, and reports whether there was one. The error is that
// of Fetch.
func (s *Finder) FetchWanted(ctx context.Context) (found bool, err error) {
	s.mu.Lock()
	if len(s.wanted) == 0 {
		s.mu.Unlock()
		return false, nil
	}
	id := s.wanted[0]
	s.wanted = s.wanted[1:]
	s.mu.Unlock()
	return true, s.Fetch(ctx, id)
}

// Fetch asks the debuginfod server for the debug information of a binary, or for the binary itself, and keeps it. Errors wrap
// ErrNotFound, ErrUnknown or ErrTooMuch, or are those of HTTP.
func (s *Finder) Fetch(ctx context.Context, buildID string) error {
	id, ok := cleanID(buildID)
	if !ok {
		return fmt.Errorf("%w: a build id is 8 to 128 hexadecimal digits", ErrUnknown)
	}
	ctx, cancel := context.WithTimeout(ctx, s.opts.FetchTime)
	defer cancel()
	err := s.fetch(ctx, id, "debuginfo")
	if errors.Is(err, ErrNotFound) {
		err = s.fetch(ctx, id, "executable")
	}
	if err == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.failed) >= maxWanted {
		clear(s.failed)
	}
	s.failed[id] = s.opts.Now()
	return fmt.Errorf("debuginfod: build id %s: %w", id, err)
}

func (s *Finder) fetch(ctx context.Context, id, what string) (err error) {
	at, err := url.JoinPath(s.opts.Debuginfod, "buildid", id, what)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return err
	}
	resp, err := s.opts.Client.Do(req)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	switch {
	case resp.StatusCode == http.StatusNotFound:
		return ErrNotFound
	case resp.StatusCode != http.StatusOK:
		return fmt.Errorf("the server answers %s", resp.Status)
	case resp.ContentLength > s.opts.FetchBytes:
		return fmt.Errorf("%w: %d bytes, at most %d", ErrTooMuch, resp.ContentLength, s.opts.FetchBytes)
	}
	_, err = s.add(resp.Body, s.opts.FetchBytes, id)
	return err
}
