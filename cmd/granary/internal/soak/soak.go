package soak

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// options are the settings of a run.
type options struct {
	dir     string
	seed    uint64
	lasts   time.Duration
	pause   time.Duration // between two things that are done to the server, at most
	memory  int64         // --memory-total of the server
	program string        // of the server
	env     []string      // of the server, for tests
	others  []string      // programs that some restarts start instead
	say     func(text string)
	log     io.Writer // takes the log of the server
}

// drain is the --drain of the server.
const drain = 5 * time.Second

// soaking is a run in progress.
type soaking struct {
	options
	server *server
	ledger *ledger
	watch  *watch
	client *http.Client
	checks int
}

// run soaks the directory and returns what was measured. The error is that of the start, or of the ledger; violations are in watch.
func (o *options) run(ctx context.Context) (s *soaking, err error) {
	l, err := openLedger(o.dir)
	if err != nil {
		return nil, err
	}
	s = &soaking{options: *o, ledger: l, watch: &watch{start: time.Now(), say: o.say}, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 8}}}
	defer s.client.CloseIdleConnections()
	s.server = &server{
		program: o.program, env: o.env, log: o.log, address: "127.0.0.1:0",
		args: []string{"--db", o.dir, "--sync", "each", "--memory-total", strconv.FormatInt(o.memory, 10), "--drain", drain.String(), "--past-limit", "90d", "--max-series", "1000000", "--max-query-time", "20s"},
	}
	if err := s.server.start(ctx); err != nil {
		return s, err
	}
	defer s.server.kill()
	if err := l.save(); err != nil { // the directory is there from now on
		return s, err
	}
	s.check(ctx) // what an earlier run left
	if err := s.load(ctx); err != nil {
		s.watch.fail("it does not start again: %v", err)
	} else {
		s.check(context.WithoutCancel(ctx))
		if err := s.server.end(syscall.SIGTERM, drain+5*time.Second); err != nil {
			s.watch.fail("%v", err)
		}
	}
	s.note()
	return s, l.save()
}

// load runs everything at once, until the time is over, a user interrupts, or the server does not start again, which is the error.
func (s *soaking) load(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.lasts)
	rng := func(n uint64) *rand.Rand { return rand.New(rand.NewPCG(s.seed, n)) }
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel()
	for n := range 3 {
		p := &pusher{rng: rng(uint64(n)), number: n, server: s.server, ledger: s.ledger, client: s.client}
		all.Go(func() { p.run(ctx) })
		a := &asker{rng: rng(10 + uint64(n)), server: s.server, client: s.client, watch: s.watch}
		all.Go(func() { a.run(ctx) })
	}
	for n := range 2 {
		a := &asker{rng: rng(20 + uint64(n)), server: s.server, client: s.client, watch: s.watch}
		all.Go(func() { a.trouble(ctx) })
	}
	all.Go(func() { s.measure(ctx) })
	return s.disturb(ctx, rng(30))
}

// disturb kills, ends and stops the server, and compares sums between, until ctx ends. The error is that of a start.
func (s *soaking) disturb(ctx context.Context, rng *rand.Rand) error {
	for {
		if sleep(ctx, time.Duration(rng.Int64N(int64(s.pause)))); ctx.Err() != nil {
			return nil
		}
		var err error
		switch rng.IntN(5) {
		case 0, 1:
			s.watch.did("kill")
			if err = s.server.end(syscall.SIGKILL, drain); err == nil {
				err = s.restart(ctx, rng)
			}
		case 2:
			s.watch.did("end")
			if err = s.server.end(syscall.SIGTERM, drain+5*time.Second); err == nil {
				err = s.restart(ctx, rng)
			}
		case 3:
			s.watch.did("stop")
			err = s.server.signal(stopSignal)
			sleep(ctx, time.Duration(rng.IntN(3000))*time.Millisecond)
			err = cmp.Or(err, s.server.signal(continueSignal))
		default:
			s.check(ctx)
		}
		if err != nil {
			s.watch.fail("%v", err)
			s.server.kill()
			if err := s.restart(ctx, rng); err != nil {
				return err
			}
		}
	}
}

