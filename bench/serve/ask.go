package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"time"
)

func listen(ctx context.Context) (net.Listener, error) {
	var config net.ListenConfig
	return config.Listen(ctx, "tcp", "127.0.0.1:0")
}

// asked are the answered queries, by method, with their latencies in microseconds.
type asked struct {
	took   map[string][]float64
	failed int
	first  error
}

// call calls a method of the querier in JSON.
func call(client *http.Client, url, method string, request map[string]any, answer any) error {
	body, err := json.Marshal(request)
	if err != nil {
		return err
	}
	resp, err := client.Post(url+"/querier.v1.QuerierService/"+method, "application/json", bytes.NewReader(body))
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s: %s", method, resp.Status, data[:min(len(data), 500)])
	}
	return json.Unmarshal(data, answer)
}

// ask makes the queries of a Grafana page, about the last minutes, until the context ends.
func (o *options) ask(ctx context.Context, url string) *asked {
	client := &http.Client{}
	defer client.CloseIdleConnections()
	all := &asked{took: map[string][]float64{}}
	var lock sync.Mutex
	var wait sync.WaitGroup
	for i := range o.askers {
		wait.Go(func() {
			rng := rand.New(rand.NewPCG(1, uint64(i)))
			for ctx.Err() == nil {
				method, request := question(rng, time.Now())
				start := time.Now()
				err := call(client, url, method, request, &map[string]any{})
				took := float64(time.Since(start).Microseconds())
				lock.Lock()
				if all.took[method] = append(all.took[method], took); err != nil {
					if all.failed++; all.first == nil {
						all.first = err
					}
				}
				lock.Unlock()
				time.Sleep(100 * time.Millisecond)
			}
		})
	}
	wait.Wait()
	return all
}

// question returns a random query: usually a flame graph or a chart of a job.
func question(rng *rand.Rand, now time.Time) (method string, request map[string]any) {
	from, to := now.Add(-5*time.Minute).UnixMilli(), now.UnixMilli()
	of := map[string]any{
		"profile_typeID": "process_cpu:cpu:nanoseconds:cpu:nanoseconds", "label_selector": fmt.Sprintf(`{job="job-%d"}`, rng.IntN(25)),
		"start": from, "end": to,
	}
	switch n := rng.IntN(10); {
	case n < 4:
		return "SelectMergeStacktraces", of
	case n < 8:
		of["step"], of["group_by"] = 15, []string{"pod"}
		return "SelectSeries", of
	case n < 9:
		return "LabelValues", map[string]any{"name": "pod", "start": from, "end": to}
	default:
		return "ProfileTypes", map[string]any{"start": from, "end": to}
	}
}

// sum returns the sum of all values of a type.
func sum(url, kind string) (int64, error) {
	var answer struct {
		Series []struct {
			Points []struct {
				Value float64 `json:"value"` // exact up to 2^53
			} `json:"points"`
		} `json:"series"`
	}
	now := time.Now()
	request := map[string]any{
		"profile_typeID": kind, "start": now.Add(-24 * time.Hour).UnixMilli(), "end": now.Add(time.Hour).UnixMilli(), "step": 3600,
		"aggregation": "TIME_SERIES_AGGREGATION_TYPE_SUM",
	}
	if err := call(http.DefaultClient, url, "SelectSeries", request, &answer); err != nil {
		return 0, err
	}
	total := 0.0
	for _, line := range answer.Series {
		for _, p := range line.Points {
			total += p.Value
		}
	}
	return int64(total), nil
}
