package iceberg

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// commitRows writes and commits a unit of few rows.
func commitRows(t *testing.T, l *Lake, node string, seal int64) Unit {
	t.Helper()
	db := openDB(t)
	insert(t, db, 2, 4, 5)
	u := unit(t, db, node, seal)
	files, err := l.Write(context.Background(), u)
	if err != nil {
		t.Fatal(err)
	}
	if added, err := l.Commit(context.Background(), files); err != nil || !added {
		t.Fatal(added, err)
	}
	return u
}

// Invariant L1, in one process: a repeated commit adds nothing, nor does an older unit.
func TestCommit_Twice(t *testing.T) {
	ctx := context.Background()
	l := openLake(t)
	db := openDB(t)
	insert(t, db, 2, 2, 5)
	u := unit(t, db, "a", 2)
	files, err := l.Write(ctx, u)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Commit(ctx, files); !errors.Is(err, ErrNode) {
		t.Errorf("a node that is not registered: %v", err)
	}
	if err := errors.Join(l.Register(ctx, "a", "host:1"), l.Register(ctx, "a", "host:1"), l.Register(ctx, "b", "")); err != nil {
		t.Fatal(err)
	}
	for i, seal := range []int64{2, 2, 1} {
		again := u
		again.Seal = seal
		if files, err = l.Write(ctx, again); err != nil {
			t.Fatal(err)
		}
		if added, err := l.Commit(ctx, files); err != nil || added != (i == 0) {
			t.Errorf("commit %d: %v, %v", i, added, err)
		}
	}
	same(t, wantRows(t, u), gotRows(t, l))
	if err := l.Register(ctx, "a", "host:2"); err != nil {
		t.Fatal(err)
	}
	nodes, snapshot, err := l.Nodes(ctx)
	if want := []Node{{"a", 2, "host:2"}, {ID: "b"}}; err != nil || snapshot == 0 || !slices.Equal(nodes, want) {
		t.Errorf("%v, %d, %v, want %v", nodes, snapshot, err, want)
	}
	if err := l.Forget(ctx, "a"); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Commit(ctx, files); !errors.Is(err, ErrNode) {
		t.Errorf("a node that was forgotten: %v", err)
	}
}

// A unit without rows moves the node's seal.
func TestCommit_Empty(t *testing.T) {
	ctx := context.Background()
	l := openLake(t)
	if err := l.Register(ctx, "a", ""); err != nil {
		t.Fatal(err)
	}
	db := openDB(t)
	files, err := l.Write(ctx, unit(t, db, "a", 7))
	if err != nil || files.Len() != 0 {
		t.Fatal(files, err)
	}
	if _, err := l.Commit(ctx, files); err != nil {
		t.Fatal(err)
	}
	if nodes, _, err := l.Nodes(ctx); err != nil || nodes[0].Seal != 7 {
		t.Error(nodes, err)
	}
}

// Days are dropped whole, snapshots expire, orphans go, and seals stay.
func TestMaintain(t *testing.T) {
	ctx := context.Background()
	l := openLake(t)
	if err := l.Register(ctx, "a", ""); err != nil {
		t.Fatal(err)
	}
	var u Unit
	for seal := int64(1); seal <= 5; seal++ {
		u = commitRows(t, l, "a", seal)
	}
	orphan, err := l.Write(ctx, u)
	if err != nil {
		t.Fatal(err)
	}
	before := gotRows(t, l)
	if err := l.DropBefore(ctx, time.Unix(0, start).Add(12*time.Hour)); err != nil {
		t.Fatal(err)
	}
	midnight := time.Unix(0, start).UTC().Add(time.Minute).UnixMicro()
	want := slices.DeleteFunc(slices.Clone(before), func(key string) bool {
		at, _, _ := strings.Cut(key[strings.Index(key, `"time":`)+len(`"time":`):], ",")
		return len(at) == 16 && at < fmt.Sprint(midnight)
	})
	if len(want) == len(before) || len(want) == 0 {
		t.Fatalf("%d of %d rows are of the second day", len(want), len(before))
	}
	same(t, want, gotRows(t, l))
	gone, err := l.Expire(ctx, ExpireOptions{Keep: 2})
	if err != nil || gone != 4 {
		t.Errorf("%d snapshots expired, %v, want 4 of 6", gone, err)
	}
	found, err := l.removeOrphans(ctx, 0, false)
	if err != nil || !slices.ContainsFunc(found, func(f string) bool {
		return strings.HasSuffix(orphan.data[0].FilePath(), f[strings.LastIndexByte(f, '/'):])
	}) {
		t.Errorf("orphans %v, %v", found, err)
	}
	same(t, want, gotRows(t, l))
	if nodes, _, err := l.Nodes(ctx); err != nil || nodes[0].Seal != 5 {
		t.Error(nodes, err)
	}
	if _, err := l.RemoveOrphans(ctx, time.Minute, true); !errors.Is(err, ErrOptions) {
		t.Errorf("orphans of a minute: %v", err)
	}
}

