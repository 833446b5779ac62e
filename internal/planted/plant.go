package planted

import (
	"fmt"
	"strings"
)

// change is a source and the edit that a bug makes to it.
type change struct {
	*source
	*edit
}

// plant applies a bug to the current sources and returns the changes by file.
func (tr *tree) plant(b *bug) (map[string]change, error) {
	changes := map[string]change{}
	for _, h := range b.hunks {
		if err := tr.plantHunk(changes, &h, false); err != nil {
			return nil, fmt.Errorf("%s does not apply any more: %w; try -planted.update", b.path, err)
		}
	}
	return changes, nil
}

func (tr *tree) plantHunk(changes map[string]change, h *hunk, loose bool) error {
	c, ok := changes[h.file]
	if !ok {
		s, err := tr.read(h.file)
		if err != nil {
			return err
		}
		c = change{s, newEdit()}
		changes[h.file] = c
	}
	return h.applyTo(c.source, c.edit, loose)
}

// update rewrites a bug's file from the current sources.
func (tr *tree) update(path string) error {
	b, err := readBug(path)
	if err != nil {
		return err
	}
	changes := map[string]change{}
	for _, h := range b.hunks {
		h, err := tr.follow(h)
		if err != nil {
			return fmt.Errorf("%s does not apply any more: %w", path, err)
		}
		if err := tr.plantHunk(changes, &h, true); err != nil {
			return err
		}
	}
	var diff strings.Builder
	for _, file := range sorted(changes) {
		if c := changes[file]; len(c.gone)+len(c.added) > 0 {
			diff.WriteString(c.located(file))
		}
	}
	return b.write(diff.String())
}

// follow returns the hunk with the file that now contains its code. It tries h.file first,
// with a reduced context if need be. Then it tries all files, first with the whole context and then with a
// reduced one.
func (tr *tree) follow(h hunk) (hunk, error) {
	s, err := tr.read(h.file)
	if err == nil {
		if _, _, _, err = h.find(s, true); err == nil {
			return h, nil
		}
	}
	files, walkErr := tr.goFiles()
	if walkErr != nil {
		return h, walkErr
	}
	for _, loose := range []bool{false, true} {
		var in []string
		for _, file := range files {
			moved := h
			moved.file = file
			if s, err := tr.read(file); err != nil {
				return h, err
			} else if _, _, _, err := moved.find(s, loose); err == nil {
				in = append(in, file)
			}
		}
		switch len(in) {
		case 0:
		case 1:
			h.file = in[0]
			return h, nil
		default:
			return h, fmt.Errorf("%w; it can be in any of %q", err, in)
		}
	}
	return h, err
}

// located returns the diff with just enough context to locate each hunk uniquely, at least three lines.
func (c change) located(file string) string {
	for context := 3; ; context++ {
		diff := c.diff(file, c.lines, context)
		hunks, err := parseDiff(strings.Split(strings.TrimSuffix(diff, "\n"), "\n"))
		for i := range hunks {
			if err == nil {
				_, _, _, err = hunks[i].find(c.source, false)
			}
		}
		if err == nil || context > len(c.lines) {
			return diff
		}
	}
}
