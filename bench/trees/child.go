package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

// childVariable is the environment variable with the task of a process that measures one
// store. The command starts itself for each store, set and repetition, so that no store
// inherits the heap of another.
const childVariable = "GRANARY_BENCH_TREES"

// task is what a child measures.
type task struct {
	Set, Peer     string
	Dir, Programs string
	Most          int64
	Enough        time.Duration
	Views         bool
}

// child does the task of this process, if it is a child: it prints figures.
func child(w io.Writer) (is bool, err error) {
	text, is := os.LookupEnv(childVariable)
	if !is {
		return false, nil
	}
	var t task
	if err := json.Unmarshal([]byte(text), &t); err != nil {
		return true, fmt.Errorf("task of a child: %w", err)
	}
	f, err := t.measure()
	if err != nil {
		return true, err
	}
	return true, json.NewEncoder(w).Encode(f)
}

func (t task) measure() (f figures, err error) {
	p, err := peerOf(t.Peer)
	if err != nil {
		return f, err
	}
	s, err := openSet(t.Set)
	if err != nil {
		return f, err
	}
	return s.measure(p, options{dir: t.Dir, programs: t.Programs, most: t.Most, enough: t.Enough, views: t.Views})
}

// start starts a child and reads its figures.
func (t task) start() (f figures, err error) {
	self, err := os.Executable()
	if err != nil {
		return f, fmt.Errorf("find this program: %w", err)
	}
	text, err := json.Marshal(t)
	if err != nil {
		return f, err
	}
	var failed bytes.Buffer
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), childVariable+"="+string(text))
	cmd.Stderr = &failed
	out, err := cmd.Output()
	if err != nil {
		return f, fmt.Errorf("%w: %s", err, bytes.TrimSpace(failed.Bytes()))
	}
	if err := json.Unmarshal(out, &f); err != nil {
		return f, fmt.Errorf("read its figures: %w", err)
	}
	return f, nil
}
