package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/granarydb/granary/cmd/granary/internal/check"
	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/internal/input"
	"github.com/granarydb/granary/internal/timetext"
)

// checkOptions holds the flags of check.
type checkOptions struct {
	selection
	sides      [2][]string // of --base and --new
	base       baseFlags
	run        string // what makes a run: a label, or a duration
	options    check.Options
	by         string
	budget     string
	limit      cli.Limit
	asJSON     bool
	asMarkdown bool
	svg        string
	bench      benchOptions
}

// baseFlags are the flags that choose the samples of the base alone.
type baseFlags struct{ selector, from, to string }

func newCheck() *cobra.Command {
	o := checkOptions{options: check.DefaultOptions(), run: labelFile, by: string(check.PerAny)}
	cmd := &cobra.Command{
		Use:   "check [flags] BASE NEW",
		Short: "Find regressions between two sets of profiles",
		Long: `check compares the profiles of a program before a change with those after it,
function by function. The exit code is 0 without a regression, 1 with one, and 2
after any error, so that a job of CI can act on it.

A regression is a total, or a function by itself or with what it calls, that
costs more by --max-growth and has at least --min-share of the total. It must be
more than chance. With enough runs of each side, five for --alpha 1%, that is a
test by permutation: if nothing changed, a regression anywhere in the answer has
at most the probability --alpha, however many functions there are. With fewer
runs CPU time is tested by its numbers of samples. Of other types all new runs
must be above all of the base, and the answer says so.

A run is a file with samples. BASE and NEW are each a file, several with commas,
a directory of files, an http URL, or - for standard input; --base and --new may
be repeated instead. --db is a store, as with diff: twice, or once for both
sides, which --base-selector, --base-from and --base-to tell apart. Of a store a
run is a value of the label that --run names, such as pod, or a span of time:
--run 10m.

Costs are compared by operation if all profiles have the label ops, the number
of operations that were measured: of a folder ops=1000, or of --bench. Values at
an instant, such as the heap in use, are compared as they are. Else functions
are compared by their shares of each run's total, so that runs may be of any
length, and totals are not compared. A share also grows if all else costs less.
--per chooses otherwise: run compares values as they are.

Of Go execution traces, named as files, the time of goroutines in each state is
compared too, by function: the type states.

Functions keep their names where compilers change them: instances of generic
functions are one, and closures of a function are one if their numbers shifted.
A function that is gone and one that is new with the same last part of the name,
or the same cost, are compared as one that was renamed. If a caller costs more
by what a function that is gone did, it was inlined, and they are compared as
one; likewise for a new one that was cut out of its caller.

--budget FILE has a line for each limit: a function, in which * stands for any
text, and 3% for its share of the total with what it calls, or +3% for its
growth, instead of --max-growth. A type such as alloc_space may follow. A
function beyond it is a regression.

--bench REGEX measures: it runs benchmarks of --package at the commit --against,
in a worktree of git, and in the working tree, in turns, --count times, and
compares their CPU time and, all of it recorded, what they allocate. --keep DIR
keeps the profiles, and BASE alone is compared with instead of a commit.

` + inputForms + ` A profile that cannot
be read is an error: nothing is decided by the others.`,
		Example: `  granary check main.pb.gz change.pb.gz
  granary check --markdown base/ new/ > comment.md
  granary check --base a.pb.gz --base b.pb.gz --new c.pb.gz --new d.pb.gz
  granary check --db D.db --base-selector '{version="1.4"}' \
    --selector '{version="1.5"}' --run pod
  granary check --bench Parse --package ./json --against origin/main
  echo 'main.parse* 3% cpu' > budget && granary check --budget budget a/ b/`,
		Args: func(cmd *cobra.Command, args []string) error { return o.checkArgs(cmd, args) },
		RunE: func(cmd *cobra.Command, args []string) error {
			err := o.answer(cmd, args)
			if _, is := errors.AsType[*regressedError](err); is {
				return err
			}
			return cli.Trouble(err)
		},
	}
	o.flags(cmd)
	return cmd
}

