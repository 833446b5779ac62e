package self_test

import (
	"context"
	"fmt"
	"log"
	"strings"
	"time"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/server/self"
)

// A program that profiles itself, and asks where its time went.
func Example() {
	store, err := columnstore.Open(columnstore.Options{MemoryBudget: 32 << 20})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- self.Profile(ctx, store, self.Options{Every: 500 * time.Millisecond}) }()

	sum = spin(600_000_000)

	stop()
	if err := <-done; err != nil {
		log.Fatal(err)
	}
	db, _ := profile.Open(store, profile.Options{}) // the table is there
	err = store.View(context.Background(), func(snap *columnstore.Snapshot) error {
		cpu, err := db.FindType(context.Background(), snap, "cpu")
		if err != nil {
			return err
		}
		stacks, err := db.Merge(context.Background(), snap, cpu, profile.Query{})
		if err != nil {
			return err
		}
		for _, f := range stacks.Top() {
			if f.Cum > stacks.Total/2 && strings.HasPrefix(f.Name, "github.com/granarydb/") && f.Flat > 0 {
				fmt.Println(f.Name)
			}
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: github.com/granarydb/granary/server/self_test.spin
}

var sum int

//go:noinline
func spin(n int) (x int) {
	for i := range n {
		x += i * x
	}
	return x
}

// A server that follows its goroutines too: what ran, and what waited for what, at any time.
func ExampleProfile_states() {
	store, err := columnstore.Open(columnstore.Options{MemoryBudget: 32 << 20})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	states, err := store.CreateHistory("goroutines", columnstore.HistoryOptions{})
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer stop()
	err = self.Profile(ctx, store, self.Options{
		Every:  200 * time.Millisecond,
		States: states,
		Notify: func(err error) { log.Print(err) },
	})
	if err != nil {
		log.Fatal(err)
	}
	err = store.View(context.Background(), func(snap *columnstore.Snapshot) error {
		view, err := snap.History(states)
		if err != nil {
			return err
		}
		gc, err := view.Lookup("GC")
		if err != nil {
			return err
		}
		in, err := view.At(gc, view.End())
		fmt.Println("the collector is off or marking:", !in.Value.IsNull())
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: the collector is off or marking: true
}
