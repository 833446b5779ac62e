package main

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// pageCommands returns the commands of docs/scale-out.md that build and call granary-lake, in order.
func pageCommands(t *testing.T) (commands []string) {
	t.Helper()
	page, err := os.ReadFile("../../../docs/scale-out.md")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(page)) {
		command, isCode := strings.CutPrefix(strings.TrimRight(line, "\n"), "    ")
		if isCode && (strings.HasPrefix(command, "granary-lake ") || strings.HasPrefix(command, "(cd compat/iceberg ")) {
			commands = append(commands, command)
		}
	}
	if len(commands) < 7 {
		t.Fatalf("the page has only the commands %q", commands)
	}
	return commands
}

// freePort returns a port of loopback that nobody listens on.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}

// The commands of docs/scale-out.md work one after the other, as they are printed but for the host and the port of each server,
// which stay up while the rest runs.
func TestPage(t *testing.T) {
	bin, folder := t.TempDir(), t.TempDir()
	shell := func(command string) *exec.Cmd {
		cmd := exec.Command("bash", "-c", "exec "+command)
		cmd.Dir = folder
		if strings.HasPrefix(command, "(") {
			cmd = exec.Command("bash", "-c", command)
			cmd.Dir = "../../.."
		}
		cmd.Env = append(os.Environ(), "GOBIN="+bin, "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
		return cmd
	}
	for _, command := range pageCommands(t) {
		if !strings.HasPrefix(command, "granary-lake serve ") {
			if out, err := shell(command).CombinedOutput(); err != nil {
				t.Fatalf("%s: %v: %s", command, err, out)
			}
			continue
		}
		port := freePort(t)
		server := shell(strings.NewReplacer("db-1:4040", "127.0.0.1:"+port, ":4040", "127.0.0.1:"+port).Replace(command))
		if !strings.Contains(command, "4040") {
			server = shell(command + " --listen 127.0.0.1:" + port)
		}
		var notes notebook
		server.Stderr = &notes
		if err := server.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = server.Process.Signal(syscall.SIGTERM)
			if err := server.Wait(); err != nil {
				t.Errorf("%s: %v: %s", command, err, notes.String())
			}
		})
		await(t, notes.String, `msg=listening url=(http://\S+)`)
	}
	if info, err := os.Stat(filepath.Join(bin, "granary-lake")); err != nil || info.IsDir() {
		t.Errorf("the page builds no program: %v", err)
	}
}
