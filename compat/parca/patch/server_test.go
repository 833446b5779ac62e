package patch

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	profilestorepb "github.com/parca-dev/parca/gen/proto/go/parca/profilestore/v1alpha1"
	querypb "github.com/parca-dev/parca/gen/proto/go/parca/query/v1alpha1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

var binary = flag.String("parca.binary", "", "Parca's `binary` with parca.patch")

// large lets answers be larger than gRPC's 4 MiB, as Parca's page does.
var large = grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(1 << 30))

// server is a process of the binary.
type server struct {
	conn *grpc.ClientConn
	cmd  *exec.Cmd
	log  *bytes.Buffer
}

// start starts the binary on two processors with a backend, with its files in a directory, and waits until it answers.
func start(t *testing.T, backend, dir string, args ...string) *server {
	t.Helper()
	return startOn(t, 2, backend, dir, args...)
}

// startOn is start on a number of processors.
func startOn(t *testing.T, processors int, backend, dir string, args ...string) *server {
	t.Helper()
	config := filepath.Join(dir, "parca.yaml")
	objects := "object_storage: {bucket: {type: FILESYSTEM, config: {directory: " + filepath.Join(dir, "objects") + "}}}\n"
	if err := os.WriteFile(config, []byte(objects), 0o600); err != nil {
		t.Fatal(err)
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := free.Addr().String()
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	s := &server{log: &bytes.Buffer{}}
	s.cmd = exec.Command(*binary, append([]string{
		"--config-path=" + config, "--http-address=" + addr, "--storage-backend=" + backend, "--storage-path=" + filepath.Join(dir, "data"),
		"--debuginfod-upstream-servers=http://127.0.0.1:1", "--debuginfo-cache-dir=" + dir, "--log-level=error",
	}, args...)...)
	s.cmd.Stdout, s.cmd.Stderr = s.log, s.log
	s.cmd.Env = append(s.cmd.Environ(), fmt.Sprint("GOMAXPROCS=", processors))
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.stop(t) })
	if s.conn, err = grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()), large); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		if _, err = s.asks().ProfileTypes(context.Background(), &querypb.ProfileTypesRequest{}); err == nil {
			return s
		}
		if time.Now().After(end) {
			t.Fatalf("%s does not answer: %v\n%s", backend, err, s.log)
		}
	}
}

// stop ends the process as an orchestrator does, and waits. A second call does nothing. Parca's exit code is 1 after
// a signal.
func (s *server) stop(t *testing.T) {
	t.Helper()
	if s.cmd.ProcessState != nil {
		return
	}
	if s.conn != nil {
		_ = s.conn.Close()
	}
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	if err := s.cmd.Wait(); s.cmd.ProcessState.ExitCode() != 1 {
		t.Errorf("after a signal: %v\n%s", err, s.log)
	}
}

func (s *server) asks() querypb.QueryServiceClient { return querypb.NewQueryServiceClient(s.conn) }

// write writes a profile as Parca's clients do, with a job, and other labels as name and value by turns.
func (s *server) write(t *testing.T, encoded []byte, job string, others ...string) {
	t.Helper()
	labels := []*profilestorepb.Label{{Name: "__name__", Value: "p"}, {Name: "job", Value: job}}
	for i := 0; i < len(others); i += 2 {
		labels = append(labels, &profilestorepb.Label{Name: others[i], Value: others[i+1]})
	}
	_, err := profilestorepb.NewProfileStoreServiceClient(s.conn).WriteRaw(context.Background(), &profilestorepb.WriteRawRequest{
		Series: []*profilestorepb.RawProfileSeries{{
			Labels:  &profilestorepb.LabelSet{Labels: labels},
			Samples: []*profilestorepb.RawSample{{RawProfile: encoded}},
		}},
	})
	if err != nil {
		t.Fatal(fmt.Errorf("job %s: %w", job, err))
	}
}
