//go:build unix

package serve

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/profile"
)

// demo runs a Demo as a command until stop is called. wait returns its exit code and its log.
func demo(t *testing.T, store *columnstore.Store, fill func(context.Context, *profile.DB) error) (url string, stop func(), wait func() (code int, log string)) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	r, w := io.Pipe()
	var log strings.Builder
	code := make(chan int, 1)
	go func() {
		cmd := &cobra.Command{Use: "demo", RunE: func(cmd *cobra.Command, _ []string) error {
			l, err := Listen("127.0.0.1:0")
			if err != nil {
				return err
			}
			defer l.Close()
			return Demo(cmd, l, store, fill, func(string) {})
		}}
		code <- cli.Run(ctx, cmd, nil, w, &log)
		_ = w.Close()
	}()
	text := make([]byte, 1000)
	n, _ := r.Read(text)
	url = strings.TrimPrefix(strings.TrimSuffix(string(text[:n]), " until it is interrupted\n"), "Serving ")
	return url, stop, func() (int, string) { return <-code, log.String() }
}

// TestDemo asks a demo for what fills its store and for its own goroutines, while it goes on.
func TestDemo(t *testing.T) {
	store, err := columnstore.Open(columnstore.Options{FutureLimit: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	data, err := os.ReadFile("../../../../testdata/profiles/etcd/cpu-1.pb.gz")
	if err != nil {
		t.Fatal(err)
	}
	url, stop, wait := demo(t, store, func(ctx context.Context, db *profile.DB) error {
		if _, err := db.InsertEncoded(ctx, data, profile.InsertOptions{Labels: map[string]string{"job": "etcd"}}); err != nil {
			return err
		}
		<-ctx.Done()
		return ctx.Err()
	})
	for path, want := range map[string]string{`/api/v1/top?t=cpu&q={job="etcd"}`: "etcd.io", "/api/v1/flame?t=goroutine": "serve.Demo"} {
		for until := time.Now().Add(effort.Patience); ; time.Sleep(10 * time.Millisecond) {
			code, body := get(t, new(http.Client), url+path, "")
			if code == http.StatusOK && strings.Contains(body, want) {
				break
			}
			if time.Now().After(until) {
				t.Fatalf("%s: %d %.300s", path, code, body)
			}
		}
	}
	stop()
	if code, log := wait(); code != cli.ExitOK {
		t.Errorf("exit code %d: %s", code, log)
	}
	if h := store.History("goroutines"); h == nil || h.Bytes() == 0 {
		t.Error("there is no history of goroutines")
	}
}

// TestDemo_Fails ends a demo whose function fails, with its error.
func TestDemo_Fails(t *testing.T) {
	store, err := columnstore.Open(columnstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	_, stop, wait := demo(t, store, func(context.Context, *profile.DB) error { return errors.New("no fleet") })
	defer stop()
	if code, log := wait(); code != cli.ExitFailed || !strings.Contains(log, "no fleet") {
		t.Errorf("exit code %d: %s", code, log)
	}
}
