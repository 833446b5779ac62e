package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	profilestorepb "github.com/parca-dev/parca/gen/proto/go/parca/profilestore/v1alpha1"
	querypb "github.com/parca-dev/parca/gen/proto/go/parca/query/v1alpha1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// command is a running granary-parca.
type command struct {
	addr string
	stop func()
}

// start runs the command until the end of the test, or stop.
func start(t *testing.T, args ...string) command {
	t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := free.Addr().String()
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var stderr bytes.Buffer
	done := make(chan int)
	go func() { done <- run(ctx, append(args, "--addr", addr), io.Discard, &stderr) }()
	stopped := false
	c := command{addr: addr, stop: func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if code := <-done; code != exitOK {
			t.Errorf("exit code %d: %s", code, &stderr)
		}
	}}
	t.Cleanup(c.stop)
	for {
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			_ = conn.Close()
			return c
		}
		select {
		case code := <-done:
			stopped = true
			t.Fatalf("ended with exit code %d: %s", code, &stderr)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// dial connects as Parca's own clients do.
func (c command) dial(t *testing.T) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient(c.addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// newProfile returns a profile of processor time, whose function work has the value.
func newProfile(at time.Time, value int64) *profile.Profile {
	f := &profile.Function{ID: 1, Name: "work", Filename: "work.go"}
	m := &profile.Mapping{ID: 1, Start: 1, Limit: 1 << 20, File: "/bin/worker"}
	l := &profile.Location{ID: 1, Mapping: m, Address: 64, Line: []profile.Line{{Function: f, Line: 7}}}
	return &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}}, PeriodType: &profile.ValueType{Type: "cpu", Unit: "nanoseconds"},
		Period: 1, TimeNanos: at.UnixNano(), DurationNanos: int64(time.Second),
		Function: []*profile.Function{f}, Location: []*profile.Location{l}, Mapping: []*profile.Mapping{m},
		Sample: []*profile.Sample{{Location: []*profile.Location{l}, Value: []int64{value}}},
	}
}

// write writes a profile as Parca's client does.
func write(conn *grpc.ClientConn, p *profile.Profile, job string) error {
	var encoded bytes.Buffer
	if err := p.Write(&encoded); err != nil {
		return err
	}
	_, err := profilestorepb.NewProfileStoreServiceClient(conn).WriteRaw(context.Background(), &profilestorepb.WriteRawRequest{
		Series: []*profilestorepb.RawProfileSeries{{
			Labels:  &profilestorepb.LabelSet{Labels: []*profilestorepb.Label{{Name: "__name__", Value: "process_cpu"}, {Name: "job", Value: job}}},
			Samples: []*profilestorepb.RawSample{{RawProfile: encoded.Bytes()}},
		}},
	})
	return err
}

const typ = "process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta"

