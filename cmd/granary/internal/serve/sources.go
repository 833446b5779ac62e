package serve

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/granarydb/granary/server"
)

// AddSources adds the flag for directories of source files.
func AddSources(fs *pflag.FlagSet, to *[]server.SourceDir) {
	fs.Var(&sourcesFlag{to}, "sources", "show the lines of source files whose names begin with PREFIX from DIR, in the page; {version} in DIR is the profiles' label version; `PREFIX=DIR`, can be repeated. Everyone who can read profiles can read these lines, and no other file")
}

// sourcesFlag is the value of the flag.
type sourcesFlag struct{ to *[]server.SourceDir }

// String implements pflag.Value.
func (s *sourcesFlag) String() string {
	var all []string
	if s.to != nil {
		for _, d := range *s.to {
			all = append(all, d.Prefix+"="+d.Dir)
		}
	}
	return strings.Join(all, ",")
}

// Set implements pflag.Value.
func (s *sourcesFlag) Set(text string) error {
	prefix, dir, has := strings.Cut(text, "=")
	if !has || dir == "" {
		return fmt.Errorf("want PREFIX=DIR, such as /build/shop=/srv/src/shop, not %q", text)
	}
	*s.to = append(*s.to, server.SourceDir{Prefix: prefix, Dir: dir})
	return nil
}

// Type implements pflag.Value.
func (s *sourcesFlag) Type() string { return "PREFIX=DIR" }
