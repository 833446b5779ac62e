package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/granarydb/granary/bench/measure"
)

// childVariable is the environment variable with the task of a process that measures one
// store. The command starts itself for each store, set and repetition, so that no store
// inherits the heap of another.
const childVariable = "GRANARY_BENCH_TREES"

// task is what a child measures.
type task struct {
	Set, Peer string
	Options   options
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
	p, err := peerOf(t.Peer)
	if err != nil {
		return true, err
	}
	s, err := openSet(t.Set)
	if err != nil {
		return true, err
	}
	f, err := s.measure(p, t.Options)
	if err != nil {
		return true, err
	}
	return true, json.NewEncoder(w).Encode(f)
}

// start starts a child and reads its figures.
func (t task) start() (f figures, err error) {
	text, err := json.Marshal(t)
	if err == nil {
		err = measure.Again(childVariable, string(text), &f)
	}
	return f, err
}