// total returns the sum of the profiles that a selector selects, of the pprof report.
func total(t *testing.T, conn *grpc.ClientConn, selector string, from, to time.Time) (sum int64, functions []string) {
	t.Helper()
	res, err := querypb.NewQueryServiceClient(conn).Query(context.Background(), &querypb.QueryRequest{
		Mode: querypb.QueryRequest_MODE_MERGE, ReportType: querypb.QueryRequest_REPORT_TYPE_PPROF,
		Options: &querypb.QueryRequest_Merge{Merge: &querypb.MergeProfile{Query: typ + selector, Start: timestamppb.New(from), End: timestamppb.New(to)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	p, err := profile.ParseData(res.GetPprof())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range p.Sample {
		sum += s.Value[0]
	}
	for _, f := range p.Function {
		functions = append(functions, f.Name)
	}
	return sum, functions
}

// TestServe writes with Parca's own client and asks with it, over gRPC and JSON, then again after a
// restart.
func TestServe(t *testing.T) {
	dir, now := t.TempDir(), time.Now().Add(-time.Minute)
	from, to := now.Add(-time.Minute), now.Add(time.Hour)
	c := start(t, "--dir", dir)
	conn := c.dial(t)
	for i := range int64(10) {
		if err := write(conn, newProfile(now.Add(time.Duration(i)*time.Second), i+1), fmt.Sprint("job-", i%2)); err != nil {
			t.Fatal(err)
		}
	}
	asks := func(conn *grpc.ClientConn) {
		t.Helper()
		if sum, functions := total(t, conn, "{}", from, to); sum != 55 || !slices.Equal(functions, []string{"work"}) {
			t.Errorf("sum %d of functions %q, want 55 of work", sum, functions)
		}
		if sum, _ := total(t, conn, `{job="job-1"}`, from, to); sum != 30 {
			t.Errorf("sum %d of a job, want 30", sum)
		}
		api := querypb.NewQueryServiceClient(conn)
		types, err := api.ProfileTypes(context.Background(), &querypb.ProfileTypesRequest{})
		if err != nil || len(types.Types) != 1 || types.Types[0].Name != "process_cpu" || !types.Types[0].Delta {
			t.Errorf("types are %v, error %v", types, err)
		}
		values, err := api.Values(context.Background(), &querypb.ValuesRequest{LabelName: "job"})
		if err != nil || !slices.Equal(values.LabelValues, []string{"job-0", "job-1"}) {
			t.Errorf("values are %v, error %v", values, err)
		}
		_, err = api.ShareProfile(context.Background(), &querypb.ShareProfileRequest{})
		if status.Code(err) != codes.Unimplemented {
			t.Errorf("sharing: error %v", err)
		}
	}
	asks(conn)
	if body := get(t, "http://"+c.addr+"/api/profiles/labels/job/values"); !strings.Contains(body, `"job-0"`) {
		t.Errorf("values as JSON are %s", body)
	}
	if body := get(t, "http://"+c.addr+"/"); !strings.Contains(body, "Granary serves Parca's API") {
		t.Errorf("the page is %s", body)
	}
	_ = conn.Close()
	c.stop()

	again := start(t, "--dir", dir)
	conn = again.dial(t)
	defer func() { _ = conn.Close() }()
	asks(conn)
}

func get(t *testing.T, url string) string {
	t.Helper()
	res, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s %s, error %v", url, res.Status, body, err)
	}
	return string(body)
}

// TestServe_BadProfile: a profile over which Parca panics is an error of its request.
func TestServe_BadProfile(t *testing.T) {
	c := start(t)
	conn := c.dial(t)
	defer func() { _ = conn.Close() }()
	p := newProfile(time.Now(), 1)
	p.PeriodType = nil
	if err := write(conn, p, "job"); status.Code(err) != codes.InvalidArgument {
		t.Errorf("error %v, want an invalid argument", err)
	}
	if err := write(conn, newProfile(time.Now(), 1), "job"); err != nil {
		t.Error("after it:", err)
	}
}

// TestRun_Usage: wrong calls say so and exit with 2, and --help tells how to begin.
func TestRun_Usage(t *testing.T) {
	for _, args := range [][]string{{"--none"}, {"extra"}, {"--memory", "much"}} {
		var stderr bytes.Buffer
		if code := run(context.Background(), args, io.Discard, &stderr); code != exitUsage || !strings.Contains(stderr.String(), "--help") {
			t.Errorf("%q: exit code %d, %s", args, code, &stderr)
		}
	}
	var stdout bytes.Buffer
	if code := run(context.Background(), []string{"--help"}, &stdout, io.Discard); code != exitOK {
		t.Errorf("--help: exit code %d", code)
	}
	for _, want := range []string{"--dir", "curl", "-retention", "Without --dir"} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("--help does not say %q", want)
		}
	}
}

// TestRun_AddressInUse: a command that cannot listen ends with an error.
func TestRun_AddressInUse(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	var stderr bytes.Buffer
	if code := run(context.Background(), []string{"--addr", taken.Addr().String()}, io.Discard, &stderr); code != exitFailed {
		t.Errorf("exit code %d: %s", code, &stderr)
	}
}
