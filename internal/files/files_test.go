package files_test

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"syscall"
	"testing"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/granule"
	"github.com/granarydb/granary/internal/catalog"
	"github.com/granarydb/granary/internal/crashfs"
	"github.com/granarydb/granary/internal/damaged"
	"github.com/granarydb/granary/internal/disk"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/internal/files"
	"github.com/granarydb/granary/schema"
)

func TestMain(m *testing.M) {
	effort.CollectRarely()
	goleak.VerifyTestMain(m)
}

func definition() schema.Definition {
	return schema.Definition{
		Columns: []schema.Column{
			{Name: "labels", Type: encoding.String, Encoding: encoding.DictionaryRLE, Dynamic: true},
			{Name: "stack", Type: encoding.UUIDList, Encoding: encoding.Dictionary},
			{Name: "time", Type: encoding.Int64, Encoding: encoding.Delta},
			{Name: "tags", Type: encoding.String, Encoding: encoding.DictionaryRLE, Dynamic: true},
			{Name: "value", Type: encoding.Int64, Encoding: encoding.Plain},
			{Name: "trace", Type: encoding.UUID, Encoding: encoding.Plain, Nullable: true},
		},
		SortingKey: []string{"labels", "stack", "time"},
		Bucket:     schema.Bucket{Column: "time", Width: 100},
	}
}

// written is a directory that a store left, with its manifest.
type written struct {
	fs       *crashfs.FS
	id       disk.StoreID
	manifest *files.Manifest
}

