package iceberg

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
)

// hotURL returns the URL of a node's rows behind its seal that can be chosen.
func (in *loading) hotURL(n Node) string {
	var selector []string
	for name, value := range in.opts.Labels {
		selector = append(selector, fmt.Sprintf("%q=%q", name, value))
	}
	slices.Sort(selector)
	more := url.Values{} // a node filters by these times; chosen checks everything
	if in.opts.From > 0 {
		more.Set("from", time.Unix(0, in.opts.From).UTC().Format(time.RFC3339Nano))
	}
	if to := time.Unix(0, in.opts.To).UTC(); in.opts.To > 0 && to.Year() < 2262 {
		more.Set("to", to.Format(time.RFC3339Nano))
	}
	if len(selector) > 0 {
		more.Set("selector", "{"+strings.Join(selector, ",")+"}")
	}
	return n.Hot() + "&" + more.Encode()
}

// node takes a node's rows behind its seal.
func (in *loading) node(ctx context.Context, n Node) error {
	ctx, stalled := context.WithCancelCause(ctx)
	defer stalled(nil)
	silence := time.AfterFunc(mostSilence, func() { stalled(fmt.Errorf("no answer within %v", mostSilence)) })
	defer silence.Stop()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, in.hotURL(n), nil)
	if err != nil {
		return err
	}
	if in.opts.Token != "" {
		req.Header.Set("Authorization", "Bearer "+in.opts.Token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return errors.Join(context.Cause(ctx), err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 1000))
		err := fmt.Errorf("status %d: %s", resp.StatusCode, strings.TrimSpace(string(text)))
		if resp.StatusCode == http.StatusGone {
			err = fmt.Errorf("%w: %w", ErrGone, err)
		}
		return err
	}
	r, err := ipc.NewReader(resp.Body, ipc.WithBodySizeLimit(mostRecord), ipc.WithMetadataSizeLimit(mostRecord))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrRecord, err)
	}
	defer r.Release()
	err = in.each(ctx, readAll(r, func() { silence.Reset(mostSilence) }), nodeColumns)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return errors.Join(cause, err)
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = fmt.Errorf("%w: the node cut its answer, as it does at its limits on the time and the bytes of one: choose a shorter time, or a label", err)
	}
	return err
}

// Bounds on a node's answer: the time between two of its records, and the bytes in one.
const (
	mostSilence = time.Minute
	mostRecord  = 256 << 20
)

// readAll returns a stream's records, and calls next before each.
func readAll(r *ipc.Reader, next func()) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		for r.Next() {
			next()
			rec := r.RecordBatch()
			rec.Retain()
			if !yield(rec, nil) {
				return
			}
		}
		if err := r.Err(); err != nil {
			yield(nil, err)
		}
	}
}
