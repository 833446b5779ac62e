package states

import (
	"fmt"
	"os"
	"strings"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/internal/ihs"
	"github.com/granarydb/granary/internal/input"
	"github.com/granarydb/granary/trace"
)

// histories lists the files that the commands read, for the error for another file.
const histories = "; a history is a set (NAME.ihs.gz), a history file, CSV whose name ends in .csv or .csv.gz, or a Go execution trace"

// checkSet returns an error if a name can only mean a set and there is no such set. The error says what the
// file with this name is, or that it does not exist.
func checkSet(name string) error {
	set := ihs.BaseName(name)
	if strings.HasPrefix(name, "synth:") || trace.IsCSV(name) || set != name || isGoTrace(name) {
		return nil // opening it reports an error with the given name
	}
	if _, err := os.Stat(set + ihs.IntervalsSuffix); err == nil {
		return nil
	}
	if scheme, _, ok := strings.Cut(name, "://"); ok && (scheme == "http" || scheme == "https") {
		return cli.Usage(fmt.Errorf("%s is a URL: curl -o FILE fetches it%s", name, histories))
	}
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return fmt.Errorf("%w, and there is no %s%s", err, set, ihs.IntervalsSuffix)
	case info.IsDir():
		return fmt.Errorf("%s is a directory: --db DIR names one that 'granary history load' wrote%s", name, histories)
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is no regular file%s", name, histories)
	}
	if what := input.Describe(name); what != "" {
		return fmt.Errorf("%s: %s%s", name, what, histories)
	}
	return fmt.Errorf("%s is no history%s", name, histories)
}
