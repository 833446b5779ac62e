package format_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/profile/format"
)

// speedscopeOf returns a file of speedscope with three frames and profiles.
func speedscopeOf(profiles string) string {
	return `{"$schema":"https://www.speedscope.app/file-format-schema.json","shared":{"frames":[{"name":"main","file":"a.py","line":3,"col":null},{"name":"f"},{"name":"g","file":null}]},"profiles":[` + profiles + `],"exporter":"x@1"}`
}

// sampled returns a profile of stacks, and evented one of events.
func sampled(name, unit, samples, weights string) string {
	return fmt.Sprintf(`{"type":"sampled","name":%q,"unit":%q,"startValue":0,"endValue":1,"samples":[%s],"weights":[%s]}`, name, unit, samples, weights)
}

// evented returns a profile of events: O or C, a time and a frame each, as in "O 1.5 0".
func evented(unit string, events ...string) string {
	for i, text := range events {
		part := strings.Fields(text)
		events[i] = fmt.Sprintf(`{"type":%q,"at":%s,"frame":%s}`, part[0], part[1], part[2])
	}
	return fmt.Sprintf(`{"type":"evented","name":"e","unit":%q,"startValue":0,"endValue":1,"events":[%s]}`, unit, strings.Join(events, ","))
}

// TestSpeedscope reads files whose values are known.
func TestSpeedscope(t *testing.T) {
	for name, c := range map[string]struct{ profiles, want string }{
		"samples, as of py-spy": {
			sampled("py", "seconds", "[0,1],[0],[0,1],[]", "0.01,0.02,0.1,1e-3"),
			"wall/nanoseconds ; [110000000] f main:3; [20000000] main:3; [1000000]",
		},
		"threads": {
			sampled("t1", "milliseconds", "[0]", "2") + "," + sampled("t2", "milliseconds", "[0]", "3.5") + "," + sampled("t1", "none", "[0]", "4"),
			"wall/nanoseconds samples/count ; [2000000 4] map[thread:[t1]] main:3; [3500000 0] map[thread:[t2]] main:3",
		},
		"exact":               {sampled("", "bytes", "[2],[0]", "9007199254740993,-1"), "space/bytes ; [9007199254740993] g; [-1] main:3"},
		"events":              {evented("microseconds", "O 1 0", "O 2 1", "C 4 1", "O 4 2", "C 4.5 2", "O 5 1", "C 6 1", "C 10 0"), "wall/nanoseconds ; [5500] main:3; [3000] f main:3; [500] g main:3"},
		"two trees of events": {evented("nanoseconds", "O 1 1", "C 2 1", "O 5 1", "C 7 1"), "wall/nanoseconds ; [3] f"},
		"recursion":           {evented("none", "O 0 1", "O 1 1", "C 3 1", "C 4 1"), "samples/count ; [2] f; [2] f f"},
		"no samples":          {sampled("a", "none", "", ""), "samples/count "},
	} {
		p, err := decoded([]byte(speedscopeOf(c.profiles)), format.Hints{})
		if err != nil || p.Parsed == nil {
			t.Errorf("%s: %v", name, err)
		} else if got := shown(p.Parsed); got != c.want || p.Parsed.CheckValid() != nil || p.Parsed.DefaultSampleType != "" {
			t.Errorf("%s: %s\nwant %s", name, got, c.want)
		}
	}
}

// TestSpeedscope_Granary reads a file that granary merge wrote: its profiles are types, the active one is the default.
func TestSpeedscope_Granary(t *testing.T) {
	text := speedscopeOf(sampled("contentions", "none", "[0,1],[0]", "3,4") + "," + sampled("delay", "nanoseconds", "[0,1],[1]", "5,6"))
	text = strings.Replace(text, `"exporter":"x@1"`, `"exporter":"granary","activeProfileIndex":1`, 1)
	p, err := decoded([]byte(text), format.Hints{})
	if err != nil {
		t.Fatal(err)
	}
	const want = "contentions/count delay/nanoseconds ; [3 5] f main:3; [4 0] main:3; [0 6] f"
	if got := shown(p.Parsed); got != want || p.Parsed.DefaultSampleType != "delay" {
		t.Errorf("%s, default %q\nwant %s", got, p.Parsed.DefaultSampleType, want)
	}
}

// TestSpeedscope_Take takes memory for the stacks of events, which are not written out.
func TestSpeedscope_Take(t *testing.T) {
	data := []byte(speedscopeOf(evented("none", "O 0 1", "O 1 1", "O 2 1", "C 3 1", "C 4 1", "C 5 1")))
	wantTaken(t, data, "", (1+2+3)*32)
}

