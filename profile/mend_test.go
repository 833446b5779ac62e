package profile

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	pprof "github.com/google/pprof/profile"

	"github.com/granarydb/granary/schema"
)

// Names that are not UTF-8, and values of labels that no column can have, are stored mended by either way in, and the
// mended strings are counted. What comes out is UTF-8.
func TestMend(t *testing.T) {
	long := strings.Repeat("é", schema.MaxString)
	made := func() *pprof.Profile {
		p := makeProfile(start, "n:count", stack{frames: "caf\xe9::run main", values: []int64{3}, labels: map[string][]string{
			"query\xff": {"SELECT 'caf\xe9", long},
		}})
		p.SampleType[0].Type, p.DefaultSampleType = "n\xfe", "n\xfe"
		p.Mapping[0].File, p.Mapping[0].BuildID = "/bin/\xf0\x9f", "\x80"
		return p
	}
	inserts := map[string]func(db *DB, p *pprof.Profile) error{
		"in memory": func(db *DB, p *pprof.Profile) error {
			_, err := db.Insert(t.Context(), p, InsertOptions{})
			return err
		},
		"encoded": func(db *DB, p *pprof.Profile) error {
			var b bytes.Buffer
			if err := p.Write(&b); err != nil {
				return err
			}
			_, err := db.InsertEncoded(t.Context(), b.Bytes(), InsertOptions{})
			return err
		},
	}
	for name, insert := range inserts {
		db := testDB(t, Options{})
		if err := insert(db, made()); err != nil {
			t.Fatal(name, err)
		}
		if got := db.Mended(); got != 8 { // the function and its file, the label's name and two values, the type, the file, the build id
			t.Errorf("%s: %d strings mended, want 8", name, got)
		}
		snap := view(t, db)
		typ, err := db.DefaultType(t.Context(), snap, Query{})
		if err != nil || typ.Sample != "n\ufffd" {
			t.Fatalf("%s: type %q, %v", name, typ.Sample, err)
		}
		out, err := db.Profile(t.Context(), snap, Query{}, typ)
		if err != nil {
			t.Fatal(name, err)
		}
		values := out.Sample[0].Label["query\ufffd"]
		if len(values) != 2 || values[0] != "SELECT 'caf\ufffd" {
			t.Fatalf("%s: labels %.100q", name, values)
		}
		if cut := values[1]; len(cut) > schema.MaxString || len(cut) < schema.MaxString-8 || !strings.HasSuffix(cut, "é…") || !utf8.ValidString(cut) {
			t.Errorf("%s: a value of %d bytes became one of %d: ...%q", name, len(long), len(cut), cut[max(0, len(cut)-8):])
		}
		if got := out.Function[0].Name; got != "caf\ufffd::run" && out.Function[1].Name != "caf\ufffd::run" {
			t.Errorf("%s: function %q", name, got)
		}
		if m := out.Mapping[0]; m.File != "/bin/\ufffd" || m.BuildID != "\ufffd" {
			t.Errorf("%s: mapping %q %q", name, m.File, m.BuildID)
		}
	}
}
