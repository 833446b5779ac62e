// Command proof keeps the states of a thread, with the package history alone.
package main

import (
	"fmt"
	"log"

	"github.com/granarydb/granary/history"
)

func main() {
	if err := run(); err != nil {
		log.Fatal(err)
	}
}

func run() error {
	h, err := history.New(history.Options{})
	if err != nil {
		return err
	}
	draft, err := h.Begin()
	if err != nil {
		return err
	}
	defer draft.Abort()
	thread, err := draft.Attribute("threads", "1", "state")
	if err != nil {
		return err
	}
	for t, state := range []string{"waiting", "running", "waiting"} {
		if err := draft.Change(int64(10*t), thread, history.String(state)); err != nil {
			return err
		}
	}
	view, err := draft.Commit()
	if err != nil {
		return err
	}
	in, err := view.At(thread, 15)
	fmt.Println(in.Value.Text(), in.Start, in.End)
	return err
}
