package states

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/history/union"
)

// joinedMagic is the first line of a file that names several histories, which are asked as one: one a line, relative to the
// folder of the file or absolute.
const joinedMagic = "granary history import --join 1"

// maxMembers bounds the histories that are asked as one. Each is an open file.
const maxMembers = 100

// importJoined writes a file that names history files, and prints what they have together.
func importJoined(cmd *cobra.Command, output string, names []string) error {
	folder, err := filepath.Abs(filepath.Dir(output))
	if err != nil {
		return err
	}
	lines := []string{joinedMagic}
	for _, name := range names {
		if !isHistoryFile(name) {
			return cli.Usage(fmt.Errorf("%s is no history file: --join names those that import -o RUN.history writes", name))
		}
		path, err := filepath.Abs(name)
		if err != nil {
			return err
		}
		if rel, err := filepath.Rel(folder, path); err == nil { // all can be moved together
			path = filepath.ToSlash(rel)
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

// joinedNames returns the names of the histories that a file names, nil if it is no such file.
func joinedNames(name string) ([]string, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, nil // the error is that of another reader of the file
	}
	defer f.Close()
	head := make([]byte, len(joinedMagic)+1)
	if _, err := io.ReadFull(f, head); err != nil || string(head) != joinedMagic+"\n" {
		return nil, nil
	}
	var names []string
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if len(names) == maxMembers {
			return nil, fmt.Errorf("%s: more than %d histories", name, maxMembers)
		}
		path := lines.Text()
		if !filepath.IsAbs(path) {
			path = filepath.Join(filepath.Dir(name), path)
		}
		names = append(names, path)
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

// abandon closes what is open, and returns an error.
func (r *recording) abandon(err error) error {
	r.close()
	return err
}

// member returns the history as one of several.
func (r *recording) member() union.Member {
	if r.whole != nil {
		return union.Complete(r.whole)
	}
	return r.part
}
