package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	pprof "github.com/google/pprof/profile"
	"github.com/spf13/cobra"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/internal/debugfiles"
	"github.com/granarydb/granary/internal/debuginfo"
	"github.com/granarydb/granary/profile"
	codec "github.com/granarydb/granary/profile/pprof"
)

// symbolizing has the flags of symbolize.
type symbolizing struct {
	selection
	output string
	files  debugfiles.Options
}

func newSymbolize() *cobra.Command {
	var o symbolizing
	o.files.FetchTime, o.files.FetchBytes = time.Minute, 1<<30
	cmd := &cobra.Command{
		Use:   "symbolize -o FILE {--binary FILE|--symbols DIR} [flags] INPUT...",
		Short: "Give addresses the names of their functions",
		Long: `symbolize merges profiles, as merge does, and gives locations with an address
alone their functions, files and lines, with the calls that were inlined. It
writes one gzipped pprof profile. Other locations stay as they are. On standard
error it says how many got names, and lists the binaries without a file.

A binary is known by its build id, which the profile has, and the linker wrote
into the file (readelf -n). For a profile without build ids --binary names a
file of the same name. Files can be

  binaries       of Go also stripped ones (-ldflags=-s), because the runtime
                 needs the names; of C, C++ and Rust those with DWARF, built
                 with -g. Of others the functions that they export
  debug files    what 'objcopy --only-keep-debug' or a -dbg package has
  symbol files   of Breakpad, as dump_syms writes them

--symbols looks at all files below a directory, such as /usr/lib/debug. A server
of debuginfod is asked for the build ids that no other file has.`,
		Example: `  granary symbolize --binary ./shop -o named.pb.gz cpu.pb.gz
  granary symbolize --symbols /usr/lib/debug -o named.pb.gz profiles/
  granary symbolize --debuginfod https://debuginfod.debian.net -o - cpu.pb.gz |
      granary top -`,
		Args: inputs,
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, args) },
	}
	o.flags(cmd, "all types of the kind that is chosen")
	o.answerFlags(cmd)
	fs := cmd.Flags()
	fs.StringVarP(&o.output, "output", "o", "", "`FILE` to write; - is standard output")
	fs.StringArrayVar(&o.files.Files, "binary", nil, "take names from `FILE`; may be repeated")
	fs.StringArrayVar(&o.files.Dirs, "symbols", nil, "take names from the files below `DIR`; may be repeated")
	fs.StringVar(&o.files.Debuginfod, "debuginfod", "", "ask the debuginfod server at `URL` for files that are missing")
	fs.Var(cli.NewBytes("debuginfod-size", 1, &o.files.FetchBytes), "debuginfod-size", "take at most `BYTES` of a file from the server")
	fs.Var(cli.NewDuration("debuginfod-time", time.Second, 0, &o.files.FetchTime), "debuginfod-time", "wait at most `DURATION` for a file from the server")
	return cmd
}

// check returns a usage error for flags that leave nothing to do.
func (o *symbolizing) check(args []string) error {
	if o.output == "" {
		return cli.ErrNoOutput
	}
	if len(o.files.Files)+len(o.files.Dirs) == 0 && o.files.Debuginfod == "" {
		return cli.Usage(errors.New("name where the names are: --binary FILE, --symbols DIR or --debuginfod URL"))
	}
	if u, err := url.Parse(o.files.Debuginfod); o.files.Debuginfod != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		return cli.Usage(fmt.Errorf("--debuginfod %s: want an http or https URL", cli.Printable(o.files.Debuginfod)))
	}
	for _, dir := range o.files.Dirs {
		if _, err := os.ReadDir(dir); err != nil {
			return cli.Usage(fmt.Errorf("--symbols: %w", err))
		}
	}
	return spareProfiles(o.output, args)
}

func (o *symbolizing) run(cmd *cobra.Command, args []string) (err error) {
	if err := o.check(args); err != nil {
		return err
	}
	if o.files.Debuginfod != "" {
		if o.files.Keep, err = os.MkdirTemp("", "granary-debuginfod-"); err != nil {
			return err
		}
		o.files.KeepBytes = 1 << 40 // it goes at the end
		defer func() { err = errors.Join(err, os.RemoveAll(o.files.Keep)) }()
	}
	files, err := debugfiles.New(o.files)
	if err != nil {
		return cli.Usage(fmt.Errorf("--binary: %w", err))
	}
	defer func() { err = errors.Join(err, files.Close()) }()
	n := naming{files: files, fetches: o.files.Debuginfod != "", notes: cmd.ErrOrStderr()}
	err = withInputs(cmd, o.selection, args, func(ctx context.Context, db *profile.DB, snap *columnstore.Snapshot, q profile.Query) error {
		return mergePprof(ctx, cmd, db, snap, q, &o.selection, o.output, n.profile)
	})
	if err == nil && n.named == 0 && n.addresses > 0 {
		err = cli.Failed(errors.New("no location got a name")) // report said why
	}
	return err
}

