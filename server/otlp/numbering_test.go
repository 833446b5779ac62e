package otlp

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/granarydb/granary/profile"
)

// Parts of messages.
func inner(number protowire.Number, parts ...[]byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), slices.Concat(parts...))
}

func varint(number protowire.Number, n uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(nil, number, protowire.VarintType), n)
}

func list(number protowire.Number, all ...uint64) []byte {
	var packed []byte
	for _, n := range all {
		packed = protowire.AppendVarint(packed, n)
	}
	return inner(number, packed)
}

// oldRequest is request in the numbering of 1.6 or 1.7. Its entries 0 are used.
func oldRequest(is16 bool, types, values []uint64) []byte {
	text := func(key, value string) []byte {
		return slices.Concat(inner(1, []byte(key)), inner(2, inner(1, []byte(value))))
	}
	profile := func(values ...uint64) []byte {
		var out []byte
		for i := 0; i < len(types); i += 2 {
			out = append(out, inner(1, varint(1, types[i]), varint(2, types[i+1]))...)
		}
		return slices.Concat(out, inner(2, varint(2, 1), list(3, values...), list(4, 0)), list(3, 0), varint(4, 1_790_000_000_000_000_000), varint(5, 1e9),
			inner(6, varint(1, 3), varint(2, 4)), varint(7, 10_000_000), inner(10, []byte("0123456789abcdef")))
	}
	tables := [][]byte{
		inner(oldMappings), inner(oldMappings, varint(1, 0x1000), varint(2, 0x2000), varint(4, 10)),
		inner(oldLocations, varint(1, 1), varint(2, 0x1234), inner(3, varint(2, 3))),
		inner(oldFunctions, varint(1, 7)), inner(oldLinks),
		inner(oldAttributes, text("thread.name", "worker")), inner(oldUnits, varint(1, 1), varint(2, 2)),
	}
	for _, s := range []string{"", "samples", "count", "cpu", "nanoseconds", "service.name", "shop", "main.f", "thread.name", "worker", "/bin/shop"} {
		tables = append(tables, inner(oldStrings, []byte(s)))
	}
	all := [][]byte{inner(2, profile(values...))}
	if len(types) == 2 {
		all = append(all, inner(2, profile(4)))
	}
	out := inner(1, inner(1, inner(1, text("service.name", "shop"))), inner(2, all...))
	if !is16 {
		return append(out, inner(2, tables...)...)
	}
	for f := range (&old{}).fields(slices.Concat(tables...)) {
		out = f.Append(out, f.Number+1)
	}
	return out
}

// TestUpgrade reads requests of older protocols as those of today.
func TestUpgrade(t *testing.T) {
	r := request()
	for i, p := range r.ResourceProfiles[0].ScopeProfiles[0].Profiles {
		p.ProfileId = slices.Repeat([]byte{byte(i + 1)}, 16)
	}
	today, err := proto.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	want, err := decode(today)
	if err != nil || len(want) != 2 {
		t.Fatal(want, err)
	}
	path := []protowire.Number{fieldResources, fieldScopes, fieldProfiles}
	in19, ok := rewritten(today, append(path, fieldSamples), func(sample []byte) ([]byte, bool) {
		return withNumbers(sample, map[protowire.Number]protowire.Number{4: 2, 2: 3, 3: 4})
	})
	in18, ok2 := rewritten(in19, path, func(profile []byte) ([]byte, bool) {
		out, ok := withNumbers(profile, map[protowire.Number]protowire.Number{7: 8, 8: 9, 9: 10, 10: 11, 11: 12})
		return append(out, list(7, 1, 2)...), ok // comments
	})
	if !ok || !ok2 {
		t.Fatal("malformed")
	}
	single := func(data []byte) []byte { // lists of samples as single numbers, as async-profiler writes them
		out, ok := rewritten(data, append(path, fieldSamples), func(sample []byte) (out []byte, ok bool) {
			for f := range (&old{}).fields(sample) {
				for n := range numbers(f) {
					out = append(out, varint(f.Number, n)...)
				}
			}
			return out, true
		})
		if !ok {
			t.Fatal("malformed")
		}
		return out
	}
	for name, c := range map[string]struct {
		data []byte
		of   numbering
	}{
		"1.11, single numbers": {single(today), latest}, "1.9, single numbers": {single(in19), v19}, "1.8, single numbers": {single(in18), v18},
		"1.11": {today, latest}, "1.9": {in19, v19}, "1.8": {in18, v18},
		"1.7": {oldRequest(false, []uint64{1, 2}, []uint64{1, 2}), v17}, "1.6": {oldRequest(true, []uint64{1, 2}, []uint64{1, 2}), v17},
	} {
		if of := numberingOf(c.data); of != c.of {
			t.Errorf("%s: numbering %d, want %d", name, of, c.of)
		}
		if got, err := decode(c.data); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v, want %q", name, got, err, want)
		}
		for i := range c.data {
			if _, err := decode(c.data[:i]); err != nil && !errors.Is(err, profile.ErrProfile) && !errors.Is(err, profile.ErrTooLarge) {
				t.Fatal(name, i, err)
			}
		}
	}
	const of = " of main.f, map[thread.name:[worker]] map[service.name:shop service_name:shop]"
	several := fmt.Sprint([]string{"samples/count cpu/nanoseconds 10000000: 3" + of, "cpu/nanoseconds cpu/nanoseconds 10000000: 30" + of})
	if got, err := decode(oldRequest(false, []uint64{1, 2, 3, 4}, []uint64{3, 30})); err != nil || fmt.Sprint(got) != several {
		t.Errorf("several types: %v, %v, want %v", got, err, several)
	}
}

// FuzzUpgrade upgrades any request.
func FuzzUpgrade(f *testing.F) {
	f.Add(oldRequest(false, []uint64{1, 2}, []uint64{1, 2}))
	f.Add(oldRequest(true, []uint64{1, 2}, []uint64{1, 2}))
	for _, data := range files(f) {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for p, err := range (Options{}).Decode(data, profile.Limits{Samples: 100}) {
			if err == nil && p.Parsed != nil {
				err = p.Parsed.CheckValid()
			}
			if err != nil && !errors.Is(err, profile.ErrProfile) && !errors.Is(err, profile.ErrTooLarge) {
				t.Fatal(err)
			}
		}
	})
}
