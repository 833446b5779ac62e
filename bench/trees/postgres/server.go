package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// Installed is where Debian's package has the programs.
const Installed = "/usr/lib/postgresql/15/bin"

// ErrAbsent means that there is no PostgreSQL 15 to run.
var ErrAbsent = errors.New("PostgreSQL 15 is absent")

// Find returns the folder of the programs, and ErrAbsent if one is not there. The empty name
// stands for Installed.
func Find(programs string) (string, error) {
	if programs == "" {
		programs = Installed
	}
	for _, name := range []string{
		"initdb", "postgres", "../../../../share/postgresql/15/extension/btree_gist.control",
	} {
		if _, err := os.Stat(filepath.Join(programs, name)); err != nil {
			return "", fmt.Errorf("%w: %w", ErrAbsent, err)
		}
	}
	return programs, nil
}

// settings are those of a server, beside its directories.
var settings = []string{
	"listen_addresses=", "unix_socket_permissions=0700", "max_connections=4",
	"shared_buffers=1GB", "work_mem=256MB", "maintenance_work_mem=1GB", "effective_cache_size=4GB",
	"wal_level=minimal", "max_wal_senders=0", "max_wal_size=8GB", "checkpoint_timeout=1h",
	"fsync=off", "synchronous_commit=off", "full_page_writes=off",
	"autovacuum=off", "jit=off", "random_page_cost=1.1", "plan_cache_mode=force_generic_plan",
	"max_parallel_workers_per_gather=0", "max_parallel_maintenance_workers=0",
}

// server is a running server.
type server struct {
	cmd      *exec.Cmd
	programs string
	dir      string // holds data, log and the socket
	ended    chan error
}

// role is the only role of a server.
const role = "granary"

// newServer makes a cluster in a new folder of dir. It does not run.
func newServer(programs, dir string) (s *server, err error) {
	s = &server{programs: programs}
	if s.dir, err = os.MkdirTemp(dir, "granary-postgres-"); err != nil {
		return nil, fmt.Errorf("postgres: %w", err)
	}
	if who, err := owner(); err != nil {
		return nil, errors.Join(err, s.remove())
	} else if who != nil {
		if err := os.Chown(s.dir, int(who.Uid), int(who.Gid)); err != nil {
			return nil, errors.Join(fmt.Errorf("postgres: %w", err), s.remove())
		}
	}
	cmd, err := s.command("initdb", "--pgdata", s.data(), "--username", role,
		"--auth", "trust", "--locale", "C", "--encoding", "UTF8", "--no-sync")
	if err != nil {
		return nil, errors.Join(err, s.remove())
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, errors.Join(fmt.Errorf("postgres: make a cluster in %s: %w\n%s", s.dir, err, out), s.remove())
	}
	return s, nil
}

func (s *server) data() string { return filepath.Join(s.dir, "data") }

// owner returns the user of a server of root, and nil if this process is not root's.
func owner() (*syscall.Credential, error) {
	if os.Getuid() != 0 {
		return nil, nil
	}
	who, err := user.Lookup("postgres")
	if err != nil {
		if who, err = user.Lookup("nobody"); err != nil {
			return nil, fmt.Errorf("postgres: user of the server: %w", err)
		}
	}
	uid, err := strconv.ParseUint(who.Uid, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("postgres: user of the server: %w", err)
	}
	gid, err := strconv.ParseUint(who.Gid, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("postgres: user of the server: %w", err)
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
}

// command is one of PostgreSQL's programs, which a package that is not installed finds its
// libraries beside.
func (s *server) command(name string, arguments ...string) (*exec.Cmd, error) {
	who, err := owner()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(filepath.Join(s.programs, name), arguments...)
	cmd.Dir = s.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "TZ=UTC"}
	if s.programs != Installed {
		libraries, err := filepath.Glob(filepath.Join(s.programs, "../../../*-linux-gnu*"))
		if err != nil {
			return nil, err
		}
		for _, dir := range libraries {
			cmd.Env = append(cmd.Env, "LD_LIBRARY_PATH="+filepath.Clean(dir))
		}
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: who}
	return cmd, nil
}

// patience is how long a server may take to start or to end.
const patience = time.Minute

// start starts the server, and returns a connection.
func (s *server) start() (*pgconn.PgConn, error) {
	arguments := []string{"-D", s.data(), "-c", "unix_socket_directories=" + s.dir}
	for _, setting := range settings {
		arguments = append(arguments, "-c", setting)
	}
	cmd, err := s.command("postgres", arguments...)
	if err != nil {
		return nil, err
	}
	log, err := os.OpenFile(s.logName(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("postgres: %w", err)
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	withParent(cmd.SysProcAttr)
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("postgres: start: %w", err)
	}
	s.cmd, s.ended = cmd, make(chan error, 1)
	go func() { s.ended <- cmd.Wait() }()
	conn, err := s.connect()
	if err != nil {
		return nil, errors.Join(err, s.stop())
	}
	return conn, nil
}

func (s *server) logName() string { return filepath.Join(s.dir, "log") }

// connect tries to connect until the server takes it, or has ended.
func (s *server) connect() (*pgconn.PgConn, error) {
	config, err := pgconn.ParseConfig("user=" + role + " dbname=postgres sslmode=disable")
	if err != nil {
		return nil, fmt.Errorf("postgres: %w", err)
	}
	config.Host, config.Port = s.dir, 5432
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		conn, err := pgconn.ConnectConfig(ctx, config)
		if err == nil {
			return conn, nil
		}
		select {
		case ended := <-s.ended:
			s.ended <- ended
			return nil, fmt.Errorf("postgres: the server ended: %w\n%s", ended, s.log())
		case <-ctx.Done():
			return nil, fmt.Errorf("postgres: connect: %w\n%s", err, s.log())
		case <-time.After(2 * time.Millisecond):
		}
	}
}

func (s *server) log() []byte {
	text, err := os.ReadFile(s.logName())
	if err != nil {
		return []byte(err.Error())
	}
	return text
}

// stop ends the server, which writes a checkpoint, and kills it if that takes too long.
func (s *server) stop() error {
	if s.cmd == nil {
		return nil
	}
	err := s.cmd.Process.Signal(syscall.SIGINT) // a fast shutdown
	if errors.Is(err, os.ErrProcessDone) {
		err = nil
	}
	select {
	case ended := <-s.ended:
		err = errors.Join(err, ended)
	case <-time.After(patience):
		err = errors.Join(err, s.cmd.Process.Kill(), <-s.ended, errors.New("the server did not end"))
	}
	s.cmd = nil
	if err != nil {
		return fmt.Errorf("postgres: stop: %w\n%s", err, s.log())
	}
	return nil
}

// remove removes the cluster.
func (s *server) remove() error {
	if err := os.RemoveAll(s.dir); err != nil {
		return fmt.Errorf("postgres: %w", err)
	}
	return nil
}