// naming gives the locations of a profile names.
type naming struct {
	files            *debugfiles.Finder
	fetches          bool
	notes            io.Writer
	addresses, named int
}

// nameless counts the addresses of a binary that have no name.
type nameless struct {
	of        debugfiles.Binary
	hasFile   bool
	addresses int
}

// profile names the locations that have an address alone.
func (n *naming) profile(ctx context.Context, p *pprof.Profile) error {
	left := map[debugfiles.Binary]*nameless{}
	out := namedProfile{Profile: p, functions: map[pprof.Function]*pprof.Function{}}
	for _, f := range p.Function {
		out.functions[keyOf(f)] = f
	}
	for _, l := range p.Location {
		if len(l.Line) > 0 {
			continue
		}
		n.addresses++
		m := l.Mapping
		if m == nil {
			m = &pprof.Mapping{}
		}
		of := debugfiles.Binary{File: m.File, BuildID: m.BuildID}
		if left[of] == nil {
			has, err := n.find(ctx, of)
			if err != nil {
				return err
			}
			left[of] = &nameless{of: of, hasFile: has}
		}
		if frames := n.files.Frames(of, debuginfo.MappedAddress{Start: m.Start, Offset: m.Offset, Address: l.Address}); len(frames) > 0 {
			out.name(l, frames)
			n.named++
		} else {
			left[of].addresses++
		}
	}
	n.report(left)
	return p.CheckValid()
}

// find reports whether there is a file for a binary. It asks the server for one that is missing.
func (n *naming) find(ctx context.Context, of debugfiles.Binary) (bool, error) {
	if n.files.Has(of) || !n.fetches || of.BuildID == "" {
		return n.files.Has(of), nil
	}
	err := n.files.Fetch(ctx, of.BuildID)
	if ctx.Err() != nil {
		return false, err
	}
	if err != nil && !errors.Is(err, debugfiles.ErrNotFound) {
		fmt.Fprintf(n.notes, "granary: %s\n", cli.OneLine(err))
	}
	return n.files.Has(of), nil
}

// report says on standard error what was found, and what was not.
func (n *naming) report(left map[debugfiles.Binary]*nameless) {
	if n.addresses == 0 {
		fmt.Fprintln(n.notes, "granary: every location has lines already")
		return
	}
	fmt.Fprintf(n.notes, "granary: %s of %s got names\n", cli.Number(n.named), cli.Many(n.addresses, "location"))
	all := make([]*nameless, 0, len(left))
	for _, u := range left {
		if u.addresses > 0 {
			all = append(all, u)
		}
	}
	slices.SortFunc(all, func(a, b *nameless) int {
		return cmp.Or(b.addresses-a.addresses, strings.Compare(a.of.File, b.of.File), strings.Compare(a.of.BuildID, b.of.BuildID))
	})
	for _, u := range all {
		why := "no file has the build id " + u.of.BuildID
		switch {
		case u.hasFile:
			why = "its file has no names for them"
		case u.of.BuildID == "":
			why = "it has no build id; --binary names a file of the same name"
		}
		name := cmp.Or(path.Base(u.of.File), "unknown binary")
		if u.of.File == "" {
			name = "unknown binary"
		}
		fmt.Fprintf(n.notes, "granary: %s: %s without a name: %s\n", cli.Printable(name), cli.Many(u.addresses, "location"), cli.Printable(why))
	}
	if err := n.files.Problem(); err != nil {
		fmt.Fprintf(n.notes, "granary: %s\n", cli.OneLine(err))
	}
}

// namedProfile adds functions to a profile, each once.
type namedProfile struct {
	*pprof.Profile
	functions map[pprof.Function]*pprof.Function
}

func keyOf(f *pprof.Function) pprof.Function {
	key := *f
	key.ID = 0
	return key
}

// name gives a location frames.
func (p *namedProfile) name(l *pprof.Location, frames []debuginfo.NamedFrame) {
	for _, f := range frames {
		key := pprof.Function{Name: codec.Demangled(f.Function), SystemName: f.Function, Filename: f.File, StartLine: f.StartLine}
		of := p.functions[key]
		if of == nil {
			of = &key
			p.functions[keyOf(of)] = of
			of.ID = uint64(len(p.Function) + 1)
			p.Function = append(p.Function, of)
		}
		l.Line = append(l.Line, pprof.Line{Function: of, Line: f.Line})
	}
	if m := l.Mapping; m != nil {
		m.HasFunctions, m.HasInlineFrames = true, true
		m.HasFilenames, m.HasLineNumbers = m.HasFilenames || frames[0].File != "", m.HasLineNumbers || frames[0].Line > 0
	}
}
