package iceberg

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var (
	nodesCount = flag.Int("nodes.count", 8, "the number of nodes of TestNodes")
	nodesSpan  = flag.Duration("nodes.span", 2*time.Second, "TestNodes commits a unit of each node within this time, and again")
)

// Nodes commit a unit each in every span, at a moment of their own, as those of Sealer do. Few attempts are lost, and each
// unit is in the table once.
func TestNodes(t *testing.T) {
	ctx := t.Context()
	l, config := openConfig(t)
	if err := l.Create(ctx, TableOptions{Labels: []string{"job"}}); err != nil {
		t.Fatal(err)
	}
	const spans = 2
	var attempts atomic.Int64
	var mu sync.Mutex
	var took []time.Duration // of commits
	seals, rng := map[string]int64{}, rand.New(rand.NewPCG(3, 9))
	var nodes sync.WaitGroup
	for i := range *nodesCount {
		id := fmt.Sprint("node-", i)
		seals[id] = spans
		own := openAs(t, config)
		if err := own.Register(ctx, id, ""); err != nil {
			t.Fatal(err)
		}
		own.catalog = &faulty{Catalog: own.catalog, commit: func(do func() error) error {
			attempts.Add(1)
			return do()
		}}
		var at [spans]time.Duration
		for span := range at {
			at[span] = time.Duration(span)**nodesSpan + time.Duration(rng.Int64N(int64(*nodesSpan)))
		}
		begun := time.Now()
		nodes.Go(func() {
			for seal, at := range at {
				time.Sleep(time.Until(begun.Add(at)))
				err := withUnit(id, int64(seal)+1, func(u Unit) error {
					files, err := own.Write(ctx, u)
					if err != nil {
						return err
					}
					start := time.Now()
					if done, err := own.Commit(context.WithoutCancel(ctx), files); err != nil || !done {
						return errors.Join(fmt.Errorf("committed: %v", done), err)
					}
					mu.Lock()
					defer mu.Unlock()
					took = append(took, time.Since(start))
					return nil
				})
				if err != nil {
					t.Errorf("%s, unit %d: %v", id, seal+1, err)
				}
			}
		})
	}
	nodes.Wait()
	if t.Failed() {
		return
	}
	checkUnits(t, l, seals)
	slices.Sort(took)
	units := int64(spans * *nodesCount)
	t.Logf("%d nodes, a unit each in %v, twice: %d of %d attempts lost; a commit takes %v, the slowest of 100 %v, the slowest %v",
		*nodesCount, *nodesSpan, attempts.Load()-units, attempts.Load(), took[len(took)/2], took[len(took)*99/100], took[len(took)-1])
	if *nodesCount > 50 && attempts.Load()*99 > units*100 {
		t.Error("more than 1 % of the attempts were lost")
	}
}
