package trace

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/internal/ihs"
)

// readCSV makes a set of one or more texts.
func readCSV(t testing.TB, opts CSVOptions, texts ...string) (*ihs.Set, error) {
	t.Helper()
	table := NewCSV(opts)
	for i, text := range texts {
		if err := table.Read(t.Context(), fmt.Sprintf("%d.csv", i), strings.NewReader(text)); err != nil {
			return nil, err
		}
	}
	return table.Set()
}

// setLines prints a set: path, interval, kind and value.
func setLines(s *ihs.Set) (lines []string) {
	for i := range s.Len() {
		iv := s.At(i)
		value := valueOf(iv).String()
		lines = append(lines, fmt.Sprintf("%s %d %d %s %s", strings.Join(s.Path(int(iv.Key)), ">"), iv.Start, iv.End, iv.Kind, value))
	}
	slices.Sort(lines)
	return lines
}

// plain prints a value as a cell of CSV.
func plain(v history.Value) string {
	switch v.Kind() {
	case history.KindNull:
		return ""
	case history.KindString:
		return v.Text()
	}
	return v.String()
}

func TestCSV(t *testing.T) {
	at := func(n int64) *int64 { return &n }
	for name, tc := range map[string]struct {
		opts  CSVOptions
		texts []string
		want  []string
	}{
		"exclusive ends": {CSVOptions{ExclusiveEnds: true, Unit: 6}, []string{"start,end,attribute,value\n1,5,a,x\n5,9,a,y\n"}, []string{
			`a 1000000 4999999 string "x"`, `a 5000000 8999999 string "y"`,
		}},
		"beyond an int": {CSVOptions{}, []string{"time,attribute,value\n1,a,18446744073709551615\n2,a,18446744073709551614\n3,a,9007199254740993\n4,a,0\n"}, []string{
			`a 1 1 string "18446744073709551615"`, `a 2 2 string "18446744073709551614"`, `a 3 3 string "9007199254740993"`, `a 4 4 string "0"`,
		}},
		"beyond a float": {CSVOptions{}, []string{"time,attribute,value\n1,a,9007199254740993\n2,a,0.5\n1,b,9007199254740992\n2,b,0.5\n"}, []string{
			`a 1 1 string "9007199254740993"`, `a 2 2 string "0.5"`, "b 1 1 float 9.007199254740992e+15", "b 2 2 float 0.5",
		}},
		"2^63": {CSVOptions{}, []string{"time,attribute,value\n1,a,9223372036854775808\n2,a,-9223372036854775808\n"}, []string{
			"a 1 1 float 9.223372036854776e+18", "a 2 2 float -9.223372036854776e+18",
		}},
		"changes": {CSVOptions{}, []string{"time,attribute,value\n10,a,1\n20,a,2\n25,a,2\n30,a,\n15,b,x\n"}, []string{
			"a 10 19 int 1", "a 20 29 int 2", "a 30 30 null null", "b 10 14 null null", `b 15 30 string "x"`,
		}},
		"intervals": {CSVOptions{}, []string{"start,end,attribute,value\n10,14,a,1\n15,19,a,1\n30,40,a,2\n10,12,b,1\n"}, []string{
			"a 10 14 int 1", "a 15 19 int 1", "a 20 29 null null", "a 30 40 int 2", "b 10 12 int 1", "b 13 40 null null",
		}},
		"in any order": {CSVOptions{}, []string{"value,time,attribute\n2,20,a\n1,10,a\n3,30,a\n"}, []string{
			"a 10 19 int 1", "a 20 29 int 2", "a 30 30 int 3",
		}},
		"twice at a time": {CSVOptions{}, []string{"time,attribute,value\n10,a,1\n10,a,2\n20,a,3\n20,a,2\n30,a,4\n"}, []string{
			"a 10 29 int 2", "a 30 30 int 4",
		}},
		"two files, two forms": {CSVOptions{}, []string{"time,attribute,value\n10,a,1\n", "\ufeffStart, End ,Attribute,Value\n5,8,a,2\n12,14,b,3\n"}, []string{
			"a 10 14 int 1", "a 5 8 int 2", "a 9 9 null null", "b 12 14 int 3", "b 5 11 null null",
		}},
		"a closed one ends an open one": {CSVOptions{}, []string{"time,attribute,value\n10,a,1\n", "start,end,attribute,value\n15,20,a,2\n"}, []string{
			"a 10 14 int 1", "a 15 20 int 2",
		}},
		"paths": {CSVOptions{}, []string{"time,attribute,value\n1,a/b,1\n1,a,2\n1,x\\/y/*,3\n1,,4\n1,a//b,5\n"}, []string{
			" 1 1 int 4", "a 1 1 int 2", "a> 1 1 null null", "a>>b 1 1 int 5", "a>b 1 1 int 1", "x/y 1 1 null null", "x/y>* 1 1 int 3",
		}},
		"separator": {CSVOptions{Separator: '.'}, []string{"time,attribute,value\n1,a.b/c,1\n1,a\\.b,2\n"}, []string{
			"a 1 1 null null", "a.b 1 1 int 2", "a>b/c 1 1 int 1",
		}},
		"kinds": {CSVOptions{}, []string{
			"time,attribute,value\n1,int,1\n2,int,-7\n1,long,1\n2,long,3000000000\n1,float,1\n2,float,2.50\n3,float,1e-7\n1,zeros,007\n" +
				"1,plus,+5\n1,mixed,1.50\n2,mixed,x\n1,none,\n1,large,9223372036854775808\n1,hex,0x10\n1,nan,NaN\n1,huge,1e999\n1,true,true\n3,int,\n",
		}, []string{
			"float 1 1 float 1", "float 2 2 float 2.5", "float 3 3 float 1e-07", `hex 1 3 string "0x10"`,
			`huge 1 3 string "1e999"`, "int 1 1 int 1", "int 2 2 int -7", "int 3 3 null null", "large 1 3 float 9.223372036854776e+18",
			"long 1 1 long 1", "long 2 3 long 3000000000", `mixed 1 1 string "1.50"`, `mixed 2 3 string "x"`,
			`nan 1 3 string "NaN"`, "none 1 3 null null", `plus 1 3 string "+5"`, `true 1 3 string "true"`, `zeros 1 3 string "007"`,
		}},
		"kinds that are named": {CSVOptions{}, []string{
			"time,attribute,value,kind\n1,a,1,string\n2,a,,string\n3,a,,null\n1,b,1,float\n2,b,NaN,float\n1,c,007,int\n2,c,,int\n1,d,5,\n",
		}, []string{
			`a 1 1 string "1"`, `a 2 2 string ""`, "a 3 3 null null", "b 1 1 float 1", "b 2 3 float NaN", "c 1 1 long 7", "c 2 3 null null", "d 1 3 int 5",
		}},
		"a kind for all": {CSVOptions{Kind: "string"}, []string{"time,attribute,value\n1,a,1\n2,a,\n1,b,2.50\n"}, []string{
			`a 1 1 string "1"`, "a 2 2 null null", `b 1 2 string "2.50"`,
		}},
		"floats for all": {CSVOptions{Kind: "float"}, []string{"time,attribute,value\n1,a,1\n2,a,+Inf\n"}, []string{"a 1 1 float 1", "a 2 2 float +Inf"}},
		"units":          {CSVOptions{Unit: 9}, []string{"time,attribute,value\n1.5,a,1\n-2,a,2\n3.1234567899,a,3\n1970-01-01T00:00:02Z,a,4\n"}, []string{"a -2000000000 1499999999 int 2", "a 1500000000 1999999999 int 1", "a 2000000000 3123456788 int 4", "a 3123456789 3123456789 int 3"}},
		"bounds":         {CSVOptions{Start: at(5), End: at(30)}, []string{"time,attribute,value\n10,a,1\n"}, []string{"a 10 30 int 1", "a 5 9 null null"}},
		"quotes":         {CSVOptions{}, []string{"time,attribute,value\n1,\"a,b\",\"x \"\"y\"\"\nz\"\n"}, []string{`a,b 1 1 string "x \"y\"\nz"`}},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := readCSV(t, tc.opts, tc.texts...)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, setLines(s)); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

// Errors name the file and the line.
func TestCSVErrors(t *testing.T) {
	const head = "time,attribute,value\n"
	at := func(n int64) *int64 { return &n }
	for name, tc := range map[string]struct {
		opts  CSVOptions
		texts []string
		want  string
	}{
		"empty":                 {CSVOptions{}, []string{""}, "0.csv: the file is empty: want a line that names the columns"},
		"no rows":               {CSVOptions{}, []string{head}, "there are no rows"},
		"no header":             {CSVOptions{}, []string{"1,a,2\n"}, `0.csv: line 1: column "1" is unknown: want time,attribute,value`},
		"column twice":          {CSVOptions{}, []string{"time,time,attribute,value\n"}, `column "time" is there twice`},
		"both forms":            {CSVOptions{}, []string{"time,start,end,attribute,value\n"}, "line 1: the columns are"},
		"no end":                {CSVOptions{}, []string{"start,attribute,value\n"}, "line 1: the columns are"},
		"no value":              {CSVOptions{}, []string{"time,attribute\n"}, "line 1: the columns are"},
		"too few":               {CSVOptions{}, []string{head + "1,a,2\n2,a\n"}, "0.csv: record on line 3: wrong number of fields"},
		"open quote":            {CSVOptions{}, []string{head + "1,\"a,2\n"}, "0.csv: parse error on line 2"},
		"time":                  {CSVOptions{}, []string{head + "1,a,2\n\n2,\"b\nc\",3\n"}, `0.csv: line 4: attribute "b\nc"`},
		"time that is none":     {CSVOptions{}, []string{head + "1,a,2\nnow,a,3\n"}, `0.csv: line 3: time "now": want a number in the unit of the file or a date`},
		"decimals of ns":        {CSVOptions{}, []string{head + "1.5,a,2\n"}, `line 2: time "1.5" is no whole number of nanoseconds: granary history import --unit s`},
		"time of an end":        {CSVOptions{}, []string{"start,end,attribute,value\n5,x,a,1\n"}, `line 2: time "x"`},
		"back":                  {CSVOptions{}, []string{"start,end,attribute,value\n5,4,a,1\n"}, "line 2: end 4 is before start 5"},
		"overlap":               {CSVOptions{}, []string{"start,end,attribute,value\n", "start,end,attribute,value\n5,9,a,1\n1,2,b,1\n9,10,a,1\n"}, "1.csv: line 4: intervals touch: start 9 is the end of the attribute's interval in line 2"},
		"out of range":          {CSVOptions{}, []string{head + "9223372036854775807,a,1\n"}, "is out of range"},
		"far apart":             {CSVOptions{}, []string{head + "-9223372036854775807,a,1\n1,a,2\n"}, "is longer than a set can be"},
		"too far for a unit":    {CSVOptions{Unit: 9}, []string{head + "9223372037,a,1\n"}, "line 2: time"},
		"backslash":             {CSVOptions{}, []string{head + "1,a\\,1\n"}, "line 2: \"a\\\\\" ends in a backslash"},
		"no UTF-8 in a name":    {CSVOptions{}, []string{head + "1,\xff,1\n"}, "line 2: \"\\xff\" is not UTF-8"},
		"no UTF-8 in a value":   {CSVOptions{}, []string{head + "1,a,\xff\n"}, "line 2: value"},
		"long value":            {CSVOptions{}, []string{head + "1,a," + strings.Repeat("x", 65537) + "\n"}, "at most 65536 bytes"},
		"long row":              {CSVOptions{}, []string{head + "1,a,\"" + strings.Repeat("x\n", 1<<20) + "\n"}, "a row of more than 1048576 bytes"},
		"unknown kind":          {CSVOptions{}, []string{"time,attribute,value,kind\n1,a,1,bool\n"}, `line 2: kind "bool": want int, float, string or null`},
		"two kinds":             {CSVOptions{}, []string{"time,attribute,value,kind\n1,a,1,int\n2,b,1,float\n2,a,1,float\n"}, "line 4: kind float: the attribute is of kind int"},
		"null with a value":     {CSVOptions{}, []string{"time,attribute,value,kind\n1,a,1,null\n"}, `line 2: value "1" of kind null`},
		"no int":                {CSVOptions{Kind: "int"}, []string{head + "1,a,1\n1,b,5\n3,b,1.5\n"}, `0.csv: line 4: value "1.5": want a whole number`},
		"no float":              {CSVOptions{Kind: "float"}, []string{head + "1,a,1\n", head + "7,a,one\n"}, `1.csv: line 2: value "one": want a number`},
		"starts before":         {CSVOptions{Start: at(2)}, []string{head + "1,a,1\n"}, "the start is behind the first row, of 1 ns"},
		"ends behind":           {CSVOptions{End: at(0)}, []string{head + "1,a,1\n"}, "the end is before the last row, of 1 ns"},
		"kind against the flag": {CSVOptions{Kind: "int"}, []string{"time,attribute,value,kind\n1,a,x,string\n"}, "line 2: kind string: the attribute is of kind int"},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := readCSV(t, tc.opts, tc.texts...)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want one with %q; set %v", err, tc.want, s)
			}
		})
	}
}

