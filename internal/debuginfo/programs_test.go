package debuginfo

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/pprof/profile"

	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/profile/pprof"
)

// TestGoPrograms has the frames of a profile that a Go program wrote of itself, found again by its addresses: in the stripped
// program, in one for any address, and in the debug information alone.
func TestGoPrograms(t *testing.T) {
	for _, c := range []struct {
		name  string
		flags []string
		alone bool
	}{
		{name: "stripped", flags: []string{"-ldflags=-s -w"}},
		{name: "stripped, any address", flags: []string{"-buildmode=pie", "-ldflags=-s -w"}},
		{name: "as built", flags: nil},
		{name: "debug information alone", flags: nil, alone: true},
		{name: "debug information alone, any address", flags: []string{"-buildmode=pie"}, alone: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.name != "stripped" {
				effort.Slow(t)
			}
			program := goProgram(t, c.flags...)
			at := filepath.Join(t.TempDir(), "cpu.pb.gz")
			run(t, ".", program, at)
			file := program
			if c.alone {
				need(t, "objcopy")
				file = program + ".debug"
				run(t, ".", "objcopy", "--only-keep-debug", program, file)
			}
			f := open(t, file)
			p := readProfile(t, at)
			inlined, own := 0, 0
			for _, l := range p.Location {
				if l.Mapping == nil || path.Base(l.Mapping.File) != "work" || strings.HasPrefix(l.Line[0].Function.Name, "runtime._") {
					continue // of the kernel, or one that the runtime made up
				}
				got := f.Frames(MappedAddress{l.Mapping.Start, l.Mapping.Offset, l.Address})
				if diff := cmp.Diff(framesOf(l), withoutStarts(got)); diff != "" {
					t.Errorf("%#x: (-the runtime's +ours)\n%s", l.Address, diff)
				}
				if own++; len(got) > 1 {
					inlined++
				}
			}
			if err := f.Problem(); err != nil || own < 5 || inlined == 0 {
				t.Errorf("%d locations, %d with inlined calls: %v", own, inlined, err)
			}
			if len(f.BuildIDs) != 1 || p.Mapping[0].BuildID != f.BuildIDs[0] {
				t.Errorf("build ids %q, in the profile %q", f.BuildIDs, p.Mapping[0].BuildID)
			}
		})
	}
}