func (o *checkOptions) flags(cmd *cobra.Command) {
	o.selection.flags(cmd, "all types of both sides")
	o.frameFlags(cmd)
	o.cumulative = countSum // each run is a process of its own
	flags := cmd.Flags()
	flags.Lookup("cumulative").DefValue = countSum
	flags.StringArrayVar(&o.sides[0], "base", nil, "an `INPUT` of the base, instead of BASE; may be repeated")
	flags.StringArrayVar(&o.sides[1], "new", nil, "an `INPUT` of the new side, instead of NEW; may be repeated")
	flags.StringVar(&o.base.selector, "base-selector", "", "--selector for the base: `LABELS`")
	flags.StringVar(&o.base.from, "base-from", "", "--from for the base: `TIME`")
	flags.StringVar(&o.base.to, "base-to", "", "--to for the base: `TIME`")
	flags.StringVar(&o.run, "run", o.run, "what makes a run: a `LABEL`, or a duration such as 10m")
	by := []string{string(check.PerAny), string(check.PerOperation), string(check.PerTotal), string(check.PerRun)}
	flags.Var(cli.NewChoice("per", by, &o.by), "per", "compare costs by `BASIS`: op, share, run, or auto")
	flags.Var(cli.NewPercent("max-growth", 1e4, &o.options.MaxGrowth), "max-growth", "the `GROWTH` of a cost that is allowed")
	flags.Var(cli.NewPercent("min-share", 100, &o.options.MinShare), "min-share", "the `SHARE` of the total from which a function matters")
	flags.Var(cli.NewPercent("alpha", 50, &o.options.Alpha), "alpha", "the `PROBABILITY` of a regression by chance")
	flags.StringVar(&o.budget, "budget", "", "a `FILE` of limits of functions")
	o.limit.Flags(cmd, "", 20, "show the first `N` functions of each type")
	flags.BoolVar(&o.asJSON, "json", false, "print JSON: shares and growths are fractions, values are in the unit of the type")
	flags.BoolVar(&o.asMarkdown, "markdown", false, "print Markdown, for a comment of a pull request")
	flags.StringVar(&o.svg, "svg", "", "draw the difference of the first type that is worse to the `FILE`, as a flame graph")
	o.bench.flags(cmd)
}

// checkArgs returns a usage error for sides that are missing or too many.
func (o *checkOptions) checkArgs(cmd *cobra.Command, args []string) error {
	if o.asJSON && o.asMarkdown {
		return cli.Usage(errors.New("--json and --markdown: choose one"))
	}
	if o.bench.isAsked() {
		return o.bench.checkArgs(cmd, o, args)
	}
	if err := o.bench.refuse(cmd); err != nil {
		return err
	}
	named := len(o.sides[0]) > 0 || len(o.sides[1]) > 0
	stores := len(o.db)
	switch {
	case named && (len(args) > 0 || stores > 0 || len(o.sides[0]) == 0 || len(o.sides[1]) == 0):
		return cli.Usage(errors.New("--base and --new name all inputs: at least one of each, and no others"))
	case named:
	case stores == 1 && len(args) == 0:
		if o.base == (baseFlags{}) {
			return cli.Usage(errors.New("both sides are the same: tell them apart with --base-selector, or --base-from and --base-to, or name a second --db"))
		}
		return insteadOfInputs(cmd, args, 1)
	case stores == 2:
		return insteadOfInputs(cmd, args, 2)
	case stores+len(args) != 2:
		return cli.Usage(fmt.Errorf("check compares two sides, BASE and NEW, not %d: each is a file, several with commas, a directory, an http URL, host:port, - for standard input, or --db DIR", stores+len(args)))
	}
	var all []string
	for _, side := range o.sidesOf(args) {
		all = append(all, side.inputs...)
	}
	return checkInputs(cmd, all)
}

