package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"
	"go.uber.org/goleak"

	"github.com/granarydb/granary/internal/effort"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestRun asks the program for its goroutines: it is one of them. It ends with its context.
func TestRun(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	done := make(chan error, 1)
	go func() { done <- run(ctx, l) }()
	defer http.DefaultClient.CloseIdleConnections()
	url := fmt.Sprintf("http://%s/pprof?type=goroutine", l.Addr())
	for end := time.Now().Add(effort.Patience); ; time.Sleep(20 * time.Millisecond) {
		p, err := get(url)
		if err == nil && strings.Contains(p.String(), "self/example.run") {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("%v: %v", p, err)
		}
	}
	stop()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

func get(url string) (*pprof.Profile, error) {
	resp, err := http.Get(url)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	return pprof.ParseData(data)
}

// TestLines holds the program to what is said of it: it is short.
func TestLines(t *testing.T) {
	text, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), "\n"); n >= 40 {
		t.Errorf("%d lines", n)
	}
}