// TestCSV_SkipBad leaves out each row that is wrong, and tells of it.
func TestCSV_SkipBad(t *testing.T) {
	var bad []string
	opts := CSVOptions{Kind: "int", SkipBad: func(err error) { bad = append(bad, err.Error()) }}
	s, err := readCSV(t, opts, "start,end,attribute,value\n1,5,a,1\nnow,9,a,2\n3,8,a,3\n6,6,a,x\n7\n5,9,a,4\n7,8,a,5\n9,10,a,"+strings.Repeat("7", 70_000)+"\n9,10,b,6\n")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"a 1 5 long 1", "a 6 6 null null", "a 7 8 long 5", "a 9 10 null null", "b 1 8 null null", "b 9 10 int 6"}
	if diff := cmp.Diff(want, setLines(s)); diff != "" {
		t.Error("-want +got\n", diff)
	}
	wrong := []string{"line 3: time", "line 6: wrong number", "line 9: value", "line 4: start 3 is before", "line 7: intervals touch", "line 5: value"}
	if len(bad) != len(wrong) {
		t.Fatalf("%d rows are left out: %q", len(bad), bad)
	}
	for i, want := range wrong {
		if !strings.Contains(bad[i], want) {
			t.Errorf("row %d of them: %s, want %s", i, bad[i], want)
		}
	}
	// A limit of the file is no fault of a row.
	if _, err := readCSV(t, opts, "time,attribute,value\n1,"+strings.Repeat("x", 2*maxCSVRecord)+",1\n"); err == nil {
		t.Error("a row that is too long is left out")
	}
}