// Bad options are refused, and change nothing.
func TestOptions(t *testing.T) {
	ctx := context.Background()
	for _, c := range []Config{{}, {Catalog: "sqlite:"}, {Catalog: "ftp://x"}, {Catalog: "sqlite:x", Table: "samples"}} {
		if _, err := Open(ctx, c); !errors.Is(err, ErrOptions) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	l := openIn(t, t.TempDir())
	for _, labels := range [][]string{{""}, {"a", "b", "a"}} {
		if err := l.Create(ctx, TableOptions{Labels: labels}); !errors.Is(err, ErrOptions) {
			t.Errorf("labels %q: %v", labels, err)
		}
	}
	for _, u := range []Unit{{}, {Node: "a/b", Seal: 1, To: 1}, {Node: "a", To: 1}, {Node: "a", Seal: 1}} {
		if _, err := l.Write(ctx, u); !errors.Is(err, ErrOptions) {
			t.Errorf("%+v: %v", u, err)
		}
	}
	if _, err := l.Expire(ctx, ExpireOptions{}); !errors.Is(err, ErrOptions) {
		t.Errorf("keep no snapshot: %v", err)
	}
}

func TestPinned(t *testing.T) {
	p := Pinned{Table: "a.b", Location: "file:///x/it's", Metadata: "file:///x/it's/metadata/1.json", Snapshot: 7}
	from, settings := p.ClickHouse()
	if want := `icebergLocal('/x/it\'s/', SETTINGS iceberg_metadata_file_path = 'metadata/1.json')`; from != want || settings != "SETTINGS iceberg_snapshot_id = 7" {
		t.Errorf("%s %s, want %s", from, settings, want)
	}
	if got, want := p.Spark("c"), "c.a.b VERSION AS OF 7"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, want := p.Polars(), `pl.scan_iceberg("file:///x/it's/metadata/1.json", snapshot_id=7)`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	p.Location, p.Metadata = "s3://bucket/x", "s3://bucket/x/metadata/1.json"
	p.S3 = map[string]string{propertyEndpoint: "http://host:9000/", propertyRegion: "r"}
	if from, _ := p.ClickHouse(); from != `icebergS3('http://host:9000/bucket/x/', SETTINGS iceberg_metadata_file_path = 'metadata/1.json')` {
		t.Error(from)
	}
	if got, want := p.Polars(), `pl.scan_iceberg("s3://bucket/x/metadata/1.json", snapshot_id=7, storage_options={"s3.endpoint": "http://host:9000/", "s3.region": "r"})`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	p.S3 = nil
	if from, _ := p.ClickHouse(); from != `icebergS3('s3://bucket/x/', SETTINGS iceberg_metadata_file_path = 'metadata/1.json')` {
		t.Error(from)
	}
}

func TestFileURL(t *testing.T) {
	for location, want := range map[string]string{
		"file:///x/y": "file:///x/y", "file:/x/y": "file:///x/y", "/x/y": "file:///x/y", "s3://b/x": "s3://b/x",
	} {
		if got := fileURL(location); got != want {
			t.Errorf("%s is %s, want %s", location, got, want)
		}
	}
}
