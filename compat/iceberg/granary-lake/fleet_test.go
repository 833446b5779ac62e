package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/server"

	pprof "github.com/google/pprof/profile"
)

var (
	fleetNodes  = flag.Int("fleet.nodes", 3, "the `NUMBER` of nodes of TestFleet")
	fleetKills  = flag.Int("fleet.kills", 15, "the `NUMBER` of kills of TestFleet")
	fleetLosses = flag.Int("fleet.losses", 4, "the `NUMBER` of them that lose the directory too")
	fleetSeed   = flag.Uint64("fleet.seed", 1, "the `SEED` of what TestFleet kills when")
)

// fleet is nodes with --ack lake that are killed under pushes.
type fleet struct {
	t       *testing.T
	dir     string
	catalog []string
	nodes   []*fleetNode
}

// fleetNode is a node of a fleet, in one process after the other.
type fleetNode struct {
	fleet *fleet
	id    string
	args  []string
	db    string                 // the directory of the next process
	hangs *nodeProcess           // that the next one takes over from; nil for none
	url   atomic.Pointer[string] // nil while there is none
	stop  atomic.Bool            // no more pushes
	took  time.Duration          // by a start

	mu       sync.Mutex
	sent     map[string]bool // pushes by function: whether they were answered
	statuses map[int]int     // answers by status
	answers  int
	lost     int      // directories
	hung     int      // processes that another one took over from
	late     int      // pushes to these
	notes    []string // annotations that were answered
}

// fleetKill is when a process is killed, and what is lost with it.
type fleetKill struct {
	starting float64       // above 0: amid its start, in parts of the time of one
	answers  int           // above 0: after this number of answers
	within   time.Duration // otherwise after this time
	loses    bool          // the directory
	hangs    bool          // it is stopped instead, and goes on once another one has taken over
}

// Nodes with --ack lake are killed under pushes again and again, and some lose their directory. In the end each push that was answered is
// there once: for load, for a front, and for engines that read the table; and no other is there twice. Each answered annotation is there.
func TestFleet(t *testing.T) {
	effort.Slow(t)
	dir := t.TempDir()
	f := &fleet{t: t, dir: dir, catalog: catalogIn(dir)}
	command(t, 0, append([]string{"init", "--label", "job"}, f.catalog...)...)
	defer http.DefaultClient.CloseIdleConnections()
	start := time.Now()
	var living, pushing sync.WaitGroup
	last := make([]*nodeProcess, *fleetNodes)
	for i, plan := range fleetPlan(*fleetNodes) {
		n := f.newNode(i)
		living.Go(func() {
			last[i] = n.live(plan)
			n.stop.Store(true)
		})
		for range 3 {
			pushing.Go(n.push)
		}
		pushing.Go(n.annotate)
	}
	living.Wait()
	pushing.Wait()
	defer func() {
		for _, p := range last {
			p.kill()
		}
	}()
	if t.Failed() {
		return
	}
	took, all, answered, lost, hung, late := time.Since(start), 0, 0, 0, 0, 0
	for _, n := range f.nodes {
		all, answered, lost, hung, late = all+len(n.sent), answered+n.answers, lost+n.lost, hung+n.hung, late+n.late
		t.Logf("node %s: answers by status %v", n.id, n.statuses)
	}
	t.Logf("%d kills of %d nodes in %v, %d lost their directory, %d went on after another process took over, with %d pushes to them; %d pushes, %d answered",
		*fleetKills, *fleetNodes, took.Round(time.Second), lost, hung, late, all, answered)
	if answered < *fleetKills || lost != *fleetLosses {
		t.Errorf("%d pushes were answered, %d directories were lost", answered, lost)
	}
	f.check()
}

// fleetPlan returns the kills of each node.
func fleetPlan(nodes int) [][]fleetKill {
	rng := rand.New(rand.NewPCG(*fleetSeed, 0))
	loses := map[int]bool{}
	for _, i := range rng.Perm(*fleetKills)[:min(*fleetLosses, *fleetKills)] {
		loses[i] = true
	}
	plan, losses := make([][]fleetKill, nodes), 0
	for i := range *fleetKills {
		k := fleetKill{loses: loses[i]}
		if k.loses {
			losses++
			k.hangs = losses%2 == 0
		}
		switch kind := rng.IntN(4); {
		case kind == 0 && !k.hangs:
			k.starting = 0.01 + 1.2*rng.Float64()
		case kind == 1:
			k.within = time.Duration(rng.Int64N(int64(4 * time.Second)))
		default:
			k.answers = 1 + rng.IntN(60)
		}
		plan[i%nodes] = append(plan[i%nodes], k)
	}
	return plan
}

