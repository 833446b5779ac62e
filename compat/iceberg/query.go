package iceberg

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/apache/iceberg-go/table"
)

// Pinned is everything that a query needs to read one state of the table, whatever is committed meanwhile.
type Pinned struct {
	Table    string            // with its namespace
	Location string            // the folder, as a URL
	Metadata string            // the state's metadata file, as a URL
	Snapshot int64             // 0 if the table has no rows
	S3       map[string]string // catalog properties that say where its S3 is: s3.endpoint, s3.region
	Nodes    []Node            // with the snapshot's seals
}

// Pin returns the current state. All of it comes from one load of the table, so a node's rows after its
// seal here, and this snapshot, are all rows, each once. The errors are ErrNode and any from the catalog.
func (l *Lake) Pin(ctx context.Context) (Pinned, error) {
	t, err := l.load(ctx)
	if err != nil {
		return Pinned{}, err
	}
	return l.pinned(t)
}

// pinned returns a state of the table.
func (l *Lake) pinned(t *table.Table) (p Pinned, err error) {
	p = Pinned{Table: l.Name(), Location: fileURL(t.Location()), Metadata: fileURL(t.MetadataLocation()), S3: l.s3}
	if s := t.CurrentSnapshot(); s != nil {
		p.Snapshot = s.SnapshotID
	}
	p.Nodes, err = nodesOf(t.Properties())
	return p, err
}

// ClickHouse returns a table function and the settings to append to a query of it, which are empty for a
// table without rows. The function names the metadata file, because ClickHouse would otherwise take the
// newest in the folder, which can be one that is being written or whose commit lost.
func (p Pinned) ClickHouse() (from, settings string) {
	function, folder := "icebergS3", p.Location
	path, isLocal := localPath(p.Location)
	object, isS3 := strings.CutPrefix(p.Location, "s3://")
	switch {
	case isLocal:
		function, folder = "icebergLocal", path
	case isS3 && p.S3[propertyEndpoint] != "":
		folder = strings.TrimSuffix(p.S3[propertyEndpoint], "/") + "/" + object
	}
	metadata := strings.TrimPrefix(strings.TrimPrefix(p.Metadata, p.Location), "/")
	from = fmt.Sprintf("%s('%s/', SETTINGS iceberg_metadata_file_path = '%s')", function, escape(folder), escape(metadata))
	if p.Snapshot != 0 {
		settings = fmt.Sprintf("SETTINGS iceberg_snapshot_id = %d", p.Snapshot)
	}
	return from, settings
}

// Hot returns the URL of a node's rows that the snapshot lacks, as an Arrow stream in the columns of
// granary export. It is empty for a node without an address. The status 410 says that the node has dropped
// some of them: pin again.
func (n Node) Hot() string {
	if n.Address == "" {
		return ""
	}
	return fmt.Sprintf("%s/arrow?form=plain&after=%d", strings.TrimSuffix(n.Address, "/"), n.Unit())
}

// Spark returns the table in a catalog with the given name, at the pinned snapshot.
func (p Pinned) Spark(catalog string) string {
	if p.Snapshot == 0 {
		return catalog + "." + p.Table
	}
	return fmt.Sprintf("%s.%s VERSION AS OF %d", catalog, p.Table, p.Snapshot)
}

// Polars returns a Polars lazy frame over the metadata file.
func (p Pinned) Polars() string {
	options := ""
	if p.Snapshot != 0 {
		options = fmt.Sprintf(", snapshot_id=%d", p.Snapshot)
	}
	if len(p.S3) > 0 {
		var pairs []string
		for _, key := range slices.Sorted(maps.Keys(p.S3)) {
			pairs = append(pairs, fmt.Sprintf("%q: %q", key, p.S3[key]))
		}
		options += ", storage_options={" + strings.Join(pairs, ", ") + "}"
	}
	return fmt.Sprintf("pl.scan_iceberg(%q%s)", p.Metadata, options)
}

// fileURL returns a location with one form for files, because after Spark has committed, the metadata's
// location is file:/tmp/x, and the table's still file:///tmp/x.
func fileURL(location string) string {
	if path, ok := localPath(location); ok {
		return "file://" + path
	}
	return location
}

// localPath returns a file URL's path.
func localPath(location string) (string, bool) {
	u, err := url.Parse(location)
	if err != nil || u.Scheme != "file" && u.Scheme != "" {
		return "", false
	}
	return u.Path, true
}

// escape makes text part of a ClickHouse literal.
func escape(s string) string { return strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) }
