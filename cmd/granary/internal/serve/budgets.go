package serve

import (
	"errors"
	"fmt"
	"math"
	"os"
	"runtime/debug"
	"strings"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/columnstore"
)

// budgets are those of the flags --memory, --disk and --retention.
func (f *flags) budgets() columnstore.Budgets {
	return columnstore.Budgets{Memory: f.memory, Disk: f.disk, Retention: f.retention}
}

// readBudgets reads a file of budgets over those of the flags, such as disk=10GiB, in lines of any number.
func readBudgets(flag, name string, b columnstore.Budgets) (columnstore.Budgets, error) {
	for fields, err := range fieldsOf(flag, name) {
		for _, field := range fields {
			if err == nil {
				err = setBudget(&b, field)
			}
		}
		if err != nil {
			return b, fmt.Errorf("--%s %s: %w", flag, name, err)
		}
	}
	return b, nil
}

func setBudget(b *columnstore.Budgets, text string) error {
	name, value, _ := strings.Cut(text, "=")
	switch name {
	case "memory":
		return cli.NewBytes(name, 0, &b.Memory).Set(value)
	case "disk":
		return cli.NewBytes(name, 16<<20, &b.Disk).Set(value)
	case "retention":
		return cli.NewDuration(name, 0, 0, &b.Retention).Set(value)
	}
	return fmt.Errorf("%q: want memory=4GiB, disk=100GiB or retention=30d", text)
}

// setBudgets gives the store those of the file, and the garbage collector what the store's memory adds to --memory-total.
func (f *flags) setBudgets(s *secrets) error {
	if f.store == nil || f.files.budgets == "" {
		return nil
	}
	if err := f.store.SetBudgets(s.budgets); err != nil {
		return fmt.Errorf("--budgets %s: %w", f.files.budgets, err)
	}
	if os.Getenv("GOMEMLIMIT") == "" && !f.isUnbounded {
		most := int64(math.MaxInt64)
		if s.budgets.Memory > 0 {
			most = f.memoryTotal + s.budgets.Memory - f.memory
		}
		debug.SetMemoryLimit(most)
	}
	return nil
}

// checkBudgets returns a usage error for a file of budgets that its server cannot have.
func (f *flags) checkBudgets(b columnstore.Budgets) error {
	switch {
	case f.files.budgets == "":
		return nil
	case f.inMemory && b.Disk != 0:
		return cli.Usage(errors.New("--budgets: disk bounds files, and --in-memory has none"))
	case f.disk == 0 && b.Disk != 0:
		return cli.Usage(errors.New("--budgets: disk needs the flag --disk, because files are counted from the start on"))
	}
	return nil
}
