package summary_test

import (
	"fmt"
	"log"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/history/summary"
)

// A thread runs in turns. The picture has two pixels of 50 instants.
func Example() {
	h, err := history.New(history.Options{})
	if err != nil {
		log.Fatal(err)
	}
	w, err := h.Begin()
	if err != nil {
		log.Fatal(err)
	}
	state, err := w.Attribute("thread 7", "state")
	if err != nil {
		log.Fatal(err)
	}
	queue, err := w.Attribute("queue", "length")
	if err != nil {
		log.Fatal(err)
	}
	for at := int64(0); at < 100; at += 10 {
		value := history.String("runs")
		if at%20 > 0 && at < 50 {
			value = history.String("waits")
		}
		if err := w.Change(at, state, value); err != nil {
			log.Fatal(err)
		}
		if err := w.Change(at, queue, history.Int(at/10)); err != nil {
			log.Fatal(err)
		}
	}
	if err := w.Close(99); err != nil {
		log.Fatal(err)
	}
	view, err := w.Commit()
	if err != nil {
		log.Fatal(err)
	}
	p, err := summary.Of(view)
	if err != nil {
		log.Fatal(err)
	}
	shares, err := p.Shares([]history.Attribute{state}, 0, 99, 2)
	if err != nil {
		log.Fatal(err)
	}
	for _, s := range shares.Attribute(0) {
		fmt.Println("pixel", s.First, shares.State(s.State), s.Time)
	}
	measures, err := p.Measures([]history.Attribute{queue}, 0, 99, 1)
	if err != nil {
		log.Fatal(err)
	}
	all := measures.Attribute(0)[0]
	mean, _ := all.Mean()
	fmt.Println("queue from", all.Min(), "to", all.Max(), "mean", mean)
	// Output:
	// pixel 0 "runs" 30
	// pixel 0 "waits" 20
	// pixel 1 "runs" 50
	// queue from 0 to 9 mean 4.5
}