// checkSide is what one side is read from.
type checkSide struct {
	selection
	name   string
	inputs []string
}

// sidesOf returns both sides.
func (o *checkOptions) sidesOf(args []string) [2]*checkSide {
	sides := [2]*checkSide{{selection: o.selection}, {selection: o.selection}}
	base := sides[0]
	base.selector, base.from, base.to = cmp.Or(o.base.selector, o.selector), cmp.Or(o.base.from, o.from), cmp.Or(o.base.to, o.to)
	stores := o.db
	if len(stores) == 1 && len(args) == 0 && len(o.sides[0]) == 0 {
		stores = []string{stores[0], stores[0]}
	}
	for i, side := range sides {
		side.db, side.withStates = nil, true
		switch {
		case len(o.sides[i]) > 0:
			side.inputs = o.sides[i]
		case i < len(stores):
			side.db = stores[i : i+1]
		case i-len(stores) < len(args):
			side.inputs = splitInputs(args[i-len(stores)])
		}
		side.name = cli.Printable(strings.Join(slices.Concat(side.db, side.inputs), ","))
		side.side = side.name + ": "
	}
	return sides
}

// splitInputs returns the inputs in an argument with commas between them. A file may have commas in its name, and a URL too.
func splitInputs(arg string) []string {
	if _, err := os.Stat(arg); err == nil || input.IsURL(arg) {
		return []string{arg}
	}
	return strings.Split(arg, ",")
}

// regressedError is the error of a regression. Its exit code is 1, and that of all others 2.
type regressedError struct{ conclusion string }

func (e *regressedError) Error() string { return e.conclusion }

// answer compares the sides and prints the result.
func (o *checkOptions) answer(cmd *cobra.Command, args []string) error {
	o.options.By = check.Basis(o.by)
	if o.svg != "" {
		if err := cli.CheckSVG(o.svg); err != nil {
			return err
		}
	}
	if err := o.readBudget(); err != nil {
		return err
	}
	if o.bench.isAsked() {
		measured, cleanup, err := o.bench.measure(cmd, args)
		defer cleanup()
		if err != nil {
			return err
		}
		args = measured
	}
	pairs, err := o.read(cmd, args)
	if err != nil {
		return err
	}
	report, err := check.Compare(measuredOf(pairs), o.options)
	if err != nil {
		return err
	}
	if err := o.print(cmd.OutOrStdout(), report); err != nil {
		return err
	}
	if o.svg != "" {
		if err := o.draw(cmd, pairs, report); err != nil {
			return err
		}
	}
	if report.IsRegressed {
		return &regressedError{strings.ToLower(report.Conclusion()[:1]) + strings.TrimSuffix(report.Conclusion()[1:], ".")}
	}
	return nil
}

// readBudget reads the file of --budget.
func (o *checkOptions) readBudget() error {
	if o.budget == "" {
		return nil
	}
	f, err := os.Open(o.budget)
	if err != nil {
		return fmt.Errorf("--budget: %w", err)
	}
	defer f.Close()
	if o.options.Budget, err = check.ReadBudget(f); err != nil {
		return fmt.Errorf("--budget %s: %w", o.budget, err)
	}
	return nil
}

func (o *checkOptions) print(w io.Writer, report *check.Report) error {
	n := o.limit.Of(o.asJSON)
	if o.asJSON {
		for i := range report.Types {
			report.Types[i].Functions = cli.First(report.Types[i].Functions, n)
		}
		return cli.PrintJSON(w, report)
	}
	p := cli.Printer{W: w}
	if o.asMarkdown {
		report.Markdown(&p, n)
	} else {
		report.Text(&p, n)
	}
	return p.Err
}

// window returns the duration of --run, or 0 if it is a label.
func (o *checkOptions) window() time.Duration {
	d, _ := timetext.Duration(o.run)
	return d
}
