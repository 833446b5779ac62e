package serve

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/granarydb/granary/server"
)

// AddSources adds the flag for directories of source files.
func AddSources(fs *pflag.FlagSet, to *[]server.SourceDir) {
	fs.Var(&sourcesFlag{to}, "sources", "show the lines of source files whose names begin with PREFIX from DIR, in the page, or from a revision of a git repository: PREFIX=git:DIR@REVISION; {version} in DIR or REVISION is the profiles' label version; `PREFIX=DIR`, can be repeated. Every client that can read profiles can read these lines, and no other file")
}

// gitPrefix begins a DIR that is a git repository with a revision. Without it an @ is a part of a name, as in Go's module cache.
const gitPrefix = "git:"

// sourcesFlag is the value of the flag.
type sourcesFlag struct{ to *[]server.SourceDir }

// String implements pflag.Value.
func (s *sourcesFlag) String() string {
	var all []string
	if s.to != nil {
		for _, d := range *s.to {
			if d.Revision != "" {
				d.Dir = gitPrefix + d.Dir + "@" + d.Revision
			}
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
	one := server.SourceDir{Prefix: prefix, Dir: dir}
	if repository, is := strings.CutPrefix(dir, gitPrefix); is {
		at := strings.LastIndex(repository, "@")
		if at < 1 || at == len(repository)-1 {
			return fmt.Errorf("want PREFIX=git:DIR@REVISION, such as /build/shop=git:/srv/shop.git@v{version}, not %q", text)
		}
		one.Dir, one.Revision = repository[:at], repository[at+1:]
	}
	*s.to = append(*s.to, one)
	return nil
}

// Type implements pflag.Value.
func (s *sourcesFlag) Type() string { return "PREFIX=DIR" }
