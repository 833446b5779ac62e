package clients

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	collectorv1 "go.opentelemetry.io/proto/otlp/collector/profiles/v1development"
	"google.golang.org/protobuf/proto"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
)

// TestAsyncProfiler profiles a Java program with async-profiler, and sends the file of OTLP that it writes. The
// server has the sum that the file has, and the function that spins on top, by thread.
func TestAsyncProfiler(t *testing.T) {
	dir := installed(t)
	agents, err := filepath.Glob(filepath.Join(dir, "linux-*", "libasyncProfiler.so"))
	if err != nil || len(agents) != 1 {
		t.Fatalf("%d agents for this machine in %s: %v", len(agents), dir, err)
	}
	file := filepath.Join(t.TempDir(), "java.otlp")
	run(t, "java", "-agentpath:"+agents[0]+"=start,event=ctimer,interval=5ms,threads,otlp,file="+file, "-cp", dir, "Busy")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want, name := otlpSum(t, data)
	if want < 20 {
		t.Fatalf("the file has %d samples of two threads and two seconds", want)
	}

	_, db, url := start(t)
	resp, err := http.Post(url+"/v1development/profiles", "application/x-protobuf", bytes.NewReader(data)) //nolint:noctx // a test
	if err != nil {
		t.Fatal(err)
	}
	var answer bytes.Buffer
	_, _ = answer.ReadFrom(resp.Body)
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK || answer.Len() > 0 { // something about profiles that were left out
		t.Fatalf("status %d: %q", resp.StatusCode, answer.String())
	}
	err = db.Store().View(t.Context(), func(snap *columnstore.Snapshot) error {
		typ, err := db.FindType(t.Context(), snap, name)
		if err != nil {
			return err
		}
		groups, err := db.MergeBy(t.Context(), snap, typ, profile.Query{}, "thread.name")
		if err != nil {
			return err
		}
		total, threads := int64(0), 0
		for _, g := range groups {
			total += g.Stacks.Total
			if top := g.Stacks.Top(); len(top) > 0 && top[0].Name == "Busy.spin" {
				threads++
			}
		}
		if total != want || threads != 2 {
			t.Errorf("the store has %d samples, the file %d; Busy.spin is on top of %d threads, want 2", total, want, threads)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// otlpSum returns the sum of a file of OTLP with one sample type, and the name of the type.
func otlpSum(t *testing.T, data []byte) (sum int64, name string) {
	t.Helper()
	var request collectorv1.ExportProfilesServiceRequest
	if err := proto.Unmarshal(data, &request); err != nil {
		t.Fatal(err)
	}
	for _, resource := range request.GetResourceProfiles() {
		for _, scope := range resource.GetScopeProfiles() {
			for _, p := range scope.GetProfiles() {
				name = request.GetDictionary().GetStringTable()[p.GetSampleType().GetTypeStrindex()]
				for _, s := range p.GetSamples() {
					for _, v := range s.GetValues() {
						sum += v
					}
				}
			}
		}
	}
	return sum, name
}
