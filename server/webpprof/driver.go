package webpprof

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"time"

	"github.com/google/pprof/driver"
	"github.com/google/pprof/profile"
)

// pagesOf returns the handlers of pprof's pages of a profile, which becomes theirs. The caller has its turn.
func pagesOf(p *profile.Profile) (pages map[string]http.Handler, err error) {
	defer withoutSettings(&err)()
	failed := driver.PProf(&driver.Options{
		Fetch: only{p}, Flagset: flags{}, Sym: none{}, Obj: noObjects{}, UI: none{}, Writer: noFiles{}, HTTPTransport: none{},
		HTTPServer: func(args *driver.HTTPServerArgs) error {
			pages = args.Handlers
			return nil
		},
	})
	if failed != nil {
		return nil, failed
	}
	for _, name := range Pages {
		if pages["/"+name] == nil {
			return nil, fmt.Errorf("pprof has no page %s", name)
		}
	}
	return pages, nil
}

// withoutSettings lets pprof look for its settings where no file can be. It finds their place once for each profile, by
// a variable of the environment, which is set back afterwards.
func withoutSettings(err *error) (end func()) {
	name := map[string]string{"windows": "AppData", "plan9": "home", "darwin": "HOME", "ios": "HOME"}[runtime.GOOS]
	name = cmp.Or(name, "XDG_CONFIG_HOME")
	before, isSet := os.LookupEnv(name)
	*err = os.Setenv(name, os.DevNull)
	return func() {
		if isSet {
			*err = cmp.Or(*err, os.Setenv(name, before))
		} else {
			*err = cmp.Or(*err, os.Unsetenv(name))
		}
	}
}

// only is the profile that pprof fetches.
type only struct{ p *profile.Profile }

// Fetch implements driver.Fetcher. Without a source pprof takes the profile for a local one, and keeps no copy.
func (o only) Fetch(string, time.Duration, time.Duration) (*profile.Profile, string, error) {
	return o.p, "", nil
}

// flags are those of a command line that asks for the web interface. pprof does not listen on the address.
type flags struct{}

// Bool implements driver.FlagSet.
func (flags) Bool(_ string, def bool, _ string) *bool { return &def }

// Int implements driver.FlagSet.
func (flags) Int(_ string, def int, _ string) *int { return &def }

// Float64 implements driver.FlagSet.
func (flags) Float64(_ string, def float64, _ string) *float64 { return &def }

// String implements driver.FlagSet.
func (flags) String(name, def, _ string) *string {
	if name == "http" {
		def = "localhost:0"
	}
	return &def
}

// StringList implements driver.FlagSet.
func (flags) StringList(string, string, string) *[]*string { return new([]*string) }

// ExtraUsage implements driver.FlagSet.
func (flags) ExtraUsage() string { return "" }

// AddExtraUsage implements driver.FlagSet.
func (flags) AddExtraUsage(string) {}

// Parse implements driver.FlagSet.
func (flags) Parse(func()) []string { return []string{"profile"} }

// errNone is the error of everything that pprof could look for.
var errNone = errors.New("there is none here")

// none has no symbols, no files, no network and no terminal.
type none struct{}

// Symbolize implements driver.Symbolizer.
func (none) Symbolize(string, driver.MappingSources, *profile.Profile) error { return nil }

// Disasm implements driver.ObjTool.
func (none) Disasm(string, uint64, uint64, bool) ([]driver.Inst, error) { return nil, errNone }

// RoundTrip implements http.RoundTripper.
func (none) RoundTrip(*http.Request) (*http.Response, error) { return nil, errNone }

// ReadLine implements driver.UI.
func (none) ReadLine(string) (string, error) { return "", io.EOF }

// Print implements driver.UI.
func (none) Print(...any) {}

// PrintErr implements driver.UI. A page has these messages too.
func (none) PrintErr(...any) {}

// IsTerminal implements driver.UI.
func (none) IsTerminal() bool { return false }

// WantBrowser implements driver.UI.
func (none) WantBrowser() bool { return false }

// SetAutoComplete implements driver.UI.
func (none) SetAutoComplete(func(string) string) {}

// noObjects is none as an ObjTool, and noFiles as a Writer: both have a method Open.
type (
	noObjects struct{ none }
	noFiles   struct{}
)

// Open implements driver.ObjTool.
func (noObjects) Open(string, uint64, uint64, uint64, string) (driver.ObjFile, error) {
	return nil, errNone
}

// Open implements driver.Writer.
func (noFiles) Open(string) (io.WriteCloser, error) { return nil, errNone }