// write closes a store with a few hundred rows in three buckets of several granules.
func write(t *testing.T) written {
	t.Helper()
	fs := crashfs.New(crashfs.Options{})
	store, err := columnstore.Open(columnstore.Options{FS: fs, Manual: true, PastLimit: -1, GranuleRows: 20})
	if err != nil {
		t.Fatal(err)
	}
	table, err := store.CreateTable("samples", definition())
	if err != nil {
		t.Fatal(err)
	}
	for i := range 30 {
		b := schema.Batch{Rows: 4, Columns: map[string]encoding.Vector{
			"labels.pod": encoding.Strings(fmt.Sprint("pod ", i%5)),
			"stack":      encoding.UUIDLists([]uuid.UUID{{1}}, []uuid.UUID{{1}, {byte(i)}}, []uuid.UUID{{2}, {1}}, nil),
			"time":       encoding.Int64s(int64(i) * 10),
			"tags.span":  encoding.Strings("", "a", "b", "a"),
			"value":      encoding.Int64s(1, 2, 3, int64(i)),
			"trace":      encoding.UUIDs(uuid.UUID{byte(i)}),
		}}
		if _, err := table.Insert(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	if err := store.Maintain(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	w := written{fs: fs}
	var ok bool
	if w.id, ok, err = disk.Identify(fs); !ok || err != nil {
		t.Fatalf("%v, %v", ok, err)
	}
	d, m, err := files.OpenDir(fs, w.id)
	if err != nil || m == nil || len(m.Tables[0].Buckets) != 3 {
		t.Fatalf("manifest %+v, %v", m, err)
	}
	w.manifest = m
	for i, b := range m.Tables[0].Buckets {
		m.Tables[0].Buckets[i] = w.alone(t, d, b)
	}
	if err := cmp.Or(d.WriteManifest(m), d.Clean(m, nil)); err != nil {
		t.Fatal(err)
	}
	return w
}

// alone writes a bucket, which shares its file, into a file of its own.
func (w *written) alone(t *testing.T, d *files.Dir, b files.BucketFile) files.BucketFile {
	t.Helper()
	if b.Shared != 3 || b.Place == (catalog.Place{}) {
		t.Fatalf("a small bucket has a file of its own: %+v", b)
	}
	parts := w.parts(t, d)
	from, granules, err := readRows(d, b, parts)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := d.CreateRows(parts.Schema, b.Through)
	if err != nil {
		t.Fatal(err)
	}
	rows.Begin(b.Start)
	for _, g := range granules {
		if err := rows.Write(g); err != nil {
			t.Fatal(err)
		}
	}
	out, err := rows.Finish(&catalog.BucketState{Start: b.Start, Series: from.Series, Columns: from.Columns})
	if err != nil || out.Rows != b.Rows {
		t.Fatalf("%d rows of %d, %v", out.Rows, b.Rows, err)
	}
	out.Latest = b.Latest
	return out
}

// parts returns a reader of the table's parts, whose buckets share their dictionaries.
func (w *written) parts(t *testing.T, d *files.Dir) *granule.PartReader {
	t.Helper()
	s, err := schema.New(w.manifest.Tables[0].Definition)
	if err != nil {
		t.Fatal(err)
	}
	g := granule.NewGeneration(1)
	if err := d.ReadDicts(s, w.manifest.Tables[0].Generations[0], g); err != nil {
		t.Fatal(err)
	}
	return &granule.PartReader{Schema: s, Generation: g, Codes: g.Watermark()}
}

// body returns the bytes of a file between header and directory, and the directory.
func body(t *testing.T, fs *crashfs.FS, id disk.StoreID, kind string, number uint64) (pieces, directory []byte) {
	t.Helper()
	r, err := disk.OpenFile(fs, id, kind, number, files.VersionOf(kind))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	all := fs.Get(disk.FileName(kind, number))
	const header, trailer = 64, 24
	end := len(all) - trailer - (len(r.Directory())+7)&^7
	return slices.Clone(all[header:end]), slices.Clone(r.Directory())
}

// withDirectory returns a directory of one file, with another directory of its pieces.
func withDirectory(t *testing.T, id disk.StoreID, kind string, number uint64, pieces, directory []byte) *files.Dir {
	t.Helper()
	fs := crashfs.New(crashfs.Options{})
	f, err := disk.CreateFile(fs, id, kind, number, files.VersionOf(kind))
	if err == nil && len(pieces) > 0 {
		_, err = f.Write(pieces)
	}
	if err == nil {
		err = f.Finish(directory)
	}
	if err != nil {
		t.Fatal(err)
	}
	d, _, err := files.OpenDir(fs, id)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// readRows reads a file of rows as a whole.
func readRows(d *files.Dir, b files.BucketFile, parts *granule.PartReader) (*files.RowsFile, []*granule.Granule, error) {
	rows, err := d.OpenRows(parts.Schema, b)
	if err != nil {
		return nil, nil, err
	}
	granules, err := rows.All(parts)
	return rows, granules, err
}

// asErrFile makes the errors that bad bytes of a file have one.
func asErrFile(err error) error {
	_, isDamaged := errors.AsType[*disk.DamagedError](err)
	if isDamaged || errors.Is(err, granule.ErrImage) {
		return fmt.Errorf("%w: %w", files.ErrFile, err)
	}
	return err
}

// Whatever the directory of a file of rows is, with right checksums, it is an error, or a bucket of
// granules that cover it.
func TestReadRows_AnyDirectory(t *testing.T) {
	w := write(t)
	d, _, err := files.OpenDir(w.fs, w.id)
	if err != nil {
		t.Fatal(err)
	}
	parts := w.parts(t, d)
	bucket := w.manifest.Tables[0].Buckets[1]
	pieces, directory := body(t, w.fs, w.id, "rows", bucket.File)
	type loaded struct {
		rows     *files.RowsFile
		granules []*granule.Granule
	}
	image := damaged.Image{
		Name: "rows", Bytes: directory, Bad: files.ErrFile,
		Open: func(image []byte) (any, error) {
			rows, granules, err := readRows(withDirectory(t, w.id, "rows", bucket.File, pieces, image), bucket, parts)
			return loaded{rows, granules}, asErrFile(err)
		},
		Use: func(t *testing.T, opened any) {
			l := opened.(loaded)
			at, end := parts.Schema.BucketBounds(bucket.Start)
			rows := 0
			for _, g := range l.granules {
				lo, hi := g.Bounds()
				if lo != at || hi <= lo && hi != "" {
					t.Fatalf("a granule is from %x to %x, want it from %x on", lo, hi, at)
				}
				at, rows = hi, rows+g.Rows()
			}
			pieces := l.rows.Pieces()
			defer pieces.Close()
			for i := range l.rows.Len() {
				if page, ask, _ := l.rows.PageOf(i, "trace", uuid.UUID{17}); ask {
					data, err := pieces.ReadPage(page)
					if err != nil {
						t.Fatalf("a page of a whole granule: %v", err)
					}
					page.MayHave(data)
				}
			}
			if len(l.granules) > 0 && at != end || int64(rows) != bucket.Rows || l.rows.Size() < 0 {
				t.Fatalf("the granules end at %x, want %x, and have %d rows, want %d", at, end, rows, bucket.Rows)
			}
		},
	}
	image.EveryByte(t, 20_000)
	damaged.RandomChanges(t, []damaged.Image{image})
}

// A manifest counts when it may have become durable: the files that it names stay, although the
// call that wrote it failed, and the next filing failed too.
func TestWriteManifest_FailsAndCounts(t *testing.T) {
	s, err := schema.New(definition())
	if err != nil {
		t.Fatal(err)
	}
	counted := 0
	for seed := range uint64(100) {
		fs := crashfs.New(crashfs.Options{Seed: seed, Keep: 0.5}) // of what is not synced
		d, _, err := files.OpenDir(fs, disk.StoreID{1})
		if err != nil {
			t.Fatal(err)
		}
		m := &files.Manifest{Commit: 7, Tables: []files.TableFiles{{Name: "samples", Ranges: 1, Definition: definition()}}}
		m.Tables[0].Buckets = []files.BucketFile{emptyBucket(t, d, s, 100)}
		fs.Fail(&crashfs.Fault{Err: syscall.EIO, After: 1, Ops: []crashfs.Op{crashfs.SyncDir}})
		if err := d.WriteManifest(m); !errors.Is(err, disk.ErrDisk) {
			t.Fatalf("write a manifest: %v, want %v", err, disk.ErrDisk)
		}
		emptyBucket(t, d, s, 200)
		d.Discard()
		d, got, err := files.OpenDir(fs.Crash(), disk.StoreID{1})
		if err != nil {
			t.Fatal(err)
		}
		if got == nil {
			continue
		}
		counted++
		parts := &granule.PartReader{Schema: s, Generation: granule.NewGeneration(1)}
		if _, _, err := readRows(d, got.Tables[0].Buckets[0], parts); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
	if counted == 0 {
		t.Error("no manifest became durable")
	}
}

// TestOpenDir_KeepsBothCopies opens a directory again and again without writing a manifest, and then
// loses either copy.
func TestOpenDir_KeepsBothCopies(t *testing.T) {
	for lost := range 2 {
		fs := crashfs.New(crashfs.Options{})
		d, _, err := files.OpenDir(fs, disk.StoreID{1})
		if err != nil {
			t.Fatal(err)
		}
		for commit := range uint64(2) {
			if err := d.WriteManifest(&files.Manifest{Commit: 6 + commit}); err != nil {
				t.Fatal(err)
			}
		}
		for range 3 {
			d, m, err := files.OpenDir(fs, disk.StoreID{1})
			if err != nil {
				t.Fatal(err)
			}
			if err := d.Clean(m, nil); err != nil {
				t.Fatal(err)
			}
		}
		names, err := fs.List()
		if err != nil || len(names) != 2 {
			t.Fatalf("the files are %q, %v, want two copies", names, err)
		}
		fs.Flip(names[lost], 8*70)
		if _, m, err := files.OpenDir(fs, disk.StoreID{1}); err != nil || m == nil || m.Commit != 7 {
			t.Errorf("without %s: manifest %+v, %v", names[lost], m, err)
		}
	}
}

// emptyBucket writes the file of a bucket without rows.
func emptyBucket(t *testing.T, d *files.Dir, s *schema.Schema, start int64) files.BucketFile {
	t.Helper()
	rows, err := d.CreateRows(s, 7)
	if err != nil {
		t.Fatal(err)
	}
	rows.Begin(start)
	b, err := rows.Finish(&catalog.BucketState{Start: start})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Clean leaves the files that the manifest names, whatever call fails, and no others in the end.
func TestClean(t *testing.T) {
	w := write(t)
	for after := range 20 {
		fs := w.fs.Crash()
		d, m, err := files.OpenDir(fs, w.id)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := d.CreateRows(w.parts(t, d).Schema, 1)
		if err != nil {
			t.Fatal(err)
		}
		rows.Begin(900)
		if _, err := rows.Finish(&catalog.BucketState{Start: 900}); err != nil {
			t.Fatal(err)
		}
		fewer := *m
		fewer.Tables = slices.Clone(m.Tables)
		fewer.Tables[0].Buckets = m.Tables[0].Buckets[1:]
		if err := d.WriteManifest(&fewer); err != nil {
			t.Fatal(err)
		}
		fs.Fail(&crashfs.Fault{Err: syscall.EIO, After: after, Ops: []crashfs.Op{crashfs.Remove, crashfs.SyncDir}})
		failed := d.Clean(&fewer, nil)
		fs.Heal()
		if failed == nil && after < 4 {
			t.Fatalf("call %d failed, and Clean did not", after)
		}
		again, got, err := files.OpenDir(fs.Crash(), w.id)
		if err != nil || got == nil || len(got.Tables[0].Buckets) != 2 {
			t.Fatalf("after call %d: manifest %v, %v", after, got, err)
		}
		for _, b := range got.Tables[0].Buckets {
			if _, _, err := readRows(again, b, w.parts(t, again)); err != nil {
				t.Fatalf("after call %d: %v", after, err)
			}
		}
		if err := d.Clean(&fewer, nil); err != nil {
			t.Fatal(err)
		}
		names, err := fs.List()
		if err != nil {
			t.Fatal(err)
		}
		counts := map[string]int{}
		for _, name := range names {
			kind, _, _ := disk.ParseName(name)
			counts[kind]++
		}
		if counts["rows"] != 2 || counts["manifest"] != 2 || counts["dicts"] != 1 {
			t.Fatalf("after call %d: files %v", after, counts)
		}
	}
}

// Whatever the bytes of a file of dictionaries are, with right checksums, they are an error, or
// dictionaries.
func TestReadDicts_AnyBytes(t *testing.T) {
	w := write(t)
	d, _, err := files.OpenDir(w.fs, w.id)
	if err != nil {
		t.Fatal(err)
	}
	s := w.parts(t, d).Schema
	g := w.manifest.Tables[0].Generations[0]
	g.Files = g.Files[:1]
	pieces, directory := body(t, w.fs, w.id, "dicts", g.Files[0])
	length := int(binary.LittleEndian.Uint64(directory[8:])) // without padding
	image := damaged.Image{
		Name: "dictionaries", Bytes: slices.Concat(directory[20:28], pieces[:length]), Bad: files.ErrFile,
		Open: func(image []byte) (any, error) {
			fs := crashfs.New(crashfs.Options{})
			f, err := disk.CreateFile(fs, w.id, "dicts", g.Files[0], 1)
			if err != nil {
				t.Fatal(err)
			}
			at := min(8, len(image))
			p, err := f.Write(image[at:])
			if err != nil {
				t.Fatal(err)
			}
			head := binary.LittleEndian.AppendUint64(nil, uint64(p.Offset))
			head = binary.LittleEndian.AppendUint64(head, uint64(p.Length))
			head = binary.LittleEndian.AppendUint32(head, p.CRC)
			if err := f.Finish(append(head, image[:at]...)); err != nil {
				t.Fatal(err)
			}
			d, _, err := files.OpenDir(fs, w.id)
			if err != nil {
				t.Fatal(err)
			}
			into := granule.NewGeneration(1)
			return into, asErrFile(d.ReadDicts(s, g, into))
		},
		Use: func(_ *testing.T, opened any) { opened.(*granule.Generation).Prepare() },
	}
	image.EveryByte(t, 20_000)
	damaged.RandomChanges(t, []damaged.Image{image})
}

// dictionaries returns a generation of a few thousand texts and lists, with records or without.
func dictionaries(t *testing.T, hasRecords bool) *granule.Generation {
	t.Helper()
	g := granule.NewGeneration(1)
	for i := range 3000 {
		if _, err := g.Strings.Intern(fmt.Appendf(nil, "text %d", i*i)); err != nil {
			t.Fatal(err)
		}
		id := uuid.UUID{1, byte(i), byte(i >> 8)}
		var record []byte
		if hasRecords {
			record = fmt.Appendf(nil, "function %d in file %d", i, i/7)
		}
		if _, err := g.Lists.InternElement(id, record); err != nil {
			t.Fatal(err)
		}
		if _, err := g.Lists.InternLists(nil, [][]uuid.UUID{{id, {1, byte(i / 2)}, {1, byte(i % 5)}}}); err != nil {
			t.Fatal(err)
		}
	}
	return g
}

// image returns all that a generation has, however it was made.
func image(g *granule.Generation) []byte {
	return g.AppendImageTo(nil, granule.Watermark{}, g.NextWatermark())
}

// A file of dictionaries has as many pieces as their size requires, and is read like one of one piece.
func TestWriteDicts_Pieces(t *testing.T) {
	g := dictionaries(t, true)
	s, err := schema.New(definition())
	if err != nil {
		t.Fatal(err)
	}
	all := image(g)
	for _, bytes := range []int{1 << 30, len(all) / 3, 5000, 700} {
		fs := crashfs.New(crashfs.Options{})
		d, _, err := files.OpenDir(fs, disk.StoreID{1})
		if err != nil {
			t.Fatal(err)
		}
		to := d.WriteDicts()
		dicts, err := to.Write(files.Dictionaries{Generation: g, Logged: g.NextWatermark(), Entries: 1, Piece: bytes}, files.GenerationFiles{})
		if err = cmp.Or(err, to.Close()); err == nil {
			err = d.Sync()
		}
		if err != nil || len(dicts.Files) != 1 {
			t.Fatalf("files %v, %v", dicts.Files, err)
		}
		_, directory := body(t, fs, disk.StoreID{1}, "dicts", dicts.Files[0])
		const entry = 36
		least, most := len(all)/(bytes+100), 1+2*len(all)/bytes
		if n := len(directory) / entry; len(directory)%entry != 0 || n < least || n > most {
			t.Errorf("%d bytes in images of %d are %d pieces, want %d to %d", len(all), bytes, n, least, most)
		}
		for at := 0; at < len(directory); at += entry {
			if size := binary.LittleEndian.Uint64(directory[at+20:]); size > uint64(bytes+100) {
				t.Errorf("an image has %d bytes, want about %d", size, bytes)
			}
		}
		got := granule.NewGeneration(2)
		if err := d.ReadDicts(s, dicts, got); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(image(got), all) {
			t.Errorf("images of %d bytes make other dictionaries", bytes)
		}
		// A piece that is missing, or twice, is found.
		if n := len(directory) / entry; n > 2 {
			pieces, _ := body(t, fs, disk.StoreID{1}, "dicts", dicts.Files[0])
			for name, other := range map[string][]byte{
				"missing": slices.Concat(directory[:entry], directory[2*entry:]),
				"twice":   slices.Concat(directory[:2*entry], directory[entry:]),
				"cut":     directory[:len(directory)-1],
			} {
				d := withDirectory(t, disk.StoreID{1}, "dicts", dicts.Files[0], pieces, other)
				if err := d.ReadDicts(s, dicts, granule.NewGeneration(3)); err == nil || !errors.Is(asErrFile(err), files.ErrFile) {
					t.Errorf("a piece is %s: %v", name, err)
				}
			}
		}
	}
}

// A file that was written before files had several pieces is one of a single piece, of any size.
func TestReadDicts_OnePiece(t *testing.T) {
	g := dictionaries(t, false)
	s, err := schema.New(definition())
	if err != nil {
		t.Fatal(err)
	}
	all := image(g)
	// Without records, an image of that time lacks only the texts, which are two zeros behind strings, ids, elements and late records.
	// Elements have their ids of 16 bytes before the zeros for their records, not behind them.
	n := g.Lists.Elements()
	zeros := len(g.UUIDs.AppendImageTo(g.Strings.AppendImageTo(nil, 0, g.Strings.Len()), 0, g.UUIDs.Len()))
	zeros += len(binary.AppendUvarint([]byte{0}, uint64(n)))
	ids, late := zeros+n, zeros+17*n
	want := all
	all = slices.Concat(all[:zeros], all[ids:late], all[zeros:ids], all[late:late+1], all[late+3:])
	directory := binary.LittleEndian.AppendUint64(nil, 64) // behind the header
	directory = binary.LittleEndian.AppendUint64(directory, uint64(len(all)))
	directory = binary.LittleEndian.AppendUint32(directory, crc32.Checksum(all, crc32.MakeTable(crc32.Castagnoli)))
	directory = binary.LittleEndian.AppendUint64(directory, uint64(len(all)))
	fs := crashfs.New(crashfs.Options{})
	w, err := disk.CreateFile(fs, disk.StoreID{1}, "dicts", 7, 1)
	if err == nil {
		_, err = w.Write(all)
	}
	if err == nil {
		err = w.Finish(directory)
	}
	if err != nil {
		t.Fatal(err)
	}
	d, _, err := files.OpenDir(fs, disk.StoreID{1})
	if err != nil {
		t.Fatal(err)
	}
	got := granule.NewGeneration(2)
	if err := d.ReadDicts(s, files.GenerationFiles{Files: []uint64{7}}, got); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(image(got), want) {
		t.Error("the dictionaries are others")
	}
}

// Small buckets share a file, and small generations too. Each is read alone, and damage to one leaves the others.
func TestShared(t *testing.T) {
	fs := crashfs.New(crashfs.Options{})
	d, _, err := files.OpenDir(fs, disk.StoreID{1})
	if err != nil {
		t.Fatal(err)
	}
	s, err := schema.New(definition())
	if err != nil {
		t.Fatal(err)
	}
	const n = 20
	rows, err := d.CreateRows(s, 7)
	if err != nil {
		t.Fatal(err)
	}
	var table files.TableFiles
	bytes := int64(0)
	for i := range n {
		state := &catalog.BucketState{Start: int64(i) * 100, Series: catalog.Bitset{2 << i}, Columns: map[string]bool{}}
		rows.Begin(state.Start)
		b, err := rows.End(state)
		if err != nil {
			t.Fatal(err)
		}
		b.Shared = n
		bytes += b.Bytes
		table.Buckets = append(table.Buckets, b)
	}
	if bytes > rows.Bytes() {
		t.Errorf("buckets of %d bytes in a file of %d", bytes, rows.Bytes())
	}
	dicts := d.WriteDicts()
	for i := range n {
		g := granule.NewGeneration(1)
		if _, err := g.Strings.Intern(fmt.Appendf(nil, "text of %d", i)); err != nil {
			t.Fatal(err)
		}
		of := files.Dictionaries{Generation: g, Number: int64(i) - 3, Logged: g.NextWatermark(), Entries: 1, Piece: 1 << 20}
		next, err := dicts.Write(of, files.GenerationFiles{Number: of.Number})
		if err != nil {
			t.Fatal(err)
		}
		table.Generations = append(table.Generations, next)
	}
	if err := cmp.Or(rows.Close(), dicts.Close(), d.Sync()); err != nil {
		t.Fatal(err)
	}
	if names := (&files.Manifest{Tables: []files.TableFiles{table}}).Names(); len(names) != 2 {
		t.Fatalf("files %v, want 2", names)
	}
	broken := table.Buckets[4]
	fs.Flip(disk.FileName(files.RowsKind, broken.File), 8*broken.Place.Offset)
	for i, b := range table.Buckets {
		r, err := d.OpenRows(s, b)
		if _, damaged := errors.AsType[*disk.DamagedError](err); damaged != (i == 4) {
			t.Fatalf("bucket %d: %v", i, err)
		} else if !damaged && !slices.Equal(r.Series, catalog.Bitset{2 << i}) {
			t.Errorf("bucket %d has the series %v", i, r.Series)
		}
		g := granule.NewGeneration(2)
		if err := d.ReadDicts(s, table.Generations[i], g); err != nil || g.Strings.Find(fmt.Appendf(nil, "text of %d", i)) != 1 || g.Strings.Len() != 1 {
			t.Errorf("generation %d: %d strings, %v", i, g.Strings.Len(), err)
		}
	}
	absent := table.Generations[0]
	if absent.Number = 99; !errors.Is(d.ReadDicts(s, absent, granule.NewGeneration(2)), files.ErrFile) {
		t.Error("a file has a generation that it has not")
	}
	for used := n; used > 0; used-- {
		some := files.TableFiles{Buckets: table.Buckets[:used]}
		if sparse := some.Sparse(); sparse[broken.File] != (used < n/2) {
			t.Errorf("%d of %d buckets use the file: %v", used, n, sparse)
		}
	}
}
