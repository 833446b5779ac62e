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

// Installed is where Debian's package has the programs.
const Installed = "/usr/lib/postgresql/15/bin"

// ErrAbsent means that there is no PostgreSQL 15 to run.
var ErrAbsent = errors.New("PostgreSQL 15 is absent (Debian's package postgresql-15)")

// Find returns ErrAbsent if the folder lacks one of the programs.
func Find(programs string) error {
	for _, name := range []string{"initdb", "postgres", "../../../../share/postgresql/15/extension/btree_gist.control"} {
		if _, err := os.Stat(filepath.Join(programs, name)); err != nil {
			return fmt.Errorf("%w: %w", ErrAbsent, err)
		}
	}
	return nil
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

// role is the only role of a server, and patience how long one may take to start or to end.
const (
	role     = "granary"
	patience = time.Minute
)

// makeCluster makes a cluster in a new folder of dir. It does not run.
func (s *Store) makeCluster(dir string) (err error) {
	if s.dir, err = os.MkdirTemp(dir, "granary-postgres-"); err != nil {
		return err
	}
	if os.Getuid() == 0 {
		if s.who, err = other(); err == nil {
			err = os.Chown(s.dir, int(s.who.Uid), int(s.who.Gid))
		}
	}
	if err != nil {
		return err
	}
	out, err := s.command(context.Background(), "initdb", "--pgdata", "data", "--username", role,
		"--auth", "trust", "--locale", "C", "--encoding", "UTF8", "--no-sync").CombinedOutput()
	if err != nil {
		err = fmt.Errorf("make a cluster in %s: %w\n%s", s.dir, err, out)
	}
	return err
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
	_, err = fmt.Sscan(who.Uid+" "+who.Gid, &c.Uid, &c.Gid)
	return c, err
}

// command is one of PostgreSQL's programs, which runs in the server's folder.
func (s *Store) command(ctx context.Context, name string, arguments ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(Installed, name), arguments...)
	cmd.Dir = s.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "TZ=UTC"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.who}
	return cmd
}

// start starts the server, and connects. A fast shutdown ends it, or, after patience, a kill.
func (s *Store) start() error {
	arguments := []string{"-D", "data", "-c", "unix_socket_directories=" + s.dir}
	for _, setting := range settings {
		arguments = append(arguments, "-c", setting)
	}
	log, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	ctx, end := context.WithCancel(context.Background())
	cmd := s.command(ctx, "postgres", arguments...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGINT) }
	cmd.WaitDelay = patience
	cmd.Stdout, cmd.Stderr = log, log
	withParent(cmd.SysProcAttr)
	if err := cmd.Start(); err != nil {
		end()
		return err
	}
	s.pid, s.end, s.ended = cmd.Process.Pid, end, make(chan error, 1)
	go func() { s.ended <- cmd.Wait() }()
	s.conn, err = s.connect()
	return err
}

// connect tries to connect until the server takes it, or has ended.
func (s *Store) connect() (*pgx.Conn, error) {
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

func (s *Store) withLog(err error) error {
	text, unread := os.ReadFile(filepath.Join(s.dir, "log"))
	return errors.Join(fmt.Errorf("%w\n%s", err, text), unread)
}

// stop ends the server, which writes a checkpoint, if it runs.
func (s *Store) stop() (err error) {
	if s.conn != nil {
		err = s.conn.Close(context.Background())
	}
	if s.end != nil {
		s.end()
		if ended := <-s.ended; !errors.Is(ended, context.Canceled) { // it ended as it was told, without an error
			err = errors.Join(err, s.withLog(fmt.Errorf("the server ended: %w", ended)))
		}
	}
	s.conn, s.end = nil, nil
	return err
}

// tick is the unit of times in /proc/PID/stat on Linux.
const tick = time.Second / 100

// CPU returns the CPU time that the server has used since it was last started: of its first process,
// of that one's children, and of the children that have ended, these in ticks.
func (s *Store) CPU() (total time.Duration, err error) {
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