// An oracle that scans all rows: at every instant an attribute has the value of its last row
// before that instant, whatever the order of the rows.
func TestCSVOracle(t *testing.T) {
	type row struct {
		t    int64
		key  int
		text string
	}
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 1))
		values := [][]string{{"", "1", "-2", "3000000000"}, {"", "1", "1.5", "2.50"}, {"", "x", "7", "1.50", "007"}}
		var rows []row
		var text strings.Builder
		text.WriteString("time,attribute,value\n")
		for range 1 + rng.IntN(80) {
			key := rng.IntN(6)
			r := row{rng.Int64N(100), key, values[key%3][rng.IntN(len(values[key%3]))]}
			rows = append(rows, r)
			fmt.Fprintf(&text, "%d,k/%d,%s\n", r.t, r.key, r.text)
		}
		s, err := readCSV(t, CSVOptions{}, text.String())
		if err != nil {
			t.Fatal(err)
		}
		l, err := build(t.Context(), inputOf(s), nil)
		if err != nil {
			t.Fatal(err)
		}
		for key := range 6 {
			a, err := l.Lookup("k", fmt.Sprint(key))
			if err != nil {
				continue // no row has it
			}
			strings := slices.ContainsFunc(rows, func(r row) bool { return r.key == key && (r.text == "x" || r.text == "007") })
			for at := l.Start(); at <= l.End(); at++ {
				want, last := "", int64(math.MinInt64)
				for _, r := range rows {
					if r.key == key && r.t <= at && r.t >= last {
						want, last = r.text, r.t
					}
				}
				if want == "2.50" || want == "1.50" && !strings {
					want = want[:3]
				}
				in, err := l.At(a, at)
				if err != nil || plain(in.Value) != want {
					t.Fatalf("seed %d, %d at %d: %v %v, want %q\n%s", seed, key, at, in, err, want, text.String())
				}
			}
		}
	}
}