// TestSpeedscope_Hostile refuses files that are wrong or too large, and says where.
func TestSpeedscope_Hostile(t *testing.T) {
	is, large := profile.ErrProfile, profile.ErrTooLarge
	one := func(samples, weights string) string { return speedscopeOf(sampled("a", "none", samples, weights)) }
	events := func(all ...string) string { return speedscopeOf(evented("seconds", all...)) }
	many := func(n int) string {
		var all []string
		for i := range n {
			all = append(all, sampled(strings.Repeat("x", i), "none", "", ""))
		}
		return strings.Replace(speedscopeOf(strings.Join(all, ",")), "x@1", "granary", 1)
	}
	wantHostile(t, format.Speedscope, "speedscope", map[string]hostile{
		"cut":                     {one("[0]", "1")[:200], is, "file of speedscope: unexpected end"},
		"no JSON":                 {`{"$schema":"https://www.speedscope.app/file-format-schema.json"]`, is, "invalid character"},
		"no JSON, the place":      {`{"$schema":"https://www.speedscope.app/file-format-schema.json"]`, is, "at byte 64"},
		"a type, the place":       {`{"$schema":"speedscope.app/file-format-schema","profiles":7}`, is, "at byte 59"},
		"behind the end":          {one("[0]", "1") + "}", is, "invalid character"},
		"deep JSON":               {one("[0]", "1,"+strings.Repeat("[", 20_000)), is, "exceeded max depth"},
		"no profiles":             {speedscopeOf(""), is, "it has no profiles"},
		"a number of profiles":    {`{"$schema":"speedscope.app/file-format-schema","profiles":7}`, is, "cannot unmarshal number"},
		"a list of numbers":       {`{"$schema":"speedscope.app/file-format-schema","profiles":[7]}`, is, "cannot unmarshal number"},
		"a name of numbers":       {`{"$schema":"speedscope.app/file-format-schema","shared":{"frames":[{"name":7}]}}`, is, "cannot unmarshal number"},
		"a unit":                  {speedscopeOf(sampled("a", "furlongs", "[0]", "1")), is, `profile 0: unit "furlongs"`},
		"a type":                  {speedscopeOf(`{"type":"x","unit":"none"}`), is, `profile 0: type "x": want sampled or evented`},
		"nothing in a profile":    {speedscopeOf(`{}`), is, `profile 0: unit ""`},
		"weights, less":           {one("[0],[1]", "1"), is, "profile 0: 2 samples with 1 weights"},
		"weights, more":           {one("[0]", "1,2"), is, "profile 0: 1 samples with 2 weights"},
		"a weight of text":        {one("[0]", `"x"`), is, "invalid number"},
		"a weight of null":        {one("[0]", "null"), is, `profile 0: sample 0: want a number, not ""`},
		"a weight, large":         {one("[0],[1]", "1,1e300"), is, "profile 0: sample 1: a value of more than 64 bits"},
		"a weight, larger":        {one("[0]", "1e999"), is, "profile 0: sample 0: want a number"},
		"a sum":                   {one("[0],[0]", "9000000000000000000,9000000000000000000"), is, "sample 1: a sum of more than 64 bits"},
		"seconds, large":          {speedscopeOf(sampled("a", "seconds", "[0]", "10000000000")), is, "a value of more than 64 bits"},
		"a frame":                 {one("[0],[3]", "1,1"), is, "profile 0: sample 1: frame 3 of 3"},
		"a frame, negative":       {one("[-1]", "1"), is, "frame -1 of 3"},
		"a frame with a fraction": {one("[0.5]", "1"), is, "cannot unmarshal number 0.5"},
		"deep":                    {one("[0,0,0,0,0]", "1"), large, "more than 4 functions"},
		"many":                    {one("[0],[1],[2],[0,1]", "1,1,1,1"), large, "sample 3: profile is too large: more than 3 samples"},
		"deep events":             {events("O 0 0", "O 0 0", "O 0 0", "O 0 0", "O 0 0", "C 1 0"), large, "more than 4 functions"},
		"large":                   {one("[0]", "1"+strings.Repeat(" ", 100_000)), large, "more than 100000 bytes"},
		"many types":              {many(40), is, "more than 32 types"},
		"events back in time":     {events("O 1 0", "C 0.5 0"), is, "event 1: its time 0.5 is before that of the last one"},
		"an event of another":     {events("O 0 0", "C 1 1"), is, "event 1: it closes frame 1, which is not the last one"},
		"a close first":           {events("C 0 0"), is, "event 0: it closes frame 0"},
		"an event's frame":        {events("O 0 9"), is, "event 0: frame 9 of 3"},
		"an event's type":         {events("X 0 0"), is, `event 0: type "X": want O or C`},
		"an event's time":         {speedscopeOf(`{"type":"evented","unit":"none","events":[{"type":"O","frame":0}]}`), is, "event 0: want a number"},
		"a long time":             {events("O -9000000000 0", "C 9000000000 0"), is, "event 1: a time of more than 64 bits"},
		"a sum of events":         {events("O 0 0", "C 9000000000 0", "O -9000000000 0", "C 0 0"), is, "event 2: its time"},
		"open events":             {events("O 0 0", "O 1 1"), nil, ""},
		"null everywhere":         {`{"$schema":"speedscope.app/file-format-schema","shared":null,"profiles":[{"type":"sampled","unit":"none","samples":null,"weights":null}]}`, nil, ""},
		"names beyond UTF-8":      {strings.Replace(one("[0]", "1"), "main", "\xff", 1), nil, ""},
		"an active profile of -1": {strings.Replace(one("[0]", "1"), `"exporter":"x@1"`, `"activeProfileIndex":-1`, 1), nil, ""},
		"no weight":               {one("[0]", "0"), nil, ""},
		"a name of nothing":       {speedscopeOf(sampled("", "none", "[0]", "1") + "," + sampled("", "none", "[0]", "1")), nil, ""},
		"equal types, of Granary": {strings.Replace(speedscopeOf(sampled("a", "none", "[0]", "1")+","+sampled("a", "none", "[0]", "1")), "x@1", "granary", 1), nil, ""},
	})
	wantCut(t, format.Speedscope, one("[0,1]", "7"))
}

// FuzzSpeedscope decodes any bytes.
func FuzzSpeedscope(f *testing.F) {
	fuzz(f, format.Speedscope, speedscopeOf(sampled("a", "seconds", "[0,1],[2]", "0.5,1")), speedscopeOf(evented("none", "O 0 0", "O 1 1", "C 2 1", "C 3 0")+","+sampled("b", "bytes", "[1]", "3")))
}
