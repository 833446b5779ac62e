package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/spf13/cobra"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/profile/pgo"
)

// pgoing has the flags of pgo.
type pgoing struct {
	selection
	output   string
	halfLife time.Duration
}

func newPGO() *cobra.Command {
	o := pgoing{output: "default.pgo"}
	cmd := &cobra.Command{
		Use:   "pgo [-o FILE] [flags] INPUT...",
		Short: "Make a small profile for go build -pgo of many profiles",
		Long: `pgo adds up the calls in CPU profiles of Go and writes default.pgo. The compiler
decides by it what to inline: put it beside the main package, or name it with
-pgo. It decides as with the profiles themselves, all merged. The file has two
frames for each call, however many profiles there are, so it can be committed.

Select the profiles of one program, such as with --selector and --from, over all
machines it runs on. With --half-life 7d the samples of a week ago count half as
much as those of the newest profile, those of two weeks ago a quarter, and so
on, so that the file follows what the program does now.

` + askedHelp,
		Example: `  granary pgo cpu/
  granary pgo --db profiles.db --selector '{service_name="api"}' --from -30d
  granary pgo --db profiles.db -o cmd/api/default.pgo --half-life 7d
  granary pgo http://localhost:6060/debug/pprof/profile?seconds=30`,
		Args: inputs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := spareProfiles(o.output, args); err != nil {
				return err
			}
			if o.sampleIndex == "" {
				o.sampleIndex = "cpu"
			}
			return withInputs(cmd, o.selection, args, func(ctx context.Context, db *profile.DB, snap *columnstore.Snapshot, q profile.Query) error {
				return o.write(ctx, cmd, db, snap, q)
			})
		},
	}
	o.flags(cmd, "cpu")
	cmd.Flags().StringVarP(&o.output, "output", "o", o.output, "`FILE` to write; - is standard output")
	cmd.Flags().Var(cli.NewDuration("half-life", time.Minute, 0, &o.halfLife), "half-life", "`DURATION` after which samples count half, such as 7d (default: all count the same)")
	return cmd
}

// write writes the calls of a query's samples.
func (o *pgoing) write(ctx context.Context, cmd *cobra.Command, db *profile.DB, snap *columnstore.Snapshot, q profile.Query) error {
	t, err := findType(ctx, db, snap, q, o.sampleIndex)
	if err != nil {
		return err
	}
	var calls pgo.Edges
	samples, err := o.add(ctx, &calls, db, snap, q, t)
	switch {
	case errors.Is(err, pgo.ErrLines):
		return fmt.Errorf("%w: they are of no Go program, or of one before Go 1.20", err)
	case err != nil:
		return err
	case samples == 0:
		return o.noteEmpty(ctx, cmd, db, snap, q, false, t)
	}
	return cli.WriteOutput(cmd, o.output, calls.Profile().Write)
}

// parts is the number of steps in which the weight halves.
const parts = 4

// mostParts bounds the steps: older samples would count less than a millionth.
const mostParts = 20 * parts

// add adds the calls, in steps of time if older samples count less, and returns the number of samples.
func (o *pgoing) add(ctx context.Context, to *pgo.Edges, db *profile.DB, snap *columnstore.Snapshot, q profile.Query, t profile.Type) (samples int, err error) {
	one := func(q profile.Query, scale float64) error {
		p, err := db.Profile(ctx, snap, q, t)
		if err != nil || len(p.Sample) == 0 {
			return err
		}
		samples += len(p.Sample)
		return to.Add(p, 0, scale)
	}
	if o.halfLife == 0 {
		err = one(q, 1)
		return samples, err
	}
	_, newest, err := spanOfTimes(ctx, db, snap)
	if err != nil {
		return 0, err
	}
	end := newest + 1
	if q.To != 0 {
		end = min(end, q.To)
	}
	step, first := max(1, int64(o.halfLife)/parts), cmp.Or(q.From, 1)
	for n := 0; n < mostParts && end > first && err == nil; n++ {
		of := q
		of.From, of.To = max(first, end-step), end
		// The weights stay whole numbers in the file, so the newest are not 1.
		err = one(of, 1024*math.Exp2(-(float64(n)+0.5)/parts))
		end -= step
	}
	return samples, err
}
