package pprof

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestDemangled(t *testing.T) {
	long := "_ZN" + strings.Repeat("3foo", 1500) + "3barEv"
	for name, want := range map[string]string{
		"":                                       "",
		"main.main":                              "main.main",
		"java/lang/Thread.run":                   "java/lang/Thread.run",
		"_ZNSt6vectorIiSaIiEE9push_backERKi":     "std::vector::push_back",
		"_ZN4core3fmt5write17h0123456789abcdefE": "core::fmt::write",
		"_ZN3foo3barEv":                          "foo::bar",
		"_ZN3foo3barEv.cold":                     "foo::bar",
		"__ZN3foo3barEv":                         "foo::bar", // of macOS
		"_ZN3foo3barEi":                          "foo::bar",
		"_RNvC7mycrate3foo":                      "mycrate::foo",
		"_ZdlPv":                                 "operator delete",
		"_ZTV3foo":                               "vtable for foo",
		"_Z":                                     "_Z",
		"_Znope":                                 "_Znope",
		"_ZN3fo":                                 "_ZN3fo",
		"_R":                                     "_R",
		"_RTC_init":                              "_RTC_init",
		"__libc_start_main":                      "__libc_start_main",
		"___pthread_cond_timedwait":              "___pthread_cond_timedwait",
		"_GLOBAL_nope":                           "_GLOBAL_nope",
		"_ZN3\xff\xfe\xfd3barEv":                 "\ufffd::bar",
		long:                                     long,
	} {
		for range 2 {
			if got := Demangled(name); got != want {
				t.Errorf("%.60q: %.60q, want %.60q", name, got, want)
			}
		}
		if got := DemangledBytes([]byte(name)); string(got) != want {
			t.Errorf("%.60q as bytes: %.60q, want %.60q", name, got, want)
		}
	}
}

// TestDemangled_Bounds keeps some names, and not all that were ever asked for.
func TestDemangled_Bounds(t *testing.T) {
	var n names
	for i := range 100_000 {
		name := fmt.Sprintf("_ZN5space%d%sEv", len(fmt.Sprint("f", i)), fmt.Sprint("f", i))
		if got, want := n.of(name), fmt.Sprint("space::f", i); got != want {
			t.Fatalf("%q: %q, want %q", name, got, want)
		}
	}
	if n.bytes > maxNames || len(n.recent)+len(n.old) > 90_000 {
		t.Errorf("%d names are kept, %d bytes", len(n.recent)+len(n.old), n.bytes)
	}
}

// FuzzDemangled demangles any name.
func FuzzDemangled(f *testing.F) {
	f.Add([]byte("NSt6vectorIiSaIiEE9push_backERKi"))
	f.Add([]byte("N4core3fmt5write17h0123456789abcdefE"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, prefix := range []string{"_Z", "__Z", "_R", "_GLOBAL_"} {
			name := append([]byte(prefix), data...)
			got := Demangled(string(name))
			if got == "" || got != string(name) && !utf8.ValidString(got) || len(got) > 4*maxMangled+len(name) || !bytes.Equal(DemangledBytes(name), []byte(got)) {
				t.Fatalf("%q: %q", name, got)
			}
		}
	})
}
