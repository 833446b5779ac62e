package postgres

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/prometheus/procfs"
)

// settings are those of a server, beside its directories.
var settings = []string{
	"listen_addresses=", "unix_socket_permissions=0700", "max_connections=4",
	"shared_buffers=1GB", "work_mem=256MB", "maintenance_work_mem=1GB", "effective_cache_size=4GB",
	"wal_level=minimal", "max_wal_senders=0", "max_wal_size=8GB", "checkpoint_timeout=1h",
	"fsync=off", "synchronous_commit=off", "full_page_writes=off",
	"autovacuum=off", "jit=off", "random_page_cost=1.1", "plan_cache_mode=force_generic_plan",
	"max_parallel_workers_per_gather=0", "max_parallel_maintenance_workers=0",
}

// server is a cluster in a folder of its own, which also holds the log and the socket.
type server struct {
	programs, dir string
	who           *syscall.Credential // nil is this process's user
	pid           int
	end           context.CancelFunc // nil while it does not run
	ended         chan error
}

// role is the only role of a server, and patience how long one may take to start or to end.
const (
	role     = "granary"
	patience = time.Minute
)

// newServer makes a cluster in a new folder of dir. It does not run.
func newServer(programs, dir string) (s *server, err error) {
	s = &server{programs: programs}
	if s.dir, err = os.MkdirTemp(dir, "granary-postgres-"); err != nil {
		return nil, err
	}
	if os.Getuid() == 0 {
		if s.who, err = other(); err == nil {
			err = os.Chown(s.dir, int(s.who.Uid), int(s.who.Gid))
		}
	}
	if err == nil {
		var out []byte
		out, err = s.command(context.Background(), "initdb", "--pgdata", "data", "--username", role,
			"--auth", "trust", "--locale", "C", "--encoding", "UTF8", "--no-sync").CombinedOutput()
		if err != nil {
			err = fmt.Errorf("make a cluster in %s: %w\n%s", s.dir, err, out)
		}
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(s.dir))
	}
	return s, nil
}

// other returns the user of a server of root.
func other() (*syscall.Credential, error) {
	who, err := user.Lookup("postgres")
	if err != nil {
		if who, err = user.Lookup("nobody"); err != nil {
			return nil, fmt.Errorf("user of the server: %w", err)
		}
	}
	c := &syscall.Credential{}
	_, err = fmt.Sscan(who.Uid, &c.Uid)
	_, err2 := fmt.Sscan(who.Gid, &c.Gid)
	return c, errors.Join(err, err2)
}

// command is one of PostgreSQL's programs, which runs in the server's folder. One that is not installed finds its
// libraries beside it.
func (s *server) command(ctx context.Context, name string, arguments ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(s.programs, name), arguments...)
	cmd.Dir = s.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "TZ=UTC"}
	if libraries, err := filepath.Glob(filepath.Join(s.programs, "../../../*-linux-gnu*")); err == nil && len(libraries) > 0 && s.programs != Installed {
		cmd.Env = append(cmd.Env, "LD_LIBRARY_PATH="+libraries[0])
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.who}
	return cmd
}

// start starts the server, and returns a connection. A fast shutdown ends it, or, after patience, a kill.
func (s *server) start() (*pgx.Conn, error) {
	arguments := []string{"-D", "data", "-c", "unix_socket_directories=" + s.dir}
	for _, setting := range settings {
		arguments = append(arguments, "-c", setting)
	}
	ctx, end := context.WithCancel(context.Background())
	cmd := s.command(ctx, "postgres", arguments...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGINT) }
	cmd.WaitDelay = patience
	withParent(cmd.SysProcAttr)
	log, err := os.OpenFile(s.logName(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		end()
		return nil, err
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		end()
		return nil, err
	}
	s.pid, s.end, s.ended = cmd.Process.Pid, end, make(chan error, 1)
	go func() { s.ended <- cmd.Wait() }()
	conn, err := s.connect()
	if err != nil {
		return nil, errors.Join(err, s.stop())
	}
	return conn, nil
}

func (s *server) logName() string { return filepath.Join(s.dir, "log") }

// connect tries to connect until the server takes it, or has ended.
func (s *server) connect() (*pgx.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		conn, err := pgx.Connect(ctx, "user="+role+" dbname=postgres sslmode=disable port=5432 host='"+s.dir+"'")
		if err == nil {
			return conn, nil
		}
		select {
		case ended := <-s.ended:
			s.ended <- ended
			return nil, s.withLog(fmt.Errorf("the server ended: %w", ended))
		case <-ctx.Done():
			return nil, s.withLog(fmt.Errorf("connect: %w", err))
		case <-time.After(2 * time.Millisecond):
		}
	}
}

func (s *server) withLog(err error) error {
	text, unread := os.ReadFile(s.logName())
	return errors.Join(fmt.Errorf("%w\n%s", err, text), unread)
}

// stop ends the server, which writes a checkpoint.
func (s *server) stop() error {
	if s.end == nil {
		return nil
	}
	s.end()
	s.end = nil
	if err := <-s.ended; !errors.Is(err, context.Canceled) { // it ended as it was told, without an error
		return s.withLog(fmt.Errorf("the server ended: %w", err))
	}
	return nil
}

// tick is the unit of times in /proc/PID/stat on Linux.
const tick = time.Second / 100

// cpu returns the CPU time that the server has used since it started: of its first process,
// of that one's children, and of the children that have ended, these in ticks.
func (s *server) cpu() (total time.Duration, err error) {
	all, err := procfs.AllProcs()
	if err != nil {
		return 0, err
	}
	for _, p := range all {
		stat, err := p.Stat()
		if err == nil && p.PID != s.pid && stat.PPID != s.pid {
			continue
		}
		var own procfs.ProcSchedstat
		if err == nil {
			own, err = p.Schedstat()
		}
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
			continue // ended
		}
		if err != nil {
			return 0, fmt.Errorf("CPU time: %w", err)
		}
		total += time.Duration(own.RunningNanoseconds) + time.Duration(stat.CUTime+stat.CSTime)*tick
	}
	return total, nil
}
