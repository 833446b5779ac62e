package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/granarydb/granary/bench/fleet"
	"github.com/granarydb/granary/bench/programs"
)

// servers are the processes of a measurement.
type servers struct {
	dir     string // of the command and the directories
	command string
	log     io.Writer
	flags   []string // of a front: its nodes

	single *programs.Server
	nodes  []*programs.Server
	front  *programs.Server
}

// begin starts the servers, and pushes the profiles to them.
func (o *options) begin(ctx context.Context) (*servers, error) {
	dir, err := os.MkdirTemp("", "granary-front-")
	if err != nil {
		return nil, err
	}
	s := &servers{dir: dir, log: io.Discard}
	if o.verbose {
		s.log = os.Stderr
	}
	fmt.Fprintln(os.Stderr, "front: build the command")
	if s.command, err = programs.BuildGranary(ctx, dir); err != nil {
		return s, err
	}
	serve := func(name string) (*programs.Server, error) {
		return programs.Serve(ctx, s.command, s.log, "--db", filepath.Join(dir, name), "--memory", "1GiB", "--memory-total", "4GiB", "--sync", "never")
	}
	if s.single, err = serve("single"); err != nil {
		return s, err
	}
	for i := range o.nodes {
		n, err := serve("node-" + strconv.Itoa(i))
		if err != nil {
			return s, err
		}
		s.nodes = append(s.nodes, n)
		s.flags = append(s.flags, "--query-from", n.URL)
	}
	return s, s.push(o.rows)
}

// push pushes each profile to the single node and to the node of its pod, until there are `rows` rows.
func (s *servers) push(rows int) error {
	fmt.Fprintln(os.Stderr, "front: push the profiles")
	f := fleet.New(fleet.Seed)
	from := time.Now().Add(-time.Hour).Truncate(time.Minute)
	for n := 0; rows > 0; n++ {
		b := f.Profile(n, from)
		file, err := fleet.NewPprofFile(b)
		if err != nil {
			return err
		}
		rows -= b.Rows
		at := url.Values{"time": {strconv.FormatInt(from.Unix()+int64(f.Place(n).Scrape)*10, 10)}}
		for name, value := range file.Labels() {
			at.Set(name, value)
		}
		pod := n / 4 % (fleet.Series / 4)
		for _, to := range []*programs.Server{s.single, s.nodes[pod%len(s.nodes)]} {
			if err := post(to.URL+"/pprof?"+at.Encode(), file.Data()); err != nil {
				return err
			}
		}
	}
	return nil
}

func post(to string, data []byte) error {
	resp, err := http.Post(to, "application/octet-stream", bytes.NewReader(data))
	if err != nil {
		return err
	}
	text, err := io.ReadAll(resp.Body)
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusNoContent {
		return fmt.Errorf("push: %s: %s", resp.Status, text)
	}
	return nil
}

// restart starts the front anew, so that it knows nothing of its nodes.
func (s *servers) restart(ctx context.Context) (err error) {
	if s.front != nil {
		if err := s.front.End(); err != nil {
			return err
		}
		s.front = nil
	}
	s.front, err = programs.Serve(ctx, s.command, s.log, append([]string{"--memory-total", "4GiB"}, s.flags...)...)
	return err
}

// end ends the servers, and removes their directories.
func (s *servers) end() error {
	var errs []error
	for _, p := range append([]*programs.Server{s.front, s.single}, s.nodes...) {
		if p != nil {
			errs = append(errs, p.End())
		}
	}
	return errors.Join(append(errs, os.RemoveAll(s.dir))...)
}
