// Command scrub removes the directories from the file names of a pprof profile's mappings,
// refuses the profile if any other string still names a directory of the machine, writes it
// gzipped, and prints a summary: sample types, samples, distinct stacks, distinct label keys.
//
//	scrub IN OUT.pb.gz
package main

import (
	"fmt"
	"log"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/google/pprof/profile"
)

// machinePath matches strings that must not be published: an absolute path, or one inside a
// longer string.
var machinePath = regexp.MustCompile(`^([A-Za-z]:)?[/\\]|/home/|/root/|/tmp/|/Users/`)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 3 {
		log.Fatal("usage: scrub IN OUT.pb.gz")
	}
	if err := scrub(os.Args[1], os.Args[2]); err != nil {
		log.Fatalf("%s: %v", os.Args[1], err)
	}
}

func scrub(in, out string) error {
	data, err := os.ReadFile(in)
	if err != nil {
		return err
	}
	p, err := profile.ParseData(data)
	if err != nil {
		return err
	}
	for _, m := range p.Mapping {
		m.File = filepath.Base(m.File)
	}
	for _, s := range allStrings(p) {
		if machinePath.MatchString(s) {
			return fmt.Errorf("a machine path is left: %q", s)
		}
	}
	f, err := os.Create(out)
	if err != nil {
		return err
	}
	if err := p.Write(f); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	fmt.Println(tableLine(p, out))
	return nil
}

// allStrings returns every string that a reader of the profile can see.
func allStrings(p *profile.Profile) []string {
	list := append([]string{p.DropFrames, p.KeepFrames, p.DefaultSampleType, p.DocURL}, p.Comments...)
	for _, m := range p.Mapping {
		list = append(list, m.File, m.BuildID)
	}
	for _, f := range p.Function {
		list = append(list, f.Name, f.SystemName, f.Filename)
	}
	for _, s := range p.Sample {
		for key, values := range s.Label {
			list = append(append(list, key), values...)
		}
		for key, units := range s.NumUnit {
			list = append(append(list, key), units...)
		}
	}
	return list
}

// tableLine describes a profile: its file, sample types, and numbers of samples and of
// distinct stacks (by function, file and line).
func tableLine(p *profile.Profile, out string) string {
	var types []string
	for _, t := range p.SampleType {
		types = append(types, t.Type+"/"+t.Unit)
	}
	stacks := map[string]bool{}
	labels := map[string]bool{}
	for _, s := range p.Sample {
		var b strings.Builder
		for _, loc := range s.Location {
			if len(loc.Line) == 0 {
				fmt.Fprintf(&b, "%#x\n", loc.Address)
			}
			for _, l := range loc.Line {
				fmt.Fprintf(&b, "%s %s:%d\n", l.Function.Name, l.Function.Filename, l.Line)
			}
		}
		stacks[b.String()] = true
		for key := range s.Label {
			labels[key] = true
		}
	}
	dir, name := filepath.Split(out)
	return fmt.Sprintf("| `%s/%s` | %s | %d | %d | %d |",
		filepath.Base(dir), name, strings.Join(types, ", "), len(p.Sample), len(stacks), len(labels))
}
