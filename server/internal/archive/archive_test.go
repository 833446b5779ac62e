package archive

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/granarydb/granary/internal/gzipped"
	"github.com/granarydb/granary/server/internal/listing"
)

// entry is a file in an archive that a test makes.
type entry struct {
	name, text string
	kind       byte   // of tar; 0 is a regular file
	link       string // target
}

// tarred returns a tar of files.
func tarred(t testing.TB, all ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range all {
		h := &tar.Header{Name: e.name, Mode: 0o644, Size: int64(len(e.text)), Typeflag: e.kind, Linkname: e.link}
		if e.kind == 0 {
			h.Typeflag = tar.TypeReg
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, e.text); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// zipped returns a zip of files.
func zipped(t testing.TB, all ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, e := range all {
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate}
		if e.kind == tar.TypeSymlink {
			h.SetMode(os.ModeSymlink | 0o777)
		}
		f, err := w.CreateHeader(h)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(f, e.text+e.link); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// clock counts seconds.
type clock struct{ at time.Time }

func (c *clock) now() time.Time {
	c.at = c.at.Add(time.Second)
	return c.at
}

func folder(t testing.TB, dir string, size int64) *Folder {
	t.Helper()
	f, err := Open(dir, size, (&clock{time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)}).now)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// text returns the text of a file, or the error.
func (f *Folder) text(file, version string) string {
	data, err := f.Read(file, version)
	if err != nil {
		return err.Error()
	}
	return string(data)
}

var files = []entry{{name: "shop/cmd/main.go", text: "package main\n"}, {name: "./shop/a.go", text: "a\n"}, {name: "shop/", kind: tar.TypeDir}, {name: "shop/bin", text: "a\x00"}, {name: "shop/.env", text: "secret"}}

// TestFolder keeps archives of each format, and reads their files by version and the longest prefix, also after it is opened again.
func TestFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "of", "a", "tenant")
	f := folder(t, dir, 1<<20)
	if f.text("shop/a.go", "1") != listing.ErrNoDir.Error() || len(f.List()) != 0 {
		t.Error("an empty folder has archives")
	}
	for version, body := range map[string][]byte{"tar": tarred(t, files...), "gz": gzipped.Of(t, tarred(t, files...)), "zip": zipped(t, files[0], files[1], files[3], files[4])} {
		a, err := f.Add(t.Context(), version, "", 0, bytes.NewReader(body))
		if err != nil || a.Files != 2 || a.Skipped != 2 || a.Bytes == 0 || a.Version != version {
			t.Errorf("%s: %+v, %v", version, a, err)
		}
		if got := f.text("shop/cmd/main.go", version); got != "package main\n" {
			t.Errorf("%s: %q", version, got)
		}
	}
	for prefix, strip := range map[string]int{"/build": 0, "/build/shop/": 1, `C:\work\shop`: 1} {
		if _, err := f.Add(t.Context(), "1.0", prefix, strip, bytes.NewReader(tarred(t, files[0], entry{name: "shop/which", text: prefix}))); err != nil {
			t.Error(err)
		}
	}
	check := func(f *Folder) {
		t.Helper()
		for _, test := range []struct{ file, version, want string }{
			{"/build/shop/cmd/main.go", "1.0", "package main\n"},
			{"/build/shop/which", "1.0", "/build/shop/"},
			{"/build/none", "1.0", listing.ErrNoFile.Error()},
			{`C:\work\shop\which`, "1.0", `C:\work\shop`},
			{"C:/work/shop/which", "1.0", `C:\work\shop`},
			{"/builder/shop/which", "1.0", listing.ErrNoDir.Error()},
			{"/build/shop/which", "2.0", listing.ErrNoDir.Error()},
			{"shop/.env", "tar", listing.ErrNoFile.Error()},
			{"shop/bin", "zip", listing.ErrNoFile.Error()},
		} {
			if got := f.text(test.file, test.version); got != test.want {
				t.Errorf("%s of %s: %q, want %q", test.file, test.version, got, test.want)
			}
		}
	}
	check(f)
	again := folder(t, dir, 1<<20)
	check(again)
	if got, want := fmt.Sprint(again.List()), fmt.Sprint(f.List()); got != want {
		t.Errorf("opened again: %s, want %s", got, want)
	}
	if found, err := again.Remove("1.0", "/build"); err != nil || !found {
		t.Error(found, err)
	}
	if found, err := again.Remove("1.0", "/build"); err != nil || found || again.text("/build/none", "1.0") != listing.ErrNoDir.Error() {
		t.Error("it is there after it was removed", err)
	}
}

// TestFolder_Bounds: the oldest archives go, by bytes and by number, and one of the same version replaces the other.
func TestFolder_Bounds(t *testing.T) {
	dir := t.TempDir()
	f := folder(t, dir, 30_000)
	f.most = 5
	add := func(version string, size int) error {
		noise := make([]byte, size/2)
		for i := range noise {
			noise[i] = byte(rand.Uint32())
		}
		_, err := f.Add(t.Context(), version, "", 0, bytes.NewReader(tarred(t, entry{name: "a", text: fmt.Sprintf("%x", noise)})))
		return err
	}
	for _, version := range []string{"1", "2", "3", "1"} {
		if err := add(version, 25_000); err != nil {
			t.Fatal(err)
		}
	}
	if all := f.List(); len(all) != 2 || all[0].Version != "1" || all[1].Version != "3" {
		t.Errorf("%+v", all)
	}
	if err := add("large", 80_000); !errors.Is(err, ErrTooMuch) {
		t.Errorf("an archive beyond the bound: %v", err)
	}
	for i := range f.most + 2 {
		if err := add(fmt.Sprint("v", i), 2); err != nil {
			t.Fatal(err)
		}
	}
	kept, err := filepath.Glob(filepath.Join(dir, "*"))
	if all := f.List(); err != nil || len(all) != f.most || all[f.most-1].Version != "v2" || len(kept) != f.most {
		t.Errorf("%d archives, %d files, %v", len(all), len(kept), err)
	}
}

// bomb returns a gzipped tar of zeros that says to have one large file.
func bomb(t testing.TB, size int64) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	if err := w.WriteHeader(&tar.Header{Name: "a", Mode: 0o644, Size: size, Typeflag: tar.TypeReg}); err != nil {
		t.Fatal(err)
	}
	for chunk := make([]byte, 1<<20); size > 0; size -= int64(len(chunk)) {
		if _, err := w.Write(chunk); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestFolder_Hostile sends archives that lead out of the folder, that unpack to too much, and that are none. Nothing is kept of
// refused archives, and nothing but what is inside is read of accepted ones.
func TestFolder_Hostile(t *testing.T) {
	base := t.TempDir()
	if err := os.WriteFile(filepath.Join(base, "secret"), []byte("outside"), 0o600); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(base, "archives")
	f := folder(t, dir, 4<<20)
	good := entry{name: "ok.go", text: "fine\n"}
	names := []string{"../secret", "/etc/passwd", "a/../../secret", "./../secret", "..", ".", "", ".hidden", "a/.git/config", "a\x00b", "a\\..\\b", "C:/x", strings.Repeat("n", 1100), "a//b/../../../secret"}
	for _, name := range names {
		for format, body := range map[string]func(...entry) []byte{"tar": func(e ...entry) []byte { return tarred(t, e...) }, "zip": func(e ...entry) []byte { return zipped(t, e...) }} {
			if format == "tar" && strings.Contains(name, "\x00") { // no tar has such a name
				continue
			}
			if _, err := f.Add(t.Context(), "1", "", 0, bytes.NewReader(body(good, entry{name: name, text: "outside"}))); err != nil {
				t.Errorf("%s %.40q: %v", format, name, err)
			}
			for _, ask := range append(names, filepath.Join(base, "secret"), "../../secret") {
				if got := f.text(ask, "1"); strings.Contains(got, "outside") {
					t.Errorf("%s with %.40q: %.40q is read: %q", format, name, ask, got)
				}
			}
			if f.text("ok.go", "1") != "fine\n" {
				t.Errorf("%s with %.40q: the other file is missing", format, name)
			}
		}
	}
	links := []entry{good, {name: "link", kind: tar.TypeSymlink, link: "../secret"}, {name: "hard", kind: tar.TypeLink, link: "/etc/passwd"}, {name: "dev", kind: tar.TypeChar}, {name: "pipe", kind: tar.TypeFifo}, {name: "link/x", text: "below a link"}}
	if a, err := f.Add(t.Context(), "links", "", 0, bytes.NewReader(tarred(t, links...))); err != nil || a.Files != 2 || a.Skipped != 4 {
		t.Errorf("links: %+v, %v", a, err)
	}
	if a, err := f.Add(t.Context(), "links", "", 0, bytes.NewReader(zipped(t, links[:2]...))); err != nil || a.Files != 1 || a.Skipped != 1 {
		t.Errorf("links of a zip: %+v, %v", a, err)
	}
	if a, err := f.Add(t.Context(), "twice", "", 0, bytes.NewReader(tarred(t, good, entry{name: "ok.go", text: "other"}))); err != nil || a.Files != 1 || f.text("ok.go", "twice") != "fine\n" {
		t.Errorf("a name twice: %+v, %v", a, err)
	}
	before := len(f.List())
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	valid := gzipped.Of(t, tarred(t, good))
	for name, c := range map[string]struct {
		ctx     context.Context
		version string
		body    []byte
		want    error
	}{
		"nothing":           {t.Context(), "x", nil, ErrUnknown},
		"text":              {t.Context(), "x", []byte("no archive, but text that is longer than a header of tar" + strings.Repeat(".", 1000)), ErrUnknown},
		"cut":               {t.Context(), "x", valid[:len(valid)/2], ErrUnknown},
		"cut zip":           {t.Context(), "x", zipped(t, good)[:40], ErrUnknown},
		"gzip of nothing":   {t.Context(), "x", gzipped.Of(t, nil), ErrUnknown},
		"empty tar":         {t.Context(), "x", tarred(t), ErrUnknown},
		"only binaries":     {t.Context(), "x", tarred(t, entry{name: "a", text: "\x00"}), ErrUnknown},
		"bomb":              {t.Context(), "x", bomb(t, 64<<20), ErrTooMuch},
		"zip bomb":          {t.Context(), "x", zipped(t, entry{name: "a", text: strings.Repeat("x", 5<<20)}), ErrTooMuch},
		"no version":        {t.Context(), "", valid, ErrUnknown},
		"long version":      {t.Context(), strings.Repeat("v", 201), valid, ErrUnknown},
		"version not UTF-8": {t.Context(), "\xff", valid, ErrUnknown},
		"ended":             {ended, "x", valid, context.Canceled},
	} {
		if a, err := f.Add(c.ctx, c.version, "", 0, bytes.NewReader(c.body)); !errors.Is(err, c.want) {
			t.Errorf("%s: %+v, %v, want %v", name, a, err, c.want)
		}
	}
	kept, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(f.List()) != before || len(kept) != before {
		t.Errorf("%d archives and %d files, want %d", len(f.List()), len(kept), before)
	}
	for _, version := range []string{"../../x", "/etc", "..", "a\x00b", "\n"} { // it is no path
		if _, err := f.Add(t.Context(), version, "../..", 0, bytes.NewReader(valid)); err != nil || f.text("../../ok.go", version) != "fine\n" {
			t.Errorf("version %q: %v", version, err)
		}
	}
	if all, err := os.ReadDir(base); err != nil || len(all) != 2 {
		t.Errorf("files beside the folder: %v, %v", all, err)
	}
}

// TestOpen leaves damaged files out, and removes files that were being written.
func TestOpen(t *testing.T) {
	dir := t.TempDir()
	f := folder(t, dir, 1<<20)
	for _, version := range []string{"1", "2", "3"} {
		if _, err := f.Add(t.Context(), version, "", 0, bytes.NewReader(tarred(t, files...))); err != nil {
			t.Fatal(err)
		}
	}
	first, second := f.path(&Archive{Version: "1"}), f.path(&Archive{Version: "2"})
	if err := errors.Join(os.Truncate(first, 30), os.Rename(second, filepath.Join(dir, "other.zip")), os.WriteFile(filepath.Join(dir, "x.new"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if f.text("shop/a.go", "1") != listing.ErrNoFile.Error() {
		t.Error("a damaged archive is read")
	}
	again := folder(t, dir, 1<<20)
	if all := again.List(); len(all) != 1 || all[0].Version != "3" {
		t.Errorf("%+v", all)
	}
	if _, err := os.Stat(filepath.Join(dir, "x.new")); !errors.Is(err, os.ErrNotExist) {
		t.Error("a file that was being written is there")
	}
}

// FuzzFolder adds any bytes: what is kept has plain names and text, within the bounds, and can be read.
func FuzzFolder(f *testing.F) {
	f.Add(tarred(f, files...), "shop/a.go", 1)
	f.Add(gzipped.Of(f, tarred(f, files...)), "../secret", 0)
	f.Add(zipped(f, files[0]), "cmd/main.go", 1)
	f.Add([]byte("PK\x05\x06"), "", 0)
	dir := filepath.Join(f.TempDir(), "archives")
	kept := folder(f, dir, 64<<10)
	f.Fuzz(func(t *testing.T, data []byte, name string, strip int) {
		a, err := kept.Add(t.Context(), "1", "", strip&3, bytes.NewReader(data))
		if err != nil {
			if !errors.Is(err, ErrUnknown) && !errors.Is(err, ErrTooMuch) {
				t.Fatalf("%v", err)
			}
			return
		}
		if again, err := look(kept.path(&a)); err != nil || again.Bytes > 64<<10 || again.Files != a.Files || a.Files == 0 {
			t.Fatalf("%+v, opened again %+v, %v", a, again, err)
		}
		if got, err := kept.Read(name, "1"); err == nil && (!listing.IsPlain(name) || !listing.IsText(got)) {
			t.Fatalf("%q: %q", name, got)
		}
		if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
			t.Fatalf("%v, %v", entries, err)
		}
	})
}
