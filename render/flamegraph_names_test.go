package render

import (
	"testing"

	"github.com/granarydb/granary/profile"
)

func TestFrameLabel(t *testing.T) {
	const name = "example.org/net/http.(*conn).serve"
	for _, tc := range []struct {
		name    string
		columns int
		want    string
	}{
		{name, 34, name},
		{name, 33, "http.(*conn).serve"},
		{name, 18, "http.(*conn).serve"},
		{name, 17, "(*conn).serve"},
		{name, 13, "(*conn).serve"},
		{name, 12, "serve"},
		{name, 3, "se\u2026"},
		{name, 2, ""},
		{"a/b.Map[x/y.T].get", 17, "b.Map[x/y.T].get"},
		{"a/b.Map[x/y.T].get", 14, "Map[x/y.T].get"},
		{"std::operator/(int)", 10, "std::oper\u2026"},
		{"0x4f3a", 5, "0x4f\u2026"},
		{"\u51fd\u6570\u540d", 6, "\u51fd\u6570\u540d"},
		{"\u51fd\u6570\u540d", 5, "\u51fd\u6570\u2026"},
		{"\u51fd\u6570\u540d", 4, "\u51fd\u2026"},
	} {
		if got := frameLabel(tc.name, float64(tc.columns)*flameChar+2*flamePad); got != tc.want {
			t.Errorf("%d columns of %q: %q, want %q", tc.columns, tc.name, got, tc.want)
		}
	}
}

func TestPackageOf(t *testing.T) {
	for _, tc := range []struct{ name, file, want string }{
		{"net/http.(*conn).serve", "", "net/http"},
		{"runtime.mallocgc", "", "runtime"},
		{"main.run.func1.2", "", "main"},
		{"main.Server.Run", "", "main"},
		{"gopkg.in/yaml%2ev2.Unmarshal", "", "gopkg.in/yaml%2ev2"},
		{"example.org/v2.Map[example.org/a/b.T,int].get", "", "example.org/v2"},
		{"std::vector<int, std::allocator<int>>::push_back(int const&)", "", "std"},
		{"void absl::Sort<a::b>(int)", "", "absl"},
		{"(anonymous namespace)::run()", "", "(anonymous namespace)"},
		{"<alloc::vec::Vec<T> as core::ops::Drop>::drop", "", "alloc"},
		{"tokio::runtime::park", "", "tokio"},
		{"java.util.HashMap.get", "", "java.util"},
		{"java/util/HashMap.get", "", "java/util/HashMap"},
		{"json.decoder.raw_decode", "", "json"},
		{"raw_decode", "/usr/lib/python3/json/decoder.py", "decoder.py"},
		{"memcpy", `C:\src\string.c`, "string.c"},
		{"0x4f3a", "", ""},
		{"[unknown]", "", ""},
		{"", "", ""},
		{"..", "", ""},
		{"a.", "", "a"},
	} {
		if got := packageOf(&profile.FlameNode{Name: tc.name, File: tc.file}); got != tc.want {
			t.Errorf("package of %q is %q, want %q", tc.name, got, tc.want)
		}
	}
}
