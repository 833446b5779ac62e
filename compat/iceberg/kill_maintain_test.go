package iceberg

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
)

// maintain compacts a table and expires its snapshots a number of times. It prints a line before the first time, and one after each.
func maintain(c Config, times int64) error {
	fmt.Println("begun")
	ctx := context.Background()
	l, err := openAnnounced(ctx, c, "")
	if err != nil {
		return err
	}
	defer l.Close()
	for i := range times {
		if _, err := l.Compact(ctx, small); err != nil {
			return err
		}
		if _, err := l.Expire(ctx, ExpireOptions{Keep: 20}); err != nil {
			return err
		}
		fmt.Println(i + 1)
	}
	return nil
}

// Invariant L9: two maintainers race beside nodes, without an election, and all are killed at random points. Each unit is there once with all of its
// rows.
func TestKill_Maintain(t *testing.T) {
	l, config := openConfig(t)
	if err := l.Create(context.Background(), TableOptions{}); err != nil {
		t.Fatal(err)
	}
	left := kills()
	config, s3 := withFaultyS3(t, config)
	var wg sync.WaitGroup
	var all []*victim
	for i := range 4 {
		v := &victim{config: config, node: fmt.Sprint("node-", i), keeps: i < 2, rng: rand.New(rand.NewPCG(*killSeed, uint64(200+i)))}
		all = append(all, v)
	}
	errs := make([]error, len(all))
	for i, v := range all {
		wg.Go(func() { errs[i] = v.run(left) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	kills, failed, units := map[bool]int{}, 0, int64(0)
	seals := map[string]int64{}
	for _, v := range all {
		kills[v.keeps], failed = kills[v.keeps]+v.kills, failed+v.failed
		if v.keeps {
			continue
		}
		seal, err := sealOf(l, v.node)
		if err != nil || seal < v.newest {
			t.Errorf("node %s: seal %d is committed, and %d was acknowledged, %v", v.node, seal, v.newest, err)
		}
		seals[v.node], units = seal, units+seal
	}
	lost := checkUnits(t, l, seals)
	files := len(filesOf(t, l))
	t.Logf("%d maintainers and %d nodes killed, %d units in %d files, %d files of others", kills[true], kills[false], units, files, lost)
	checkFaults(t, s3, failed)
	if files >= int(units) {
		t.Error("nothing was joined")
	}
	if *killTimes >= 100 && (kills[true] == 0 || lost == 0) {
		t.Error("no maintainer was killed, or none between a file and its commit")
	}
}
