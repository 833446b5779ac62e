package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"text/tabwriter"
	"time"

	"github.com/prometheus/procfs"

	"github.com/granarydb/granary/bench/programs"
	"github.com/granarydb/granary/bench/results"
)

// question is a question whose answers are compared.
type question struct {
	name, method, path string
	body               map[string]any // of a POST
}

const typeID = "process_cpu:cpu:nanoseconds:cpu:nanoseconds"

// questions are those of a page and of Grafana.
func questions() []question {
	page := func(name, path string, more url.Values) question {
		more.Set("t", "cpu")
		return question{name: name, method: http.MethodGet, path: "/api/v1/" + path + "?" + more.Encode()}
	}
	grafana := func(name, method string, body map[string]any) question {
		body["profile_typeID"], body["label_selector"] = typeID, "{}"
		body["start"], body["end"] = time.Now().Add(-2*time.Hour).UnixMilli(), time.Now().Add(time.Hour).UnixMilli()
		return question{name: name, method: http.MethodPost, path: "/querier.v1.QuerierService/" + method, body: body}
	}
	return []question{
		page("flame", "flame", url.Values{}),
		page("flame-job", "flame", url.Values{"q": {`{job="job-3"}`}}),
		page("top", "top", url.Values{"rows": {"100"}}),
		grafana("merge", "SelectMergeStacktraces", map[string]any{"max_nodes": 2048}),
		grafana("lines", "SelectSeries", map[string]any{"step": 15, "group_by": []string{"job"}}),
		{name: "heap", method: http.MethodGet, path: "/api/v1/top?rows=100&t=inuse_space"},
	}
}

// cost is what answers cost, in milliseconds.
type cost struct {
	Wall  results.Spread `json:"wall_ms"`
	CPU   results.Spread `json:"cpu_ms"`
	Asked results.Spread `json:"asked_cpu_ms"` // of the process that was asked
}

// figures are the costs of a question.
type figures struct {
	Question string  `json:"question"`
	Single   cost    `json:"single"`
	First    cost    `json:"first"` // of a front that has just started
	Warm     cost    `json:"warm"`
	Ratio    float64 `json:"ratio"` // wall time of the front's warm answers by the single node's
}

// report is the whole measurement.
type report struct {
	Machine   string    `json:"machine"`
	Nodes     int       `json:"nodes"`
	Rows      int       `json:"rows"`
	Questions []figures `json:"questions"`
}

func (o *options) measure(ctx context.Context, s *servers) (*report, error) {
	r := &report{Machine: results.Machine(), Nodes: o.nodes, Rows: o.rows}
	for _, q := range questions() {
		if o.only != "" && q.name != o.only {
			continue
		}
		fmt.Fprintln(os.Stderr, "front: ask", q.name)
		f, err := o.ask(ctx, s, &q)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", q.name, err)
		}
		r.Questions = append(r.Questions, *f)
	}
	return r, nil
}

// ask asks one question of the single node and of the front in turns.
func (o *options) ask(ctx context.Context, s *servers, q *question) (*figures, error) {
	var single, first, warm samples
	for range o.repeat + 1 { // the first turn warms up
		want, err := single.add(q, s.single, s.single)
		if err != nil {
			return nil, err
		}
		if err := s.restart(ctx); err != nil {
			return nil, err
		}
		all := append([]*programs.Server{s.front}, s.nodes...)
		for _, to := range []*samples{&first, &warm} {
			got, err := to.add(q, s.front, all...)
			if err != nil {
				return nil, err
			}
			if !bytes.Equal(got, want) {
				return nil, fmt.Errorf("the front's answer differs: %.300s, want %.300s", got, want)
			}
		}
	}
	f := &figures{Question: q.name, Single: single.cost(), First: first.cost(), Warm: warm.cost()}
	f.Ratio = f.Warm.Wall.Median / f.Single.Wall.Median
	return f, nil
}

// samples are the times of one question.
type samples struct{ wall, cpu, asked []float64 }

// add asks a server, and adds the wall time and the CPU time of all that answer. It returns the answer without its volatile fields.
func (s *samples) add(q *question, to *programs.Server, all ...*programs.Server) ([]byte, error) {
	before, err := cpuOf(all)
	if err != nil {
		return nil, err
	}
	own, err := cpuOf([]*programs.Server{to})
	if err != nil {
		return nil, err
	}
	start := time.Now()
	answer, err := q.send(to.URL)
	took := time.Since(start)
	if err != nil {
		return nil, err
	}
	after, err := cpuOf(all)
	if err != nil {
		return nil, err
	}
	ownAfter, err := cpuOf([]*programs.Server{to})
	if err != nil {
		return nil, err
	}
	s.asked = append(s.asked, 1000*(ownAfter-own))
	s.wall, s.cpu = append(s.wall, float64(took.Microseconds())/1000), append(s.cpu, 1000*(after-before))
	return canonical(answer)
}

// cost returns the cost without the first turn.
func (s *samples) cost() cost {
	return cost{results.SpreadOf(s.wall[1:]), results.SpreadOf(s.cpu[1:]), results.SpreadOf(s.asked[1:])}
}

// cpuOf returns the CPU time of processes, in seconds.
func cpuOf(all []*programs.Server) (sum float64, err error) {
	for _, p := range all {
		of, err := procfs.NewProc(p.PID())
		if err != nil {
			return 0, err
		}
		stat, err := of.Stat()
		if err != nil {
			return 0, err
		}
		sum += stat.CPUTime()
	}
	return sum, nil
}

// send returns a server's answer.
func (q *question) send(to string) ([]byte, error) {
	var body io.Reader
	if q.body != nil {
		data, err := json.Marshal(q.body)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(data)
	}
	req, err := http.NewRequest(q.method, to+q.path, body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %.500s", resp.Status, answer)
	}
	return answer, err
}

// print prints the medians.
func (r *report) print() {
	t := tabwriter.NewWriter(os.Stderr, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "question\tsingle ms\tCPU\tfirst ms\tCPU\tof the front\twarm ms\tCPU\tof the front\ttimes\t")
	for _, f := range r.Questions {
		fmt.Fprintf(t, "%s\t%.1f\t%.0f\t%.1f\t%.0f\t%.0f\t%.1f\t%.0f\t%.0f\t%.2f\t\n", f.Question, f.Single.Wall.Median, f.Single.CPU.Median,
			f.First.Wall.Median, f.First.CPU.Median, f.First.Asked.Median, f.Warm.Wall.Median, f.Warm.CPU.Median, f.Warm.Asked.Median, f.Ratio)
	}
	_ = t.Flush() // it is for people
}
