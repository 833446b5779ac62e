package peers

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// formats are measured by the command in folder formats, a module of its own, and only in the workload
// durable.
var formats = map[string]string{
	"duckdb":         "DuckDB in a file: labels and types as strings, stacks as lists of UUIDs, an appender that is flushed after each profile, rows in the order of time",
	"duckdb-stacks":  "the same with numbers of stacks, and the lists in a second table",
	"parquet":        "Parquet with zstd, as granary export --stacks ids writes it, in the order of a compacted store",
	"parquet-stacks": "the same with numbers of stacks, and the lists in a second file",
}

// published are others' figures, for stores that this project does not run.
var published = map[string]string{
	"pyroscope": "bytes a row: unknown. The server is not run here because of its licence (AGPL). Its documentation of blocks (grafana.com/docs/pyroscope, block format) has no sizes, and the release of 2.0 (2026-04) gives a ratio alone: symbols take up to 95 % less than before",
}

// isFormat reports whether the command in folder formats measures it.
func isFormat(name string) bool { return formats[name] != "" }

// program is the program of another module in this project, which needs cgo.
type program struct{ folder, path string }

// programArguments are a program's build arguments, by its folder.
var programArguments = map[string][]string{formatsFolder: nil, duckFolder: {"-tags", "duckdb_arrow"}}

// formatsFolder is the folder of the command that measures formats.
const formatsFolder = "formats"

// folderOf returns the folder of the program that measures a peer, empty if this program does.
func folderOf(name string) string {
	if isFormat(name) {
		return formatsFolder
	}
	return kinds[name].folder
}

// buildProgram builds a folder's program in a temporary folder, which the caller removes.
func buildProgram(of string) (f program, err error) {
	module, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return f, fmt.Errorf("find the module of bench: %w", err)
	}
	if f.folder, err = os.MkdirTemp("", "granary-"+of); err != nil {
		return f, err
	}
	f.path = filepath.Join(f.folder, of)
	cmd := exec.Command("go", slices.Concat([]string{"build", "-o", f.path}, programArguments[of], []string{"."})...)
	cmd.Dir = filepath.Join(filepath.Dir(strings.TrimSpace(string(module))), of)
	cmd.Env = append(os.Environ(), "GOWORK=off", "CGO_ENABLED=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		return f, errors.Join(fmt.Errorf("build %s, which needs cgo: %w: %s", of, err, bytes.TrimSpace(out)), os.RemoveAll(f.folder))
	}
	return f, nil
}

// measure measures a peer in its own process.
func (f program) measure(arguments ...string) (m result, err error) {
	cmd := exec.Command(f.path, arguments...)
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
