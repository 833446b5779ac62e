package check

import "testing"

func TestStableName(t *testing.T) {
	for name, want := range map[string]string{
		"main.f":                 "main.f",
		"main.Map[go.shape.int]": "main.Map[...]",
		"main.Map[...]":          "main.Map[...]",
		"slices.Sort[go.shape.[]string,go.shape.string]": "slices.Sort[...]",
		"main.(*List[go.shape.int]).Add":                 "main.(*List[...]).Add",
		"main.A[a].B[b[c]].func1":                        "main.A[...].B[...].func1",
		"[libc.so.6]":                                    "[libc.so.6]",
		"main.open[":                                     "main.open[",
		"main.a]b":                                       "main.a]b",
		"vector::operator[]":                             "vector::operator[]",
		"f(int[4])":                                      "f(int[...])",
		"":                                               "",
	} {
		if got := stableName(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
	for name, want := range map[string]string{
		"main.f.func2": "main.f.func*", "main.f.func12.3": "main.f.func*", "main.f.func1.gowrap2": "main.f.func*.gowrap*",
		"main.f-range1": "main.f-range*", "main.(*T).f.deferwrap1": "main.(*T).f.deferwrap*",
	} {
		if got, is := family(name); got != want || !is {
			t.Errorf("%q: %q, %v", name, got, is)
		}
	}
	for _, name := range []string{"main.f", "main.function1", "main.f.funcs"} {
		if got, is := family(name); is {
			t.Errorf("%q: %q", name, got)
		}
	}
}

// sides returns a type with five equal runs of each side, in bytes.
func sides(base, changed map[string]Cost) Measured {
	m := Measured{Sample: "alloc_space", Unit: "bytes"}
	for s, functions := range []map[string]Cost{base, changed} {
		for range 5 {
			r := Run{Operations: 1, Functions: map[string]Cost{}}
			for name, c := range functions {
				r.Functions[name] = c
				r.Total += c.Self
			}
			m.Sides[s].Runs = append(m.Sides[s].Runs, r)
		}
	}
	return m
}

func leaf(v float64) Cost { return Cost{v, v} }

// TestMoves compares functions with what they were: C2.
func TestMoves(t *testing.T) {
	for _, tc := range []struct {
		name          string
		base, changed map[string]Cost
		callers       [2]map[string][]string
		want          []string // verdict, name, how it moved
	}{
		{"nothing", map[string]Cost{"m.a": leaf(100)}, map[string]Cost{"m.a": leaf(100)}, [2]map[string][]string{}, nil},
		{"another package", map[string]Cost{"m/v2.parse": leaf(100), "m.b": leaf(50)}, map[string]Cost{"m/v3.parse": leaf(100), "m.b": leaf(50)}, [2]map[string][]string{}, []string{"same m/v3.parse renamed"}},
		{"another receiver, and worse", map[string]Cost{"m.(*A).parse": leaf(100), "m.b": leaf(50)}, map[string]Cost{"m.(*B).parse": leaf(120), "m.b": leaf(50)}, [2]map[string][]string{}, []string{"worse m.(*B).parse renamed"}},
		{"another name, the same cost", map[string]Cost{"m.parse": leaf(100), "m.b": leaf(50)}, map[string]Cost{"m.scan": leaf(101), "m.b": leaf(50)}, [2]map[string][]string{}, []string{"same m.scan renamed"}},
		{"another name of the same namespace, the same cost", map[string]Cost{"m::a::parse": leaf(100), "m::b": leaf(50)}, map[string]Cost{"m::c::scan": leaf(101), "m::b": leaf(50)}, [2]map[string][]string{}, []string{"same m::c::scan renamed"}},
		{"names without a package", map[string]Cost{"parse": leaf(100), "b": leaf(50)}, map[string]Cost{"scan": leaf(101), "b": leaf(50)}, [2]map[string][]string{}, []string{"worse scan ", "better parse "}},
		{"another name and cost", map[string]Cost{"m.parse": leaf(100), "m.b": leaf(50)}, map[string]Cost{"m.scan": leaf(140), "m.b": leaf(50)}, [2]map[string][]string{}, []string{"worse m.scan ", "better m.parse "}},
		{"another package, name and the same cost", map[string]Cost{"m.parse": leaf(100), "m.b": leaf(50)}, map[string]Cost{"n.scan": leaf(100), "m.b": leaf(50)}, [2]map[string][]string{}, []string{"worse n.scan ", "better m.parse "}},
		{"inlined", map[string]Cost{"m.f": {50, 150}, "m.g": leaf(100)}, map[string]Cost{"m.f": leaf(151)}, [2]map[string][]string{{"m.g": {"m.f"}}, {}}, []string{"same m.f inlined"}},
		{"inlined, and worse", map[string]Cost{"m.f": {50, 150}, "m.g": leaf(100)}, map[string]Cost{"m.f": leaf(180)}, [2]map[string][]string{{"m.g": {"m.f"}}, {}}, []string{"worse m.f inlined"}},
		{"cut out", map[string]Cost{"m.f": leaf(150), "m.x": leaf(300)}, map[string]Cost{"m.f": {50, 150}, "m.g": leaf(100), "m.x": leaf(300)}, [2]map[string][]string{{}, {"m.g": {"m.f"}}}, []string{"same m.f cut out"}},
		{"new", map[string]Cost{"m.f": leaf(150)}, map[string]Cost{"m.f": {150, 250}, "m.g": leaf(100)}, [2]map[string][]string{{}, {"m.g": {"m.f"}}}, []string{"worse m.g ", "worse m.f "}},
		{"closures that shifted", map[string]Cost{"m.f.func1": leaf(100), "m.f.func2": leaf(10)}, map[string]Cost{"m.f.func1": leaf(5), "m.f.func2": leaf(100), "m.f.func3": leaf(5)}, [2]map[string][]string{}, nil},
		{"closures that did not", map[string]Cost{"m.f.func1": leaf(100), "m.f.func2": leaf(10)}, map[string]Cost{"m.f.func1": leaf(100), "m.f.func2": leaf(20)}, [2]map[string][]string{}, []string{"worse m.f.func2 "}},
		{"a wrapper that costs nothing", map[string]Cost{"m.f": leaf(100)}, map[string]Cost{"m.w": {0, 100}, "m.f": leaf(100)}, [2]map[string][]string{}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := sides(tc.base, tc.changed)
			for s := range m.Sides {
				m.Sides[s].Callers = func(f string) []string { return tc.callers[s][f] }
			}
			report, err := Compare([]Measured{m}, DefaultOptions())
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range report.Types[0].Functions {
				how := ""
				if f.Move != nil {
					how = f.Move.How
				}
				got = append(got, string(f.Verdict)+" "+f.Name+" "+how)
			}
			if len(got) != len(tc.want) {
				t.Fatalf("%q, want %q", got, tc.want)
			}
			for i := range got {
				if got[i] != tc.want[i] {
					t.Errorf("%q, want %q", got, tc.want)
				}
			}
		})
	}
}

func FuzzStableName(f *testing.F) {
	for _, seed := range []string{"main.Map[go.shape.int]", "a[b[c]]d]", "[x]", "main.f.func1.2"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		once := stableName(name)
		if twice := stableName(once); twice != once {
			t.Errorf("%q: %q, and of that %q", name, once, twice)
		}
		family(name)
		lastPart(name)
		packageOf(name)
	})
}
