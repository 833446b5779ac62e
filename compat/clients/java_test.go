package clients

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"
	theirs "github.com/grafana/jfr-parser/pprof"
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
	if want < 400 { // 800, and some are lost
		t.Fatalf("the file has %d samples of two threads with two seconds of CPU time each", want)
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

// agent returns the command of a Java program with Pyroscope's agent, which pushes to a server.
func agent(t *testing.T, dir, server string) []string {
	t.Helper()
	jars, err := filepath.Glob(filepath.Join(dir, "agent-*.jar"))
	if err != nil || len(jars) != 1 {
		t.Fatalf("%d agents of Pyroscope in %s: %v", len(jars), dir, err)
	}
	return []string{
		"env", "PYROSCOPE_APPLICATION_NAME=javaapp", "PYROSCOPE_SERVER_ADDRESS=" + server, "PYROSCOPE_FORMAT=jfr",
		"PYROSCOPE_UPLOAD_INTERVAL=1s", "PYROSCOPE_LABELS=zone=a",
		"java", "-javaagent:" + jars[0], "-cp", dir + ":" + jars[0], "Phases",
	}
}

// hasPhases says whether Busy.spin has a second of CPU time in each phase of Phases.
func hasPhases(profiles []*pprof.Profile) bool {
	var with, without int64
	for _, p := range profiles {
		for _, s := range p.Sample {
			switch {
			case len(s.Location) == 0 || s.Location[0].Line[0].Function.Name != "Busy.spin":
			case s.Label["phase"] != nil:
				with += s.Value[0]
			default:
				without += s.Value[0]
			}
		}
	}
	return min(with, without) >= int64(time.Second)
}

// TestJavaAgent profiles a Java program with Pyroscope's agent, which pushes recordings and labels of the program's own.
func TestJavaAgent(t *testing.T) {
	dir := installed(t)
	r, db, server := start(t)
	_, stop := begin(t, agent(t, dir, server)...)
	r.endAfter(t, hasPhases)
	stop()
	check(t, r, db, `{service_name="javaapp",zone="a",__name__="process_cpu"}`, "cpu")

	err := db.Store().View(t.Context(), func(snap *columnstore.Snapshot) error {
		typ, err := db.FindType(t.Context(), snap, "cpu")
		if err != nil {
			return err
		}
		groups, err := db.MergeBy(t.Context(), snap, typ, profile.Query{}, "phase")
		if err != nil {
			return err
		}
		if len(groups) != 2 { // with the phase of the program, and without one
			t.Errorf("%d phases, want 2", len(groups))
		}
		for _, g := range groups {
			if top := g.Stacks.Top(); len(top) == 0 || top[0].Name != "Busy.spin" || top[0].Flat < g.Stacks.Total/2 {
				t.Errorf("%v: Busy.spin is not on top of %d: %.300v", g.Labels, g.Stacks.Total, top)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// profilesOfJFR decodes a recording and its labels by Pyroscope's decoder.
func profilesOfJFR(parts map[string][]byte, rate string) (profiles []*pprof.Profile, err error) {
	hertz, err := strconv.ParseInt(rate, 10, 64)
	if err != nil {
		return nil, err
	}
	for name, data := range parts {
		if len(data) == 0 { // the labels of a time without any
			continue
		}
		if parts[name], err = unzipped(data); err != nil {
			return nil, fmt.Errorf("part %s: %w", name, err)
		}
	}
	var labels theirs.LabelsSnapshot
	if err := labels.UnmarshalVT(parts["labels"]); err != nil {
		return nil, err
	}
	parsed, err := theirs.ParseJFR(parts["jfr"], &theirs.ParseInput{SampleRate: hertz}, &labels)
	if err != nil {
		return nil, err
	}
	for _, p := range parsed.Profiles {
		data, err := p.Profile.MarshalVT()
		if err != nil {
			return nil, err
		}
		decoded, err := pprof.ParseData(data)
		if err != nil {
			return nil, err
		}
		profiles = append(profiles, decoded)
	}
	return profiles, nil
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
