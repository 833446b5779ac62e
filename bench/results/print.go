package results

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
)

// Print writes a report as indented JSON to standard output.
func Print(report any) error {
	out := json.NewEncoder(os.Stdout)
	out.SetIndent("", "  ")
	return out.Encode(report)
}

// Machine names the system, its processors and the Go version.
func Machine() string {
	return fmt.Sprintf("%s/%s, %d CPUs, %s", runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0), runtime.Version())
}
