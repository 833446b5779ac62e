package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/granarydb/granary/profile"
)

// Exit codes.
const (
	ExitOK     = 0
	ExitFailed = 1
	ExitUsage  = 2
	// ExitTrouble is the code of all errors of a command in which ExitFailed is an answer, as of diff(1).
	ExitTrouble = 2
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
	if !IsUsage(err) {
		if _, isTrouble := errors.AsType[troubleError](err); isTrouble {
			return ExitTrouble
		}
		return ExitFailed
	}
	if !told {
		fmt.Fprintf(stderr, "Try '%s --help'.\n", called.CommandPath())
	}
	return ExitUsage
}

// IsUsage reports whether err is a usage error.
func IsUsage(err error) bool {
	_, usage := errors.AsType[usageError](err)
	return usage || errors.Is(err, profile.ErrSelector) ||
		errors.Is(err, profile.ErrUnknownType) || errors.Is(err, profile.ErrAmbiguousType)
}

// NewHelp returns a command help, which prints the help of a sibling command: help top equals top --help.
// Cobra's own help command prints its own help if it does not know the command; this command returns an
// error.
func NewHelp(short string) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: short,
		RunE: func(cmd *cobra.Command, args []string) error {
			of := cmd.Parent()
			for _, name := range args {
				at := slices.IndexFunc(of.Commands(), func(c *cobra.Command) bool { return c.Name() == name })
				if at < 0 {
					return UnknownCommand(of, name)
				}
				of = of.Commands()[at]
			}
			of.InitDefaultHelpFlag() // lists the flag --help
			return of.Help()
		},
	}
}

// NewVersion returns the command version.
func NewVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Long: `version prints the version of granary that the Go toolchain recorded, the commit
of the build, the Go version and the platform. go install records no commit: the
version is its tag.`,
		Args: NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "granary %s\n", VersionText())
			return err
		},
	}
}

// commit is the commit of the build. The linker sets it in archives (.ci/archives). It is empty in a module
// that the go command downloaded, which has only a version.
var commit string

// VersionText returns the version, the commit of the build, the Go version and the platform.
func VersionText() string {
	version, commit := "(devel)", commit
	if info, ok := debug.ReadBuildInfo(); ok {
		version = info.Main.Version
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				commit = s.Value
			}
		}
	}
	if commit != "" {
		version += " " + commit
	}
	return fmt.Sprintf("%s %s %s/%s", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
