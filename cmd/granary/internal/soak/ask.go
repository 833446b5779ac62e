package soak

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// questions are those of a person, a dashboard and a script. Each has an answer.
var questions = []string{
	"/api/v1/top?t=cpu", "/api/v1/flame?t=cpu", "/api/v1/flame?t=cpu&q={way=\"push\"}&from=-10m", "/api/v1/profiles?t=cpu&from=-5m", "/api/v1/store",
	"/pyroscope/label-values?label=churn", "/pyroscope/labels", "/pyroscope/render?query=cpu{way=\"otlp\"}&from=now-1h&until=now", "/metrics", "/readyz", "/healthz",
	"/pprof?type=cpu&selector={zone=\"z1\"}&from=-10m", "/arrow?type=cpu&from=-1m",
}

// patient are questions that take long, or whose answers do.
var patient = []string{
	"/api/v1/top?t=cpu&q=" + url.QueryEscape(`{request=~"`+strings.Repeat(".{0,1000}", 200)+`b"}`),
	"/api/v1/top?t=cpu&q=" + url.QueryEscape(`{churn=~"(a|b|c|.*)*d"}`),
	"/arrow?type=cpu&form=plain", "/api/v1/flame?t=cpu&max_nodes=100000", "/pprof?type=cpu",
}

// asker asks until ctx ends.
type asker struct {
	rng    *rand.Rand
	server *server
	client *http.Client
	watch  *watch
}

func (a *asker) run(ctx context.Context) {
	for ctx.Err() == nil {
		path := questions[a.rng.IntN(len(questions))]
		start := time.Now()
		status, text, err := a.get(ctx, path)
		switch {
		case err != nil: // the server is killed meanwhile
		case status == http.StatusInternalServerError:
			a.watch.fail("%s: 500: %s", path, text)
		default:
			a.watch.took(time.Since(start))
		}
		sleep(ctx, time.Duration(a.rng.IntN(200))*time.Millisecond)
	}
}

// get asks, and returns the first bytes of the answer.
func (a *asker) get(ctx context.Context, path string) (status int, text string, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, a.server.at(path), http.NoBody)
	if err != nil {
		return 0, "", err
	}
	resp, err := a.client.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = resp.Body.Close() }()
	var head bytes.Buffer
	if _, err = io.CopyN(&head, resp.Body, 300); err == nil {
		_, err = io.Copy(io.Discard, resp.Body)
	}
	if err == io.EOF { //nolint:errorlint // of CopyN
		err = nil
	}
	return resp.StatusCode, head.String(), err
}

// trouble asks what takes long, reads nothing or slowly, and sends bombs, until ctx ends.
func (a *asker) trouble(ctx context.Context) {
	zeros := bomb()
	for ctx.Err() == nil {
		switch a.rng.IntN(4) {
		case 0:
			short, cancel := context.WithTimeout(ctx, time.Duration(a.rng.IntN(8000))*time.Millisecond)
			_, _, _ = a.get(short, patient[a.rng.IntN(len(patient))]) // it may be refused, or cut
			cancel()
		case 1, 2:
			a.unread(ctx, patient[a.rng.IntN(len(patient))])
		default:
			p := pusher{server: a.server, client: a.client}
			if r := p.send(ctx, "/pprof?bomb=1", "application/octet-stream", zeros); r == acknowledged {
				a.watch.fail("a bomb is taken for a profile")
			}
		}
		sleep(ctx, time.Duration(a.rng.IntN(500))*time.Millisecond)
	}
}

// unread asks, and reads a byte now and then for some seconds, or nothing.
func (a *asker) unread(ctx context.Context, path string) {
	conn, err := (&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, "tcp", strings.TrimPrefix(a.server.at(""), "http://"))
	if err != nil {
		return
	}
	defer func() { _ = conn.Close() }()
	if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path); err != nil {
		return
	}
	one := make([]byte, 1)
	for range a.rng.IntN(10) {
		if a.rng.IntN(2) == 0 {
			_ = conn.SetReadDeadline(time.Now().Add(time.Second))
			_, _ = conn.Read(one) // whatever comes
		}
		sleep(ctx, time.Second)
	}
}

// sum returns the sum of a protocol's values in the server. It asks for values over time, which take no memory for stacks.
func (a *asker) sum(ctx context.Context, way string) (total int64, err error) {
	const service = "/querier.v1.QuerierService/"
	ends := map[string]any{"start": time.Now().AddDate(0, 0, -100).UnixMilli(), "end": time.Now().AddDate(0, 0, 1).UnixMilli()}
	var types struct {
		ProfileTypes []struct {
			ID         string `json:"ID"`
			SampleType string `json:"sampleType"`
		} `json:"profileTypes"`
	}
	if err := a.call(ctx, service+"ProfileTypes", ends, &types); err != nil {
		return 0, err
	}
	for _, t := range types.ProfileTypes {
		if t.SampleType != "cpu" {
			continue
		}
		question := map[string]any{"profileTypeID": t.ID, "labelSelector": `{way="` + way + `"}`, "step": 1e7}
		maps.Copy(question, ends)
		var answer struct {
			Series []struct {
				Points []struct {
					Value float64 `json:"value"`
				} `json:"points"`
			} `json:"series"`
		}
		if err := a.call(ctx, service+"SelectSeries", question, &answer); err != nil {
			return 0, err
		}
		for _, s := range answer.Series {
			for _, p := range s.Points {
				total += int64(p.Value) // whole, and below 2^53
			}
		}
	}
	return total, nil
}

// call posts a question as JSON and reads the answer.
func (a *asker) call(ctx context.Context, path string, question, answer any) error {
	body, err := json.Marshal(question)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.server.at(path), bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := a.client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 300)) // what there is
		return fmt.Errorf("%s: %s: %s", path, resp.Status, text)
	}
	return json.NewDecoder(resp.Body).Decode(answer)
}
