package states

import (
	"fmt"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/internal/attrpath"
)

// StateText returns a state as a user names it: a string as it is, null for none.
func StateText(v history.Value) string {
	if v.Kind() == history.KindString {
		return v.Text()
	}
	return v.String()
}

// AttributePath returns the names of a path for profile.States, in which {label} stands for the label of a sample.
func AttributePath(text string) ([]string, error) {
	path, err := attrpath.ParsePattern(text)
	if err == nil && path.IsWild() {
		err = fmt.Errorf("%s: want an attribute, without * and .. in its path", cli.Printable(text))
	}
	return path.Names, err
}
