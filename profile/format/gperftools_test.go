package format_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	library "github.com/google/pprof/profile"

	"github.com/granarydb/granary/internal/gzipped"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/profile/format"
)

// legacyCPU is a CPU profile of gperftools: words of a size, and the text behind them.
func legacyCPU(order binary.ByteOrder, size int, text string, words ...uint64) (out []byte) {
	for _, word := range append([]uint64{0, 3, 0, 10_000, 0}, words...) {
		all := make([]byte, 8)
		order.PutUint64(all, word)
		if size == 4 {
			order.PutUint32(all, uint32(word))
		}
		out = append(out, all[:size]...)
	}
	return append(out, text...)
}

const legacyMaps = "build=/\n00400000-00500000 r-xp 00000000 08:01 1234 /bin/busy\n7f0000000000-7f0000100000 r-xp 00000000 08:01 99 /lib/libc.so.6\n"

// TestGperftools reads profiles as the library of go tool pprof does.
func TestGperftools(t *testing.T) {
	words := []uint64{3, 2, 0x400100, 0x400200, 1, 3, 0x400300, 0x400301, 0x400200, 2, 1, 0x400100, 0, 1, 0}
	inputs := map[string][]byte{
		"8 bytes":          legacyCPU(binary.LittleEndian, 8, legacyMaps, words...),
		"4 bytes":          legacyCPU(binary.LittleEndian, 4, legacyMaps, words...),
		"big-endian":       legacyCPU(binary.BigEndian, 8, legacyMaps, words...),
		"4, big-endian":    legacyCPU(binary.BigEndian, 4, "", words...),
		"without samples":  legacyCPU(binary.LittleEndian, 8, legacyMaps, 0, 1, 0),
		"without mappings": legacyCPU(binary.LittleEndian, 8, "", words...),
	}
	if written, err := os.ReadFile("../../../shared/data/clients/gperftools.cpu"); err == nil {
		inputs["of gperftools"] = written
	}
	for name, data := range inputs {
		want, err := library.ParseData(data)
		if err != nil {
			t.Fatal(name, err)
		}
		for form, data := range map[string][]byte{"plain": data, "zipped": gzipped.Of(t, data)} {
			got, err := decoded(data, format.Hints{})
			if err != nil || got.Parsed == nil || got.Parsed.String() != want.String() || format.Of(data) != format.Gperftools {
				t.Errorf("%s, %s: %v, %v, want %v", name, form, got.Parsed, err, want)
				continue
			}
			sum := int64(0)
			for _, s := range got.Parsed.Sample {
				sum += s.Value[1]
			}
			if name == "of gperftools" && sum != 780e6 || name == "8 bytes" && sum != 60e6 {
				t.Errorf("%s: %d ns", name, sum)
			}
		}
	}
}

// TestGperftools_Hostile reads profiles that are cut off, or too large.
func TestGperftools_Hostile(t *testing.T) {
	little := binary.LittleEndian
	end := []uint64{0, 1, 0}
	for name, c := range map[string]struct {
		data   []byte
		is     error
		saying string
	}{
		"only its header":    {legacyCPU(little, 8, ""), nil, ""},
		"a count":            {legacyCPU(little, 8, "", 1), profile.ErrProfile, "cut off"},
		"no address":         {legacyCPU(little, 8, "", 1, 1), profile.ErrProfile, "cut off"},
		"no end":             {legacyCPU(little, 8, "", 1, 1, 7), nil, ""},
		"a stack of 2^63":    {legacyCPU(little, 8, "", 1, 1<<63, 7), profile.ErrProfile, "cut off"},
		"a stack of 2^64":    {legacyCPU(little, 8, "", 1, 1<<64-1, 7), profile.ErrProfile, "cut off"},
		"a stack of 2^32":    {legacyCPU(little, 4, "", 1, 1<<32-1, 7), profile.ErrProfile, "cut off"},
		"a deep stack":       {legacyCPU(little, 8, "", append(append([]uint64{1, 20_000}, make([]uint64, 20_000)...), end...)...), profile.ErrTooLarge, "a stack of 20000"},
		"many samples":       {legacyCPU(little, 4, "", append(slices.Repeat([]uint64{1, 0}, 1_000_001), end...)...), profile.ErrTooLarge, "samples"},
		"many mappings":      {legacyCPU(little, 4, strings.Repeat("\n", 1<<21), append(append([]uint64{1, 10_000}, make([]uint64, 10_000)...), end...)...), profile.ErrTooLarge, "mappings"},
		"a mapping backward": {legacyCPU(little, 8, "00500000-00400000 r-xp 00000000 08:01 1 /bin/a\n", append([]uint64{1, 1, 7}, end...)...), nil, ""},
		"a text for them":    {legacyCPU(little, 8, "\xff\xff not mappings \x00", append([]uint64{1, 1, 7}, end...)...), nil, ""},
		"huge values":        {legacyCPU(little, 8, "", append([]uint64{1 << 63, 1, 7, 1<<64 - 1, 1, 8}, end...)...), nil, ""},
		"an end twice":       {legacyCPU(little, 8, "", append(end, end...)...), nil, ""},
	} {
		before := allocated()
		_, err := decoded(c.data, format.Hints{})
		if took := allocated() - before; took > 64<<20 {
			t.Errorf("%s: it took %d bytes", name, took)
		}
		if c.is == nil && err != nil && !errors.Is(err, profile.ErrProfile) || c.is != nil && (!errors.Is(err, c.is) || !strings.Contains(err.Error(), c.saying)) {
			t.Errorf("%s: %v, want %v %q", name, err, c.is, c.saying)
		}
	}
	whole := legacyCPU(little, 8, legacyMaps, 3, 2, 0x400100, 0x400200, 0, 1, 0)
	for i := range whole {
		for what, data := range map[string][]byte{"cut": whole[:i], "changed": append(append(bytes.Clone(whole[:i]), 0xff), whole[i+1:]...)} {
			if _, err := decoded(data, format.Hints{}); err != nil && !errors.Is(err, profile.ErrProfile) && !errors.Is(err, profile.ErrTooLarge) {
				t.Fatal(fmt.Sprint(what, " at ", i), err)
			}
		}
	}
}

// FuzzGperftools reads any words behind the header.
func FuzzGperftools(f *testing.F) {
	f.Add([]byte{1, 0, 0, 0, 1, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0}, true)
	f.Add([]byte(legacyMaps), false)
	f.Fuzz(func(t *testing.T, data []byte, isShort bool) {
		size := 8
		if isShort {
			size = 4
		}
		data = append(legacyCPU(binary.LittleEndian, size, ""), data...)
		p, err := decoded(data, format.Hints{Limits: profile.Limits{Bytes: 1 << 16, Samples: 100, Depth: 10}})
		if err == nil {
			err = p.Parsed.CheckValid()
		}
		if err != nil && !errors.Is(err, profile.ErrProfile) && !errors.Is(err, profile.ErrTooLarge) {
			t.Fatal(err)
		}
	})
}