// newNode returns a node. The first one drops its units at once when the table has them.
func (f *fleet) newNode(i int) *fleetNode {
	n := &fleetNode{fleet: f, id: fmt.Sprint("node", i), sent: map[string]bool{}, statuses: map[int]int{}, took: 2 * time.Second}
	grace := "1h"
	if i == 0 {
		grace = "0s"
	}
	n.args = append([]string{
		"serve", "--node", n.id, "--listen", "127.0.0.1:0", "--ack", "lake", "--ack-every", "10ms", "--try", "--every", "500ms", "--seal-after", "1s", "--grace", grace,
	}, f.catalog...)
	n.db = n.newDB()
	f.nodes = append(f.nodes, n)
	return n
}

// newDB returns a directory that there is not yet.
func (n *fleetNode) newDB() string {
	return filepath.Join(n.fleet.dir, fmt.Sprintf("%s-%d", n.id, n.lost))
}

// live starts processes and kills them as planned, and returns a last one, which lives; nil after an error.
func (n *fleetNode) live(plan []fleetKill) *nodeProcess {
	for _, k := range plan {
		p := n.start()
		if p == nil {
			return nil
		}
		if k.starting > 0 {
			p.wait(time.Duration(k.starting * float64(n.took)))
		} else if !n.listens(p) || !n.awaitKill(p, k) {
			return nil
		}
		if !n.end(p, k) {
			return nil
		}
	}
	if p := n.start(); p != nil && n.listens(p) {
		return p
	}
	return nil
}

// listens waits until a process listens. One that hung goes on then, and answers no push.
func (n *fleetNode) listens(p *nodeProcess) bool {
	start := time.Now()
	url := regexp.MustCompile(`msg=listening url=(http://\S+)`)
	for p.isAlive() && time.Since(start) < effort.Patience {
		if m := url.FindStringSubmatch(p.notes.String()); m != nil {
			n.took = time.Since(start)
			p.url = m[1]
			n.outlive()
			n.url.Store(&p.url)
			return true
		}
		p.wait(5 * time.Millisecond)
	}
	n.fleet.t.Errorf("%s does not listen: %s", n.id, p.notes.String())
	p.kill()
	return false
}

// outlive lets a process go on that another one has taken over from.
func (n *fleetNode) outlive() {
	p := n.hangs
	if p == nil {
		return
	}
	n.hangs = nil
	p.signal(syscall.SIGCONT)
	for range 3 {
		if n.pushTo(p.url) == http.StatusOK {
			n.fleet.t.Errorf("%s answered a push after another process took over", n.id)
		}
		n.late++
	}
	p.kill()
}

// awaitKill waits until a process is to be killed.
func (n *fleetNode) awaitKill(p *nodeProcess, k fleetKill) bool {
	before := n.answered()
	if k.answers == 0 {
		p.wait(k.within)
		return true
	}
	for end := time.Now().Add(effort.Patience); p.isAlive() && time.Now().Before(end); time.Sleep(time.Millisecond) {
		if n.answered() >= before+k.answers {
			return true
		}
	}
	n.fleet.t.Errorf("%s answered %d pushes, want %d: %s", n.id, n.answered()-before, k.answers, p.notes.String())
	p.kill()
	return false
}

// end ends a process. It fails if that has ended by itself.
func (n *fleetNode) end(p *nodeProcess, k fleetKill) bool {
	n.url.Store(nil)
	if !p.isAlive() {
		n.fleet.t.Errorf("%s has ended: %s", n.id, p.notes.String())
		return false
	}
	if k.hangs {
		p.signal(syscall.SIGSTOP)
		n.hangs = p
		n.hung++
	} else {
		p.kill()
	}
	if k.loses {
		if err := os.RemoveAll(n.db); err != nil && !k.hangs {
			n.fleet.t.Error(err)
		}
		n.lost++
		n.db = n.newDB()
	}
	return true
}

