package states

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/history/union"
)

// joinedMagic is the first line of a file that lists several histories to query as one. Each further line is
// the name of a history file, by keptName.
const joinedMagic = "granary history import --join 1"

// maxMembers bounds the histories that can be queried as one, because each is an open file.
const maxMembers = 100

// importJoined writes a list of history files, and prints a summary of their union.
func importJoined(cmd *cobra.Command, output string, names []string) error {
	lines := []string{joinedMagic}
	for _, name := range names {
		if !isHistoryFile(name) {
			return cli.Usage(fmt.Errorf("%s is no history file: --join names files that import -o RUN.history writes", name))
		}
		path, err := keptName(name, output)
		if err != nil {
			return err
		}
		if strings.ContainsAny(path, "\r\n") {
			return fmt.Errorf("%q: a name of two lines cannot be joined", name)
		}
		lines = append(lines, path)
	}
	l, err := openJoined(cmd.Context(), names)
	if err != nil {
		return err
	}
	defer l.close()
	err = cli.WriteOutput(cmd, output, func(w io.Writer) error {
		_, err := io.WriteString(w, strings.Join(lines, "\n")+"\n")
		return err
	})
	if err != nil {
		return err
	}
	p := cli.Printer{W: cmd.OutOrStdout()}
	p.Printf("%s: %s of %s, from %s to %s; the files must stay\n", cli.Printable(output), cli.Many(l.Len(), "attribute"),
		cli.Many(len(names), "history file"), cli.TimeJSON(l.Start()), cli.TimeJSON(l.End()))
	return p.Err
}

// joinedNames returns the names of the histories that a file lists, or nil if it is not a list.
func joinedNames(name string) ([]string, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, nil // the error is reported when the file is opened as something else
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	if !lines.Scan() || lines.Text() != joinedMagic {
		return nil, nil
	}
	var names []string
	for lines.Scan() {
		if len(names) == maxMembers {
			return nil, fmt.Errorf("%s: more than %d histories", name, maxMembers)
		}
		names = append(names, foundName(lines.Text(), name))
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%s names no histories", name)
	}
	return names, nil
}

// openJoined opens history files as one history.
func openJoined(ctx context.Context, names []string) (*recording, error) {
	out := &recording{memberNames: names}
	var members []union.Member
	for _, name := range names {
		more, err := joinedNames(name)
		if err == nil && more != nil {
			err = fmt.Errorf("%s: it is several histories itself: join those", name)
		}
		if err != nil {
			return nil, out.abandon(err)
		}
		l, err := openFile(ctx, name)
		if err != nil {
			return nil, out.abandon(err)
		}
		out.members, members = append(out.members, l), append(members, l.member())
		out.size += l.size
	}
	h, err := union.Join(ctx, 0, members...)
	if err != nil {
		return nil, out.abandon(fmt.Errorf("histories of %s: %w", strings.Join(names, ", "), err))
	}
	out.Names, out.asked = h.Names(), h
	return out, nil
}

// abandon closes the open files, and returns err.
func (r *recording) abandon(err error) error {
	r.close()
	return err
}

// member returns the history as a member of a union.
func (r *recording) member() union.Member {
	if r.whole != nil {
		return union.Complete(r.whole)
	}
	return r.part
}
