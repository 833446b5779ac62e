package iceberg

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"testing"
	"time"
)

var enginesPython = flag.String("engines.python", "", "TestUnion_Engines asks engines of this Python, which has what requirements.txt names")

// engines is a process of union.py.
type engines struct {
	requests io.WriteCloser
	answers  *bufio.Reader
	asked    map[string]int // by engine
}

// startEngines starts a process that ends with the test.
func startEngines(t *testing.T) *engines {
	t.Helper()
	cmd := exec.Command(*enginesPython, "union.py")
	cmd.Env = append(cmd.Environ(), "POLARS_ICEBERG_PLANNER=pyiceberg", "PYTHONDONTWRITEBYTECODE=1")
	var notes strings.Builder
	cmd.Stderr = &notes
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("union.py: %v\n%s", err, notes.String())
		}
	})
	return &engines{in, bufio.NewReader(out), map[string]int{}}
}

// ask returns the values of a query in an engine.
func (e *engines) ask(engine, query string) ([]int64, error) {
	if err := json.NewEncoder(e.requests).Encode(map[string]string{engine: query}); err != nil {
		return nil, err
	}
	line, err := e.answers.ReadBytes('\n')
	if err != nil {
		return nil, err
	}
	var answer struct {
		Values []int64
		Error  string
	}
	if err := json.Unmarshal(line, &answer); err != nil {
		return nil, err
	}
	switch {
	case strings.Contains(answer.Error, "HTTP Error 410") || strings.Contains(answer.Error, "HTTP status code: 410"): // of Python, of ClickHouse
		return nil, fmt.Errorf("%w: %s", ErrGone, answer.Error)
	case answer.Error != "":
		return nil, errors.New(answer.Error)
	}
	e.asked[engine]++
	return answer.Values, nil
}

// values asks the engines in turns for the values of all rows, by one state of the table and by its node's answer.
func (e *engines) values(l *Lake) ([]int64, error) {
	p, err := l.Pin(context.Background())
	if err != nil {
		return nil, err
	}
	hot := p.Nodes[0].Hot()
	if e.asked["clickhouse"] > e.asked["polars"] {
		frames := fmt.Sprintf("pl.read_ipc_stream(urllib.request.urlopen(%q).read()).lazy().select('value')", hot)
		if p.Snapshot != 0 {
			frames += ", " + p.Polars() + ".select('value')"
		}
		return e.ask("polars", "pl.concat(["+frames+"]).collect()")
	}
	query := fmt.Sprintf("SELECT value FROM url('%s', ArrowStream)", hot)
	if p.Snapshot != 0 {
		from, settings := p.ClickHouse()
		query = "SELECT value FROM " + from + " UNION ALL " + query + " " + settings
	}
	return e.ask("clickhouse", query)
}

// Invariant L2 holds for the queries of other engines.
func TestUnion_Engines(t *testing.T) {
	if *enginesPython == "" {
		t.Skip("engines are asked by compat/iceberg/run")
	}
	e := startEngines(t)
	checkUnionUnderLoad(t, e.values, 250*time.Millisecond)
	if t.Logf("questions: %v", e.asked); e.asked["clickhouse"] == 0 || e.asked["polars"] == 0 {
		t.Error("an engine was not asked")
	}
}
