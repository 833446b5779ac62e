package main

import (
	"cmp"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
)

// The values of --sort.
const (
	sortFlat = "flat"
	sortCum  = "cum"
	sortName = "name"
)

// ordering holds the flags for the order of a table of functions.
type ordering struct {
	by  string
	cum bool
}

// flags adds the flags. The greatest absolute values come first.
func (o *ordering) flags(cmd *cobra.Command) {
	o.by = sortFlat
	cmd.Flags().Var(cli.NewChoice("sort", []string{sortFlat, sortCum, sortName}, &o.by), "sort", "sort functions by `COLUMN`: flat, cum or name")
	cmd.Flags().BoolVar(&o.cum, "cum", false, "sort functions by cum: short for --sort cum")
	cmd.PreRunE = func(*cobra.Command, []string) error {
		if o.cum && o.by != sortCum && cmd.Flags().Changed("sort") {
			return cli.Usage(fmt.Errorf("--cum and --sort %s: choose one", o.by))
		}
		return nil
	}
}

// compare compares two functions by their flat and cumulative values, and their names.
func (o *ordering) compare(flatA, cumA int64, nameA string, flatB, cumB int64, nameB string) int {
	flat, cum, name := bySize(flatA, flatB), bySize(cumA, cumB), cmp.Compare(nameA, nameB)
	switch {
	case o.cum || o.by == sortCum:
		return cmp.Or(cum, flat, name)
	case o.by == sortName:
		return name
	default:
		return cmp.Or(flat, cum, name)
	}
}
