package main

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
)

// TestFormats reads files of other profilers, alone, in a folder and into a directory. Their formats are known by content.
func TestFormats(t *testing.T) {
	read := func(name string) []byte {
		data, err := os.ReadFile(filepath.FromSlash("../../" + name))
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	var words []byte
	for _, word := range []uint64{0, 3, 0, 10_000, 0, 7, 1, 0x1234, 0, 1, 0} {
		words = binary.LittleEndian.AppendUint64(words, word)
	}
	jfr := read("profile/format/testdata/busy.jfr")
	for name, of := range map[string]struct {
		data  []byte
		index string
		total int64
	}{
		"JFR":         {jfr, "cpu", 5_000_000},
		"JFR, malloc": {jfr, "malloc_bytes", 64},
		"JFR, memory": {jfr, "alloc_in_new_tlab_bytes", 1030},
		"JFR in zstd": {z.EncodeAll(jfr, nil), "wall", 300_000_000},
		"gperftools":  {words, "cpu", 70_000_000},
		"OTLP":        {read("server/otlp/testdata/shop.otlp"), "", 0},
	} {
		dir := t.TempDir()
		one := filepath.Join(dir, "profiles", "recorded.bin")
		if err := os.MkdirAll(filepath.Dir(one), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(one, of.data, 0o600); err != nil {
			t.Fatal(err)
		}
		db := filepath.Join(dir, "db")
		if r := granary(t, "load", "--db", db, one); r.code != cli.ExitOK {
			t.Errorf("%s: %+v", name, r)
		}
		for _, args := range [][]string{{one}, {filepath.Dir(one)}, {"--db", db}} {
			if of.index != "" {
				args = append(args, "--sample-index", of.index)
			}
			if got := granaryTop(t, args...); len(got.Functions) == 0 || of.total != 0 && got.Total != of.total {
				t.Errorf("%s, %q: %+v", name, args, got)
			}
		}
	}
}