// Any input gives an error, or a sound set that survives a round trip.
func FuzzCSV(f *testing.F) {
	f.Add([]byte(`time,attribute,value
2026-01-31T09:00:02.5Z,CPUs/0,0
2026-01-31T09:00:09.5Z,CPUs/0,
2026-01-31T09:00:03.25Z,Threads/4297/Exec_name,"ls ""x"", y"
2026-01-31T09:00:07Z,Threads/4297/load,1.25
2026-01-31T09:00:01Z,odd\/name \*,..
`), uint8(0))
	f.Add([]byte("start,end,attribute,value,kind\n1,5,a/b,2,int\n7,9,a/b,,null\n1,2,c,,string\n"), uint8(0))
	f.Add([]byte("time,attribute,value\n1.5,a,1e5\n2,a,-0\n3,a,0.10\n4,a,\"x\n\"\n"), uint8(9))
	f.Add([]byte("\ufefftime,value,attribute\n-1,5,\\/\n"), uint8(3))
	f.Fuzz(func(t *testing.T, data []byte, unit uint8) {
		s, err := readCSV(t, CSVOptions{Unit: int(unit % 10)}, string(data))
		if err != nil {
			return
		}
		if err := s.Check(); err != nil {
			t.Fatal(err)
		}
		var intervals, attributes bytes.Buffer
		if err := s.Write(&intervals, nil); err != nil {
			t.Fatal(err)
		}
		if err := ihs.WriteAttributes(&attributes, s.Attributes); err != nil {
			t.Fatal(err)
		}
		again, err := ihs.Read(&intervals, ihs.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if again.Attributes, err = ihs.ReadAttributes(&attributes, len(s.Attributes), ihs.Limits{}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(setLines(s), setLines(again)); diff != "" {
			t.Fatal(diff)
		}
	})
}