// restart starts the server, or one of the other programs.
func (s *soaking) restart(ctx context.Context, rng *rand.Rand) error {
	s.server.program = s.program
	if len(s.others) > 0 && rng.IntN(2) == 0 {
		s.server.program = s.others[rng.IntN(len(s.others))]
	}
	return s.server.start(ctx)
}

// check compares the sums of the server with the ledger (K1). No push is in progress meanwhile.
func (s *soaking) check(ctx context.Context) {
	s.ledger.pushing.Lock()
	defer s.ledger.pushing.Unlock()
	a := &asker{server: s.server, client: s.client, watch: s.watch}
	for _, way := range ways {
		want := s.ledger.of(way.name)
		got, err := a.sum(ctx, way.name)
		for try := 0; err != nil && try < 20 && ctx.Err() == nil; try++ { // other questions have all places
			sleep(ctx, time.Second)
			got, err = a.sum(ctx, way.name)
		}
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			s.watch.fail("%v", err)
		case got < want.Acknowledged || got > want.Acknowledged+want.Perhaps:
			s.watch.fail("the sum of %s is %d, want %d and at most %d more", way.name, got, want.Acknowledged, want.Perhaps)
		}
	}
	s.checks++
}

// measureEvery is the time between measurements.
const measureEvery = 2 * time.Second

// measure measures until ctx ends, and holds the memory to its limit (K3).
func (s *soaking) measure(ctx context.Context) {
	for n := 0; ctx.Err() == nil; n++ {
		var p point
		p.rss, p.files = s.server.rss()
		p.heap, p.goroutines = s.metrics(ctx)
		p = s.watch.add(p)
		if most := s.memory + s.memory*15/100; p.rss > most {
			s.watch.fail("the server has %d MiB, at most %d", p.rss>>20, most>>20)
		}
		if n%15 == 0 {
			s.say(fmt.Sprintf("%s: %d MiB, %d goroutines, %d open files, 99 of 100 answers within %s", p.at.Round(time.Second), p.rss>>20, p.goroutines, p.files, p.slowest.Round(time.Millisecond)))
		}
		sleep(ctx, measureEvery)
	}
}

// metrics asks the server for its heap and its goroutines; 0 if it does not answer.
func (s *soaking) metrics(ctx context.Context) (heap int64, goroutines int) {
	ctx, cancel := context.WithTimeout(ctx, measureEvery)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.server.at("/metrics"), http.NoBody)
	if err != nil {
		return 0, 0
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return 0, 0
	}
	defer func() { _ = resp.Body.Close() }()
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		name, text, _ := strings.Cut(lines.Text(), " ")
		value, err := strconv.ParseFloat(text, 64)
		switch {
		case err != nil:
		case name == "go_memstats_heap_alloc_bytes":
			heap = int64(value)
		case name == "go_goroutines":
			goroutines = int(value)
		}
	}
	return heap, goroutines
}

// note adds the run to the ledger.
func (s *soaking) note() {
	r := finished{Seed: s.seed, Seconds: int64(time.Since(s.watch.start).Seconds()), Kills: s.watch.count("kill"), Ends: s.watch.count("end"), Checks: s.checks, Answers: s.watch.answers}
	for _, p := range s.watch.points {
		r.MaxRSS = max(r.MaxRSS, p.rss)
	}
	s.ledger.mu.Lock()
	defer s.ledger.mu.Unlock()
	s.ledger.Runs, s.ledger.Ran = append(s.ledger.Runs, r), s.ledger.Ran+r.Seconds
}

// sleep waits for a duration or the end of ctx.
func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }

// writeReport writes the picture of a run.
func (s *soaking) writeReport(name string) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	return cmp.Or(s.watch.draw(f), f.Close())
}
