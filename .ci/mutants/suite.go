package main

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// suite is the tests of a binary, by the mutants that they reach.
type suite struct {
	binary, dir, temp string
	short             bool
	flags             []string
	took              map[string]time.Duration
	reach             map[int][]string // by mutant, quick ones first
}

// learn builds the binaries of other packages, and runs each test alone, for its time and the mutants that it reaches.
func learn(path string, others []string, dir string) (suites []*suite, err error) {
	for i, path := range append([]string{path}, others...) {
		packages, err := list(path)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			if text, err := build(path, dir, i); err != nil {
				return nil, fmt.Errorf("go test -c: %w: %s", err, text)
			}
		}
		for _, short := range []bool{true, false} {
			if i > 0 && !short {
				continue
			}
			s := &suite{
				binary: binary(dir, i), dir: packages[0].Dir, temp: filepath.Join(dir, "temp"), short: short,
				took: map[string]time.Duration{}, reach: map[int][]string{},
			}
			most := *slow
			if i == 0 {
				most = time.Hour
			}
			if err := s.learn(filepath.Join(dir, "hits"), most); err != nil {
				return nil, err
			}
			suites = append(suites, s)
		}
	}
	return suites, nil
}

func (s *suite) learn(hits string, most time.Duration) error {
	// Tests that draw do so with one seed, keep no failures, and do not look for smaller ones.
	s.flags = []string{"-rapid.seed=1", "-rapid.nofailfile", "-rapid.shrinktime=1ms"}
	text, err := s.run(0, hits, time.Minute, "-test.list", ".")
	if err != nil { // the package does not use rapid
		s.flags = nil
		text, err = s.run(0, hits, time.Minute, "-test.list", ".")
	}
	if err != nil {
		return fmt.Errorf("%w: %s", err, text)
	}
	for test := range strings.FieldsSeq(text) {
		if strings.HasPrefix(test, "Benchmark") {
			continue
		}
		if err := os.RemoveAll(hits); err != nil {
			return err
		}
		started := time.Now()
		if _, err := s.run(0, hits, 10*time.Minute, "-test.run", "^"+test+"$"); err != nil {
			fmt.Printf("left out: %s fails without a mutant, because the switches cost time and allocations\n", test)
			continue
		}
		if s.took[test] = time.Since(started); s.took[test] > most {
			continue
		}
		reached, _ := os.ReadFile(hits) // missing if it reaches none
		for line := range strings.FieldsSeq(string(reached)) {
			id, err := strconv.Atoi(line)
			if err != nil {
				return err
			}
			s.reach[id] = append(s.reach[id], test)
		}
	}
	for _, tests := range s.reach {
		slices.SortFunc(tests, func(a, b string) int { return int(s.took[a] - s.took[b]) })
	}
	return nil
}

// run runs tests with a mutant, or with none, for a time of a processor: a busy machine kills no mutant. Memory has a
// limit, because a mutant can take any amount.
func (s *suite) run(mutant int, hits string, limit time.Duration, args ...string) (text string, err error) {
	if err := os.RemoveAll(s.temp); err != nil {
		return "", err
	}
	if err := os.Mkdir(s.temp, 0o755); err != nil {
		return "", err
	}
	const patience = 20 // of the clock: of a mutant that waits, and in case this command is killed
	args = slices.Concat([]string{
		"-c", fmt.Sprintf(`ulimit -v 6000000 -t %d; exec "$0" "$@"`, limit/time.Second), s.binary,
		"-test.failfast", "-test.timeout=" + (patience * limit).String(), fmt.Sprint("-test.short=", s.short),
	}, s.flags, args)
	cmd := exec.Command("bash", args...)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "TMPDIR="+s.temp, "MUTANT="+strconv.Itoa(mutant), "MUTANT_HITS="+hits)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

var failed = regexp.MustCompile(`(?m)^--- FAIL: (\S+)|^((?:panic|fatal error): .*)$`)

// try runs the tests that reach a mutant, until one fails. by says what killed the mutant, and is empty if it lives.
func try(suites []*suite, id int) (by string, reached bool) {
	for _, s := range suites {
		tests := s.reach[id]
		reached = reached || len(tests) > 0
		for len(tests) > 0 { // quick tests first, several in a run
			n, sum := 1, s.took[tests[0]]
			for n < len(tests) && sum+s.took[tests[n]] < time.Second/2 {
				sum += s.took[tests[n]]
				n++
			}
			text, err := s.run(id, "", 3*time.Second+4*sum, "-test.run", "^("+strings.Join(tests[:n], "|")+")$")
			if err != nil {
				found := failed.FindStringSubmatch(text)
				return cmp.Or(strings.Join(found[min(1, len(found)):], ""), err.Error()), true
			}
			tests = tests[n:]
		}
	}
	return "", reached
}
