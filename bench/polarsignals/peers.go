package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	_ "embed"
)

// engine is an engine of the benchmark.
type engine struct {
	name   string
	python bool // peers.py runs it
}

var engines = []engine{
	{name: "oracle"},
	{name: "granary"},
	{name: "granary-files"},
	{name: "arrow-by-hand"},
	{name: "duckdb-memory", python: true},
	{name: "duckdb-parquet", python: true},
	{name: "datafusion", python: true},
	{name: "clickhouse", python: true},
	{name: "polars", python: true},
	{name: "vortex", python: true},
}

func engineNames() (names []string) {
	for _, e := range engines {
		names = append(names, e.name)
	}
	return names
}

func engineOf(name string) engine {
	for _, e := range engines {
		if e.name == name {
			return e
		}
	}
	return engine{}
}

//go:embed peers.py
var script []byte

//go:embed requirements.txt
var requirements []byte

// peers runs engines that are Python packages.
type peers struct {
	folder string // of the environment
	dir    string // for the script and the files of rows
	python string // the interpreter, once the environment is there
	err    error  // why it is not
}

// measure measures an engine with the rows of a source, which are written to a file first if it is missing.
func (p *peers) measure(ctx context.Context, s *source, rows, engine string, repeat int) (*result, error) {
	if err := p.prepare(ctx); err != nil {
		return nil, err
	}
	if _, err := os.Stat(rows); errors.Is(err, os.ErrNotExist) {
		if err := p.write(ctx, s, rows); err != nil {
			return nil, errors.Join(fmt.Errorf("write the rows: %w", err), os.RemoveAll(rows))
		}
	}
	cmd := p.command(ctx, "measure", engine, rows, strconv.Itoa(repeat))
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	r := &result{}
	return r, json.Unmarshal(out, r)
}

func (p *peers) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, p.python, append([]string{filepath.Join(p.dir, "peers.py")}, args...)...)
	cmd.Stderr = os.Stderr
	return cmd
}

// write writes all rows as Parquet. The script writes it, from an Arrow stream.
func (p *peers) write(ctx context.Context, s *source, rows string) error {
	cmd := p.command(ctx, "write", rows)
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	err = s.stream(in)
	return errors.Join(err, ignoreClosed(in), cmd.Wait())
}

func ignoreClosed(c io.Closer) error {
	if err := c.Close(); !errors.Is(err, os.ErrClosed) {
		return err
	}
	return nil
}

// prepare makes the environment with the pinned packages, unless it is there.
func (p *peers) prepare(ctx context.Context) error {
	if p.python == "" && p.err == nil {
		p.err = p.makeEnvironment(ctx)
	}
	return p.err
}

func (p *peers) makeEnvironment(ctx context.Context) error {
	if p.folder == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return err
		}
		p.folder = filepath.Join(cache, "granary-polarsignals")
	}
	if err := os.WriteFile(filepath.Join(p.dir, "peers.py"), script, 0o644); err != nil {
		return err
	}
	python, done := filepath.Join(p.folder, "bin", "python"), filepath.Join(p.folder, "requirements.txt")
	if have, err := os.ReadFile(done); err != nil || string(have) != string(requirements) {
		fmt.Fprintf(os.Stderr, "polarsignals: install the Python packages into %s\n", p.folder)
		wanted := filepath.Join(p.dir, "requirements.txt")
		if err := os.WriteFile(wanted, requirements, 0o644); err != nil {
			return err
		}
		for _, args := range [][]string{
			{"python3", "-m", "venv", p.folder},
			{python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:", "-r", wanted},
		} {
			if out, err := exec.CommandContext(ctx, args[0], args[1:]...).CombinedOutput(); err != nil {
				return fmt.Errorf("%v: %w: %s", args, err, out)
			}
		}
		if err := os.WriteFile(done, requirements, 0o644); err != nil {
			return err
		}
	}
	p.python = python
	return nil
}
