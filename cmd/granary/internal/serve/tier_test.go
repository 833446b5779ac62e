package serve

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/internal/disk"
	"github.com/granarydb/granary/server"
)

// otherFlags are those of serve that no tier has.
var otherFlags = []string{"in-memory", "partial-answers", "query-from"}

// A tier's command has each flag of serve, but for a store in memory and a front.
func TestTier_Flags(t *testing.T) {
	named := func(fs *pflag.FlagSet) (names []string) {
		fs.VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		return names
	}
	tier := NewTier(Tier{Use: "serve", Sync: disk.SyncEach, ResultBytes: 7, Flags: func(fs *pflag.FlagSet) { fs.Bool("zone", false, "") }}).Flags()
	got, want := named(tier), append(named(NewServe(nil).Flags()), "zone")
	want = slices.DeleteFunc(want, func(name string) bool { return slices.Contains(otherFlags, name) })
	if !slices.Equal(got, want) || len(got) < 40 {
		t.Errorf("flags %v, want %v", got, want)
	}
	if s := tier.Lookup("sync").DefValue; s != "each" {
		t.Errorf("--sync is %s by default", s)
	}
}

// steps notes the calls of a tier.
type steps struct {
	all   []string
	files error // of Files
	start error // of Start
}

func (s *steps) tier(stop context.CancelFunc) Tier {
	note := func(name string) { s.all = append(s.all, name) }
	return Tier{
		Use: "serve", ResultBytes: 1 << 20, Flags: func(*pflag.FlagSet) {},
		Check: func(isGiven func(string) bool) error {
			if note("check"); !isGiven("db") {
				return cli.Usage(errors.New("a tier needs --db"))
			}
			return nil
		},
		Files: func(_ context.Context, dir string, _ *slog.Logger) (columnstore.FS, func(), error) {
			note("files")
			return disk.System(dir), func() { note("end") }, s.files
		},
		Begin: func(_ context.Context, of Opened) (Attached, error) {
			note("begin " + of.Scheme)
			store := of.Store
			return Attached{
				Hosts: []string{"db-1"}, OlderBytes: 1 << 20, Bucket: time.Minute,
				Lake: func() server.LakeState { return server.LakeState{Rows: 5, Err: errors.New("it is far behind")} },
				Start: func(context.Context) error {
					if note("start"); store.Table("profiles") == nil {
						return errors.New("there is no table")
					}
					return s.start
				},
				Run: func(ctx context.Context) {
					note("run")
					req, err := http.NewRequest(http.MethodGet, "http://"+of.Addr.String()+"/readyz", nil)
					if err == nil {
						req.Host = "db-1"
						var resp *http.Response
						if resp, err = http.DefaultClient.Do(req); err == nil {
							_ = resp.Body.Close()
							note(resp.Status)
						}
					}
					if err != nil {
						note(err.Error())
					}
					http.DefaultClient.CloseIdleConnections()
					stop()
					<-ctx.Done()
				},
				Close: func() error { note("close"); return errors.New("the tier does not close") },
			}, nil
		},
	}
}

// run runs the command of a tier until it ends, and returns its exit code and what it said.
func (s *steps) run(t *testing.T, args ...string) (code int, notes string) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var out strings.Builder
	code = cli.Run(ctx, NewTier(s.tier(stop)), append([]string{"--listen", "127.0.0.1:0"}, args...), &out, &out)
	return code, out.String()
}

// A tier is called around the server, in order. Its errors end the command: of Check before the directory is made, of Start before
// a request is answered.
func TestTier(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "db")
	var s steps
	if code, notes := s.run(t); code != cli.ExitUsage || !strings.Contains(notes, "a tier needs --db") || !slices.Equal(s.all, []string{"check"}) {
		t.Errorf("without --db: exit code %d after %v: %s", code, s.all, notes)
	}
	s = steps{}
	_, notes := s.run(t, "--db", dir)
	if want := []string{"check", "files", "begin http", "start", "run", "503 Service Unavailable", "close", "end"}; !slices.Equal(s.all, want) || !strings.Contains(notes, "the tier does not close") {
		t.Errorf("%v, want %v: %s", s.all, want, notes)
	}
	s = steps{start: errors.New("another has this id")}
	if code, notes := s.run(t, "--db", dir); code != cli.ExitFailed || !strings.Contains(notes, "another has this id") || strings.Contains(notes, "listening") || slices.Contains(s.all, "run") || !slices.Equal(s.all[len(s.all)-2:], []string{"close", "end"}) {
		t.Errorf("an error of the start: exit code %d after %v: %s", code, s.all, notes)
	}
	s = steps{files: errors.New("the copy is away")}
	if code, notes := s.run(t, "--db", dir); code != cli.ExitFailed || !strings.Contains(notes, "the copy is away") || !slices.Equal(s.all, []string{"check", "files"}) {
		t.Errorf("an error of the files: exit code %d after %v: %s", code, s.all, notes)
	}
	store, err := columnstore.Open(columnstore.Options{Dir: dir})
	if err != nil {
		t.Fatal(err) // it was not closed
	}
	if width := store.Table("profiles").Schema().BucketWidth(); width != int64(time.Minute) {
		t.Errorf("the table has ranges of %v", time.Duration(width))
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
}
