//go:build unix

package server

import (
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/granarydb/granary/internal/effort"
)

var servicesRows = flag.Int("services.rows", 1_000_000, "rows for TestServices_Time")

// TestServices_Time measures the route with 1,000 services: the hour that is seen, and the one before it. The rows are in
// these two hours.
func TestServices_Time(t *testing.T) {
	effort.Slow(t)
	if effort.Race {
		t.Skip("it asks one question at a time")
	}
	a := newAsker(t, Options{})
	const all, stacks = 1000, 100
	profiles := *servicesRows / all / stacks
	samples := make([]made, stacks)
	for i := range samples {
		samples[i] = made{stack: fmt.Sprintf("leaf%d f%d main", i, i%7), value: int64(i + 1)}
	}
	for i := range profiles {
		at := madeAt.Add(time.Duration(i) * 2 * time.Hour / time.Duration(profiles))
		for k := range all {
			a.insert(at, cpuType, map[string]string{"service_name": fmt.Sprint("service-", k), "pod": fmt.Sprint(k % 3)}, samples...)
		}
	}
	for name, more := range map[string]string{"": "", "by change": "&sort=change", "with functions": "&changed=1&rows=20"} {
		var times, own []time.Duration
		bytes := 0
		for range 9 {
			w, start, before := httptest.NewRecorder(), time.Now(), used(t)
			a.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://localhost/api/v1/services?t=cpu&from=latest-1h"+more, nil))
			times, own, bytes = append(times, time.Since(start)), append(own, used(t)-before), w.Body.Len()
			if w.Code != http.StatusOK {
				t.Fatal(w.Body)
			}
		}
		slices.Sort(times)
		slices.Sort(own)
		middle := own[len(own)/2]
		t.Logf("services%s of %d rows, %d services: median %v, greatest %v; of the processors %v; %d bytes", " "+name, a.db.Table().Stats().Rows, all, times[len(times)/2], times[len(times)-1], middle, bytes)
		if !effort.Race && middle > 100*time.Millisecond {
			t.Errorf("services %s: %v of the processors, want 100 ms", name, middle)
		}
	}
}

// used returns the time that the process has had of the processors, which other processes do not change.
func used(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
