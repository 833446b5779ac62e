package names

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/granarydb/granary/internal/beside"
)

// treeSet is the attributes of a real trace: parent and name of each, in order.
type treeSet []struct {
	parent Attribute
	name   string
}

// realTree reads the attributes of a set of real intervals.
func realTree(t testing.TB, name string) treeSet {
	t.Helper()
	file, err := os.Open(beside.Data(t, "intervals/"+name+".attrs.tsv.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	text, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	var set treeSet
	lines := bufio.NewScanner(text)
	for lines.Scan() {
		fields := strings.SplitN(lines.Text(), "\t", 3)
		if fields[0] == "quark" {
			continue
		}
		parent, err := strconv.Atoi(fields[1])
		if err != nil || fields[0] != strconv.Itoa(len(set)) {
			t.Fatalf("line %q, %v; want attribute %d", lines.Text(), err, len(set))
		}
		set = append(set, struct {
			parent Attribute
			name   string
		}{Attribute(parent), fields[2]}) // -1 is Top
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return set
}

func (s treeSet) build(t testing.TB) *Tree {
	tr := New(1, maxAttributes)
	for _, a := range s {
		if _, isNew, err := tr.Add(a.parent, a.name); err != nil || !isNew {
			t.Fatalf("add(%d, %q): %v, %v", a.parent, a.name, isNew, err)
		}
	}
	return tr
}

// The attributes of a real trace take at most 32 bytes each, as reported by size.
func TestTreeSizeIsHeap(t *testing.T) {
	sets := map[string]func(*testing.T) treeSet{
		"many-threads": func(t *testing.T) treeSet { return realTree(t, "many-threads") },
		"flat":         func(*testing.T) treeSet { return flatTree(50_000) },
		"families":     func(*testing.T) treeSet { return familyTree(50_000) },
	}
	for name, set := range sets {
		t.Run(name, func(t *testing.T) {
			set := set(t)
			before := heapBytes()
			tr := set.build(t)
			heap := heapBytes() - before
			perAttribute := float64(heap) / float64(len(set))
			t.Logf("%d attributes, %d names: heap %d bytes, %.1f each; size() %d; cells %d, last children kept of %d",
				len(set), tr.texts.n, heap, perAttribute, tr.Size(), tr.cells.size()/4, len(tr.last))
			if name == "many-threads" && perAttribute > 32 {
				t.Errorf("%.1f bytes an attribute, want at most 32", perAttribute)
			}
			if size := tr.Size(); 10*size < 9*heap-100_000 || 10*size > 11*heap+100_000 {
				t.Errorf("size() = %d, the heap grew by %d", size, heap)
			}
			runtime.KeepAlive(tr)
			runtime.KeepAlive(set)
		})
	}
}

// flatTree returns n attributes without children.
func flatTree(n int) treeSet {
	set := make(treeSet, n)
	for i := range set {
		set[i].parent, set[i].name = Top, fmt.Sprint("attribute ", i)
	}
	return set
}

// familyTree returns n attributes, every tenth with nine children: the worst case of the list
// of last children.
func familyTree(n int) treeSet {
	set := make(treeSet, n)
	for i := range set {
		set[i].parent, set[i].name = Attribute(i-i%10), "child "+strconv.Itoa(i%10)
		if i%10 == 0 {
			set[i].parent, set[i].name = Top, strconv.Itoa(i)
		}
	}
	return set
}

func heapBytes() int {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int(stats.HeapAlloc)
}

// BenchmarkTreeAdd adds the attributes of a real trace. BenchmarkTreeFind looks each up in its
// parent, as a writer does for every event. BenchmarkTreeLookup looks each up by its whole
// path.
func BenchmarkTreeAdd(b *testing.B) {
	set := realTree(b, "many-threads")
	b.ReportAllocs()
	for b.Loop() {
		set.build(b)
	}
	perAttribute(b, len(set))
}

func BenchmarkTreeFind(b *testing.B) {
	set := realTree(b, "many-threads")
	tr := set.build(b)
	names := tr.Names()
	order := rand.New(rand.NewPCG(1, 1)).Perm(len(set))
	b.Run("by=writer", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			for _, i := range order {
				if a, isNew, err := tr.Add(set[i].parent, set[i].name); err != nil || isNew || int(a) != i {
					b.Fatal(a, isNew, err)
				}
			}
		}
		perAttribute(b, len(set))
	})
	b.Run("by=reader", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			for _, i := range order {
				if a, err := names.LookupFrom(set[i].parent, set[i].name); err != nil || int(a) != i {
					b.Fatal(a, err)
				}
			}
		}
		perAttribute(b, len(set))
	})
}

func perAttribute(b *testing.B, n int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/attribute")
}

func BenchmarkTreeLookup(b *testing.B) {
	set := realTree(b, "many-threads")
	names := set.build(b).Names()
	paths := make([][]string, len(set))
	steps := 0
	for i := range paths {
		paths[i], _ = names.Path(Attribute(i))
		steps += len(paths[i])
	}
	order := rand.New(rand.NewPCG(1, 1)).Perm(len(set))
	b.ReportAllocs()
	for b.Loop() {
		for _, i := range order {
			if a, err := names.Lookup(paths[i]...); err != nil || int(a) != i {
				b.Fatal(a, err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(steps), "ns/step")
}

// BenchmarkTreeTruncate removes a tenth of a real trace, and adds it again.
func BenchmarkTreeTruncate(b *testing.B) {
	set := realTree(b, "many-threads")
	tr := set.build(b)
	keep := len(set) - len(set)/10
	for b.Loop() {
		tr.Truncate(keep)
		for _, a := range set[keep:] {
			mustAdd(b, tr, a.parent, a.name)
		}
	}
	perAttribute(b, len(set)-keep)
}
