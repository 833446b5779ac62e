package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/granarydb/granary/profile"
)

// Exit codes.
const (
	ExitOK     = 0
	ExitFailed = 1
	ExitUsage  = 2
	// ExitInterrupted is the code that shells report for a process that an interrupt ended.
	ExitInterrupted = 130
)

// Run runs a program's root command with arguments and returns the exit code. It prints an error on one line
// of stderr, unless the error has already been printed (Failed). A hint to use --help follows a usage error.
// If ctx has ended, an error is an interrupt.
func Run(ctx context.Context, root *cobra.Command, args []string, stdout, stderr io.Writer) int {
	root.SilenceUsage, root.SilenceErrors = true, true
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages", fmt.Sprintf(".FlagUsagesWrapped %d", TextWidth)))
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.SetFlagErrorFunc(flagError)
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetArgs(args)
	called, err := root.ExecuteContextC(ctx)
	if err == nil {
		return ExitOK
	}
	if ctx.Err() != nil {
		if errors.Is(err, context.Canceled) {
			err = errors.New("interrupted")
		}
		fmt.Fprintf(stderr, "granary: %s\n", OneLine(err))
		return ExitInterrupted
	}
	told := WasTold(err)
	if !told {
		fmt.Fprintf(stderr, "granary: %s\n", OneLine(err))
	}
	if !isUsage(err) {
		return ExitFailed
	}
	if !told {
		fmt.Fprintf(stderr, "Try '%s --help'.\n", called.CommandPath())
	}
	return ExitUsage
}

// isUsage reports whether err is a usage error.
func isUsage(err error) bool {
	_, usage := errors.AsType[usageError](err)
	return usage || errors.Is(err, profile.ErrSelector) ||
		errors.Is(err, profile.ErrUnknownType) || errors.Is(err, profile.ErrAmbiguousType)
}