func readProfile(t testing.TB, name string) *profile.Profile {
	t.Helper()
	in, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	p, err := profile.Parse(in)
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func framesOf(l *profile.Location) (all []NamedFrame) {
	for _, ln := range l.Line {
		all = append(all, NamedFrame{Function: ln.Function.Name, File: ln.Function.Filename, Line: ln.Line})
	}
	return all
}

// withoutStarts returns frames without the first lines of their functions, of which the other side has none.
func withoutStarts(frames []NamedFrame) []NamedFrame {
	frames = slices.Clone(frames)
	for i := range frames {
		frames[i].StartLine = 0
	}
	return frames
}

// shown returns frames with the names that answers have: DWARF and symbols name the functions of one file differently.
func shown(frames []NamedFrame) []NamedFrame {
	frames = withoutStarts(frames)
	for i := range frames {
		frames[i].Function = pprof.Demangled(frames[i].Function)
	}
	return frames
}

// TestCxxProgram asks for each byte of the code of a C++ program, and has the answers of addr2line: from the program with
// DWARF of versions 4 and 5, and of its debug information alone, by the addresses of a process.
func TestCxxProgram(t *testing.T) {
	effort.Slow(t)
	// binutils 2.40 takes the wrong files of DWARF 5.
	for _, flags := range [][]string{{"-gdwarf-5"}, {"-gdwarf-4"}, {"-gdwarf-4", "-no-pie"}, {"-gdwarf-5", "-gz=zlib"}, {"-O0", "-gdwarf-5"}} {
		tool := "llvm-addr2line"
		if slices.Contains(flags, "-gdwarf-4") {
			tool = "addr2line"
		}
		t.Run(fmt.Sprint(flags), func(t *testing.T) {
			need(t, tool)
			full, stripped, debug := cxxProgram(t, flags...)
			start, offset, frames := process(t, stripped)
			withCode, alone := open(t, full), open(t, debug)
			base := start - offset
			if slices.Contains(flags, "-no-pie") {
				base = 0
			}
			low, high := extent(t, full)
			var addrs []uint64
			for a := low; a < high; a++ {
				addrs = append(addrs, a)
			}
			inlined := 0
			all := addr2line(t, tool, full, addrs)
			for i, want := range all {
				if _, ok := withCode.symbolAt(addrs[i]); !ok {
					continue // between functions, where addr2line names the one before
				}
				if want[0].Line == 0 && !path.IsAbs(want[0].File) {
					want[0].File = "" // of the table of symbols
				}
				for _, f := range []*Info{withCode, alone} {
					got := shown(f.Frames(MappedAddress{start, offset, base + addrs[i]}))
					if diff := cmp.Diff(shown(want), got); diff != "" {
						// Of binutils 2.40, at the first byte of an inlined call, that is named as its caller.
						if i+1 < len(all) && len(got) > 1 && got[0].Line == want[0].Line && cmp.Equal(shown(all[i+1]), got) {
							continue
						}
						t.Fatalf("%#x: (-addr2line +ours)\n%s", addrs[i], diff)
					}
					if len(got) > 1 {
						inlined++
					}
				}
			}
			if inlined == 0 && !slices.Contains(flags, "-O0") {
				t.Error("no address has inlined calls")
			}
			var names []string
			for _, a := range frames {
				for _, f := range alone.Frames(MappedAddress{start, offset, a}) {
					names = append(names, f.Function)
				}
			}
			if got := strings.Join(names, " "); !strings.Contains(got, "_ZN4shop6Basket5totalEi") || !strings.Contains(got, " main") {
				t.Errorf("the process's stack is %s", got)
			}
			if err := alone.Problem(); err != nil {
				t.Error(err)
			}
		})
	}
}

// process runs a program that prints its mappings and a stack. It returns where its code is, and the addresses in it.
func process(t *testing.T, program string) (start, offset uint64, frames []uint64) {
	t.Helper()
	var limit uint64
	for line := range strings.Lines(run(t, ".", program)) {
		parts := strings.Fields(line)
		if addr, ok := strings.CutPrefix(line, "frame 0x"); ok {
			if a := hexadecimal(t, strings.TrimSpace(addr)); a >= start && a < limit {
				frames = append(frames, a-1) // it is where the call returns to
			}
		} else if parts[1] == "r-xp" && parts[len(parts)-1] == program {
			from, to, _ := strings.Cut(parts[0], "-")
			start, limit, offset = hexadecimal(t, from), hexadecimal(t, to), hexadecimal(t, parts[2])
		}
	}
	if len(frames) < 5 {
		t.Fatalf("%s printed %d addresses of its own", program, len(frames))
	}
	return start, offset, frames
}

func hexadecimal(t *testing.T, s string) uint64 {
	t.Helper()
	v, err := strconv.ParseUint(s, 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// extent returns the range of the functions of the program's source.
func extent(t *testing.T, program string) (low, high uint64) {
	t.Helper()
	f := open(t, program)
	f.dwarfFrames(0)
	for _, r := range f.dwarf.part.ranges {
		if low == 0 || r.low < low {
			low = r.low
		}
		high = max(high, r.high)
	}
	if high-low < 100 {
		t.Fatalf("the program's code is from %#x to %#x", low, high)
	}
	return low, high
}

// addr2line returns the frames that a tool of binutils or LLVM finds.
func addr2line(t *testing.T, tool, program string, addrs []uint64) (all [][]NamedFrame) {
	t.Helper()
	args := []string{"-a", "-f", "-i", "-e", program}
	for _, a := range addrs {
		args = append(args, fmt.Sprintf("%#x", a))
	}
	lines := strings.Split(strings.TrimSpace(run(t, ".", tool, args...)), "\n")
	for i := 0; i < len(lines); {
		if strings.HasPrefix(lines[i], "0x") {
			all = append(all, nil)
			i++
			continue
		}
		var f NamedFrame
		if f.Function = lines[i]; f.Function == "??" {
			f.Function = ""
		}
		file, number, _ := strings.Cut(lines[i+1], ":")
		if number, _, _ = strings.Cut(number, " "); file != "??" {
			f.File = path.Clean(file)
		}
		f.Line, _ = strconv.ParseInt(number, 10, 64)
		if f != (NamedFrame{}) {
			all[len(all)-1] = append(all[len(all)-1], f)
		}
		i += 2
	}
	return all
}
