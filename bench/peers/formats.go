package peers

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// formats are what the command in folder formats measures, in the workload durable alone. It is a
// module of its own.
var formats = map[string]string{
	"duckdb":         "DuckDB in a file: labels and types as strings, stacks as lists of UUIDs, an appender that is flushed after each profile, rows in the order of time",
	"duckdb-stacks":  "the same with numbers of stacks, and the lists in a second table",
	"parquet":        "Parquet with zstd, as granary export --stacks ids writes it, in the order of a compacted store",
	"parquet-stacks": "the same with numbers of stacks, and the lists in a second file",
}

// published are figures that others give, of stores that this project does not run.
var published = map[string]string{
	"pyroscope": "bytes a row: unknown. The server is not run here because of its licence (AGPL). Its documentation of blocks (grafana.com/docs/pyroscope, block format) has no sizes, and the release of 2.0 (2026-04) gives a ratio alone: symbols take up to 95 % less than before",
}

// isFormat reports whether the command in folder formats measures it.
func isFormat(name string) bool { return formats[name] != "" }

// formatsCommand is the program of folder formats.
type formatsCommand struct{ folder, program string }

// buildFormats builds the program in a temporary folder. The caller removes the folder.
func buildFormats() (f formatsCommand, err error) {
	module, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return f, fmt.Errorf("find the module of bench: %w", err)
	}
	if f.folder, err = os.MkdirTemp("", "granary-formats"); err != nil {
		return f, err
	}
	f.program = filepath.Join(f.folder, "formats")
	cmd := exec.Command("go", "build", "-o", f.program, ".")
	cmd.Dir = filepath.Join(filepath.Dir(strings.TrimSpace(string(module))), "formats")
	cmd.Env = append(os.Environ(), "GOWORK=off", "CGO_ENABLED=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		return f, errors.Join(fmt.Errorf("build formats, which needs cgo: %w: %s", err, bytes.TrimSpace(out)), os.RemoveAll(f.folder))
	}
	return f, nil
}

// measure measures a format in a process of its own.
func (f formatsCommand) measure(name string, rows int64) (m result, err error) {
	cmd := exec.Command(f.program, "-rows", strconv.FormatInt(rows, 10), "-name", name)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return m, err
	}
	if err := json.Unmarshal(out, &m); err != nil {
		return m, fmt.Errorf("read its figures: %w", err)
	}
	return m, nil
}