// push pushes profiles to the node's processes.
func (n *fleetNode) push() {
	for !n.stop.Load() {
		url := n.url.Load()
		if url == nil || n.pushTo(*url) != http.StatusOK {
			time.Sleep(5 * time.Millisecond)
		}
	}
}

// pushTo pushes a profile of a function of its own, and returns the status of the answer; 0 for none. Each third one is of a range that
// has ended, so that it is sealed soon.
func (n *fleetNode) pushTo(url string) (status int) {
	name, at := n.next()
	resp, err := http.Post(url+"/pprof?job="+n.id, "application/octet-stream", bytes.NewReader(profileOf(n.fleet.t, name, at)))
	if err == nil {
		status = resp.StatusCode
		_ = resp.Body.Close()
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.statuses[status]++
	if status == http.StatusOK {
		n.sent[name] = true
		n.answers++
	}
	return status
}

// annotate adds annotations.
func (n *fleetNode) annotate() {
	for i := 0; !n.stop.Load(); i++ {
		if url := n.url.Load(); url != nil {
			text := fmt.Sprintf("%s.note%d", n.id, i)
			resp, err := http.Post(*url+"/annotations", "application/json", strings.NewReader(fmt.Sprintf(`{"text":%q}`, text)))
			if err == nil {
				_ = resp.Body.Close()
			}
			if err == nil && resp.StatusCode == http.StatusOK {
				n.notes = append(n.notes, text)
			}
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// next returns the name and the time of a push, which is not answered.
func (n *fleetNode) next() (name string, at time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	number := len(n.sent)
	name, at = fmt.Sprintf("%s.f%d", n.id, number), time.Now()
	n.sent[name] = false
	if number%3 == 0 {
		at = at.Add(-time.Hour)
	}
	return name, at
}

func (n *fleetNode) answered() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.answers
}

// nodeProcess is a process of a node.
type nodeProcess struct {
	cmd   *exec.Cmd
	url   string
	notes notebook
	ended chan struct{} // closed at its end
}

// start starts a process of the node in its directory. It returns nil after an error.
func (n *fleetNode) start() *nodeProcess {
	program, err := os.Executable()
	if err != nil {
		n.fleet.t.Error(err)
		return nil
	}
	p := &nodeProcess{cmd: exec.Command(program, append(n.args, "--db", n.db)...), ended: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), asCommand+"=1")
	p.cmd.Stderr = &p.notes
	if err := p.cmd.Start(); err != nil {
		n.fleet.t.Error(err)
		return nil
	}
	go func() {
		defer close(p.ended)
		_ = p.cmd.Wait() // it is killed
	}()
	return p
}

// wait waits for a time, or until the process has ended.
func (p *nodeProcess) wait(most time.Duration) {
	select {
	case <-p.ended:
	case <-time.After(most):
	}
}

func (p *nodeProcess) isAlive() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

func (p *nodeProcess) signal(s os.Signal) { _ = p.cmd.Process.Signal(s) } // it can have ended

// kill kills a process, which can be nil, and waits for its end.
func (p *nodeProcess) kill() {
	if p != nil {
		p.signal(syscall.SIGKILL)
		<-p.ended
	}
}

// check asks the nodes, which live, and the table.
func (f *fleet) check() {
	for _, n := range f.nodes {
		file, err := os.ReadFile(filepath.Join(n.db, "annotations.jsonl"))
		if err != nil {
			f.t.Error(err)
		}
		for _, text := range n.notes {
			if times := strings.Count(string(file), strconv.Quote(text)); times != 1 {
				f.t.Errorf("annotation %s is there %d times", text, times)
			}
		}
		f.t.Logf("%s: %d annotations", n.id, len(n.notes))
	}
	both := filepath.Join(f.dir, "both")
	f.compare("load", rowsOf(f.t, f.catalog, both), func(*fleetNode) bool { return true })
	f.compare("a front", f.ask(), func(n *fleetNode) bool { return n != f.nodes[0] }) // that one drops what the table has
	for _, n := range f.nodes {
		f.awaitSealed(n)
	}
	f.compare("a front, when all is sealed", f.ask(), func(n *fleetNode) bool { return n != f.nodes[0] })
	f.compareInEngines()
}

// rowsOf returns the sums by function of the table and of its nodes.
func rowsOf(t *testing.T, catalog []string, dir string) map[string]int64 {
	t.Helper()
	command(t, 0, append([]string{"load", "--db", dir, "--from", "now-1d"}, catalog...)...)
	return rowsByFunction(t, dir)
}

// compare checks that each answered push of chosen nodes is there once, and no push twice.
func (f *fleet) compare(who string, rows map[string]int64, isChosen func(*fleetNode) bool) {
	f.t.Helper()
	lost, twice, all := 0, 0, 0
	for _, n := range f.nodes {
		for name, isAnswered := range n.sent {
			if rows[name] > 1 {
				twice++
			}
			if isAnswered && rows[name] == 0 && isChosen(n) {
				lost++
			}
			if all += int(rows[name]); lost+twice == 1 && (rows[name] > 1 || isAnswered && rows[name] == 0) {
				f.t.Logf("%s: push %s is there %d times", who, name, rows[name])
			}
			delete(rows, name)
		}
	}
	f.t.Logf("%s: %d rows", who, all)
	if lost+twice+len(rows) > 0 {
		f.t.Errorf("%s: %d answered pushes are lost, %d are there twice, %d were never pushed", who, lost, twice, len(rows))
	}
}

// ask returns the sums by function of the answer of a front.
func (f *fleet) ask() map[string]int64 {
	var nodes server.Nodes
	for _, n := range f.nodes {
		nodes.URLs = append(nodes.URLs, *n.url.Load())
	}
	front, err := server.NewFront(nodes, server.Options{})
	if err != nil {
		f.t.Fatal(err)
	}
	at := httptest.NewServer(front)
	defer at.Close()
	code, text := fetch(f.t, http.MethodGet, at.URL+"/pprof?type=cpu", nil)
	if code != http.StatusOK {
		f.t.Fatalf("a front: %d %s", code, text)
	}
	merged, err := pprof.ParseData([]byte(text))
	if err != nil {
		f.t.Fatal(err)
	}
	rows := map[string]int64{}
	for _, s := range merged.Sample {
		rows[s.Location[0].Line[0].Function.Name] += s.Value[0]
	}
	return rows
}

// awaitSealed waits until the table has all rows of a node.
func (f *fleet) awaitSealed(n *fleetNode) {
	f.t.Helper()
	for end := time.Now().Add(2 * effort.Patience); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		_, text := fetch(f.t, http.MethodGet, *n.url.Load()+"/metrics", nil)
		if strings.Contains(text, "\ngranary_lake_oldest_unsealed_seconds 0\n") {
			return
		}
	}
	f.t.Errorf("%s: the table never has all rows", n.id)
}

// compareInEngines asks the engines of -engines.python for what the table has.
func (f *fleet) compareInEngines() {
	f.t.Helper()
	if *enginesPython == "" {
		return
	}
	all := struct {
		Catalog string          `json:"catalog"`
		Table   string          `json:"table"`
		S3      string          `json:"s3"`
		Pushes  map[string]bool `json:"pushes"`
	}{Catalog: cmp.Or(*restCatalog, filepath.Join(f.dir, "lake.db")), Table: "profiles.samples", S3: *s3Endpoint, Pushes: map[string]bool{}}
	for i, arg := range f.catalog {
		if arg == "--table" {
			all.Table = f.catalog[i+1]
		}
	}
	for _, n := range f.nodes {
		maps.Copy(all.Pushes, n.sent)
	}
	asked, err := json.Marshal(all)
	if err != nil {
		f.t.Fatal(err)
	}
	engines := exec.Command(*enginesPython, "../fleet.py")
	engines.Env, engines.Stdin = append(engines.Environ(), "POLARS_ICEBERG_PLANNER=pyiceberg", "PYTHONDONTWRITEBYTECODE=1"), bytes.NewReader(asked)
	text, err := engines.CombinedOutput()
	f.t.Logf("%s", text)
	if err != nil {
		f.t.Errorf("engines: %v", err)
	}
}
