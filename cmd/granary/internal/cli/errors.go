package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// usageError is an error in the use of a command. The exit code is 2, and a hint to use --help follows the
// message.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// failedError is a failure that has already been printed.
type failedError struct{ error }

func (e failedError) Unwrap() error { return e.error }

// troubleError is a failure of a command whose exit code ExitFailed is an answer.
type troubleError struct{ error }

func (e troubleError) Unwrap() error { return e.error }

// Trouble returns err as a failure with the exit code ExitTrouble, for a command in which ExitFailed is an answer.
func Trouble(err error) error {
	if err == nil {
		return nil
	}
	return troubleError{err}
}

// Usage returns err as a usage error.
func Usage(err error) error { return usageError{err} }

// Failed returns err as a failure that has already been printed.
func Failed(err error) error { return failedError{err} }

// flagError converts an error of the flag parser to a usage error, without the names of Go's parse functions.
// It suggests similar names if cmd does not have the flag.
func flagError(cmd *cobra.Command, err error) error {
	if told, ok := errors.AsType[usageError](err); ok {
		return told
	}
	if message, _, ok := strings.Cut(err.Error(), ": strconv.ParseBool"); ok {
		return Usage(errors.New(message + ": want true or false"))
	}
	if lacking, ok := errors.AsType[*pflag.NotExistError](err); ok {
		return Usage(fmt.Errorf("%w%s", err, nearFlags(cmd, lacking)))
	}
	return Usage(err)
}

// nearFlags returns a question that suggests flags with names similar to the unknown name. Names after a
// single dash, as in -cum, are a habit from go tool pprof.
func nearFlags(cmd *cobra.Command, unknown *pflag.NotExistError) string {
	name := unknown.GetSpecifiedName()
	if letters := unknown.GetSpecifiedShortnames(); letters != "" {
		name, _, _ = strings.Cut(letters, "=")
	}
	if cmd.Flags().Lookup(name) != nil {
		return didYouMean("--", []string{name})
	}
	near := &cobra.Command{SuggestionsMinimumDistance: 2} // cobra compares only names of commands
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		near.AddCommand(&cobra.Command{Use: f.Name, Run: func(*cobra.Command, []string) {}})
	})
	return didYouMean("--", near.SuggestionsFor(name))
}

// didYouMean returns a question that suggests names, each after a prefix, or "" without names.
func didYouMean(prefix string, names []string) string {
	if len(names) == 0 {
		return ""
	}
	return ": did you mean " + prefix + strings.Join(names, " or "+prefix) + "?"
}

// UnknownCommand returns the usage error for a name that no subcommand of cmd has. It suggests similar names.
func UnknownCommand(cmd *cobra.Command, name string) error {
	return Usage(fmt.Errorf("unknown command %q%s", name, didYouMean("", slices.Sorted(slices.Values(cmd.SuggestionsFor(name))))))
}

// NoArguments is the argument check of a command without arguments.
func NoArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return Usage(fmt.Errorf("%s takes no arguments, not %q", cmd.Name(), args[0]))
	}
	return nil
}

// Arguments returns the argument check of a command with least to most arguments. Its usage error begins with
// a request, such as "name one file".
func Arguments(least, most int, request string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) < least || len(args) > most {
			return Usage(fmt.Errorf("%s, not %d", request, len(args)))
		}
		return nil
	}
}

// WasTold reports whether err has already been printed.
func WasTold(err error) bool {
	_, told := errors.AsType[failedError](err)
	return told
}

// OneLine returns the text of err on one line. Some parsers return errors of several lines.
func OneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

// NoCommand prints the help of a command that was called without a subcommand, and returns a usage error that
// counts as printed, because the help is its message.
func NoCommand(cmd *cobra.Command, _ []string) error {
	if err := cmd.Help(); err != nil {
		return err
	}
	return Failed(Usage(errors.New("a command is missing")))
}

// ErrNoOutput is the error for a missing -o.
var ErrNoOutput = Usage(errors.New("no output: add -o FILE, or -o - for standard output"))
