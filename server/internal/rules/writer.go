package rules

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/snappy"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/server/internal/question"
)

// Bounds of a Writer.
const (
	mostQueued   = 60       // requests that wait for the receiver: an hour of a minute each
	queuedBytes  = 32 << 20 // of them
	writeTime    = 10 * time.Second
	mostResponse = 300 // bytes of an error that are told
)

// Writer sends samples by Prometheus' remote write 1.0. It belongs to one goroutine.
type Writer struct {
	URL    string
	Token  func() string // a bearer token, or ""
	Client *http.Client

	queue   []*request
	bytes   int
	Dropped int // requests that were refused, or had no room while the receiver was away
}

type request struct{ body []byte }

// ErrWrite reports samples that could not be sent. They are kept for the next Write, unless the receiver refused them.
var ErrWrite = errors.New("remote write")

// Write sends samples of a time, after the samples of earlier calls that could not be sent. Receivers take the samples of a series in
// order, so one failure ends it.
func (w *Writer) Write(ctx context.Context, samples []Sample, at time.Time) error {
	if len(samples) > 0 {
		r := &request{snappy.Encode(nil, encode(samples, at.UnixMilli()))}
		w.queue, w.bytes = append(w.queue, r), w.bytes+len(r.body)
	}
	for len(w.queue) > mostQueued || w.bytes > queuedBytes && len(w.queue) > 1 {
		w.pop()
		w.Dropped++
	}
	var refused error
	for len(w.queue) > 0 {
		again, err := w.send(ctx, w.queue[0])
		if err != nil && again {
			return errors.Join(refused, err)
		}
		if err != nil {
			refused = err
			w.Dropped++
		}
		w.pop()
	}
	return refused
}

func (w *Writer) pop() {
	w.bytes -= len(w.queue[0].body)
	w.queue = slices.Delete(w.queue, 0, 1)
}

// send sends a request. It reports whether another try makes sense.
func (w *Writer) send(ctx context.Context, r *request) (again bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, writeTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.URL, bytes.NewReader(r.body))
	if err != nil {
		return false, fmt.Errorf("%w: %w", ErrWrite, err)
	}
	req.Header.Set("Content-Type", "application/x-protobuf")
	req.Header.Set("Content-Encoding", "snappy")
	req.Header.Set("X-Prometheus-Remote-Write-Version", "0.1.0")
	req.Header.Set("User-Agent", "granary")
	if token := w.Token(); token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := w.Client.Do(req)
	if err != nil {
		return true, fmt.Errorf("%w: %w", ErrWrite, err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode/100 == 2 {
		return false, nil
	}
	text, _ := io.ReadAll(io.LimitReader(resp.Body, mostResponse))
	err = fmt.Errorf("%w: %s: %s", ErrWrite, resp.Status, strings.TrimSpace(string(text)))
	return resp.StatusCode/100 == 5 || resp.StatusCode == http.StatusTooManyRequests, err
}

// Fields of the messages of remote write 1.0.
const (
	writeSeries    protowire.Number = 1
	seriesLabels   protowire.Number = 1
	seriesSamples  protowire.Number = 2
	seriesExemplar protowire.Number = 3
	labelKey       protowire.Number = 1
	labelValue     protowire.Number = 2
	sampleValue    protowire.Number = 1
	sampleTime     protowire.Number = 2
	exemplarLabel  protowire.Number = 1
	exemplarValue  protowire.Number = 2
	exemplarTime   protowire.Number = 3
)

// encode returns a WriteRequest. Labels of a series are sorted by name, as receivers want them.
func encode(samples []Sample, millis int64) (out []byte) {
	var series []byte
	for _, s := range samples {
		labels := append([]profile.Label{{Name: "__name__", Value: s.Name}}, s.Labels...)
		slices.SortFunc(labels, question.CompareLabel)
		series = series[:0]
		for _, l := range labels {
			series = appendMessage(series, seriesLabels, label(l))
		}
		series = appendMessage(series, seriesSamples, appendTime(appendDouble(nil, sampleValue, s.Value), sampleTime, millis))
		if s.Page != "" {
			exemplar := appendMessage(nil, exemplarLabel, label(profile.Label{Name: PageLabel, Value: s.Page}))
			exemplar = appendTime(appendDouble(exemplar, exemplarValue, s.Last), exemplarTime, s.At.UnixMilli())
			series = appendMessage(series, seriesExemplar, exemplar)
		}
		out = appendMessage(out, writeSeries, series)
	}
	return out
}

func appendMessage(to []byte, field protowire.Number, message []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(to, field, protowire.BytesType), message)
}

func appendDouble(to []byte, field protowire.Number, v float64) []byte {
	return protowire.AppendFixed64(protowire.AppendTag(to, field, protowire.Fixed64Type), math.Float64bits(v))
}

func appendTime(to []byte, field protowire.Number, millis int64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(to, field, protowire.VarintType), uint64(millis))
}

func label(l profile.Label) []byte {
	return protowire.AppendString(protowire.AppendTag(appendMessage(nil, labelKey, []byte(l.Name)), labelValue, protowire.BytesType), l.Value)
}
