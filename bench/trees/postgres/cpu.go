package postgres

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// cpu returns the CPU time that the server has used since it started: of its first process,
// of that one's children, and of the children that have ended.
func (s *server) cpu() (time.Duration, error) {
	first := s.cmd.Process.Pid
	names, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0, err
	}
	var total time.Duration
	for _, name := range names {
		p, err := readProcess(name)
		if os.IsNotExist(err) || err == nil && p.pid != first && p.parent != first {
			continue // another's, or ended
		}
		if err != nil {
			return 0, fmt.Errorf("postgres: CPU time: %w", err)
		}
		total += p.own + p.ended
	}
	return total, nil
}

// process is what /proc tells of a process of one thread.
type process struct {
	pid, parent int
	own         time.Duration // user and system
	ended       time.Duration // of children that have ended, in ticks of the system
}

// tick is the unit of times in /proc/PID/stat on Linux.
const tick = time.Second / 100

func readProcess(stat string) (p process, err error) {
	text, err := os.ReadFile(stat)
	if err != nil {
		return p, err
	}
	// The second field, a name in brackets, may have spaces.
	first, rest, _ := strings.Cut(string(text), " ")
	fields := strings.Fields(rest[strings.LastIndexByte(rest, ')')+1:])
	if len(fields) < 15 {
		return p, fmt.Errorf("%s has %d fields", stat, len(fields))
	}
	for _, field := range fields[13:15] { // fields 16 and 17: user and system time of children
		ticks, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return p, fmt.Errorf("%s: %w", stat, err)
		}
		p.ended += time.Duration(ticks) * tick
	}
	if p.pid, err = strconv.Atoi(first); err != nil {
		return p, fmt.Errorf("%s: %w", stat, err)
	}
	if p.parent, err = strconv.Atoi(fields[1]); err != nil {
		return p, fmt.Errorf("%s: %w", stat, err)
	}
	// The first number of schedstat is in nanoseconds.
	if text, err = os.ReadFile(filepath.Join(filepath.Dir(stat), "schedstat")); err != nil {
		return p, err
	}
	own, _, _ := strings.Cut(string(text), " ")
	ns, err := strconv.ParseInt(own, 10, 64)
	if err != nil {
		return p, fmt.Errorf("%s: %w", stat, err)
	}
	p.own = time.Duration(ns)
	return p, nil
}
