package iceberg

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/catalog/rest"
	icesql "github.com/apache/iceberg-go/catalog/sql"
	_ "github.com/apache/iceberg-go/io/gocloud/s3" // for tables with s3:// URLs
	_ "modernc.org/sqlite"                         // the driver "sqlite", without cgo
)

// Defaults of Config.
const (
	DefaultName  = "granary"
	DefaultTable = "profiles.samples"
)

// Catalog properties that say where its S3 is, for Go and for Python.
const (
	propertyEndpoint = "s3.endpoint"
	propertyRegion   = "s3.region"
)

// Config locates a table.
type Config struct {
	// Catalog is the catalog: sqlite:FILE for an SQLite file on a local disk, or the http or https URL
	// of a REST catalog.
	Catalog string
	// Warehouse is the folder, or the URL such as s3://bucket/folder, below which an SQLite catalog
	// puts new tables. A REST catalog knows its own, or takes this as its name.
	Warehouse string
	// Name is the catalog's name. Spark must know an SQLite catalog by the same name. Empty means
	// DefaultName.
	Name string
	// Table is the table's name, with its namespace before a point. Empty means DefaultTable.
	Table string
	// Properties are further catalog properties, such as s3.endpoint and s3.region. S3 keys can come
	// from the environment.
	Properties map[string]string
}

// Open opens a catalog. The table need not exist before Lake.Create. The errors are ErrOptions and any from
// the catalog. Lake.Close must be called.
func Open(ctx context.Context, c Config) (*Lake, error) {
	if c.Name == "" {
		c.Name = DefaultName
	}
	if c.Table == "" {
		c.Table = DefaultTable
	}
	l := &Lake{ident: strings.Split(c.Table, "."), s3: map[string]string{}}
	if len(l.ident) < 2 {
		return nil, fmt.Errorf("%w: table %q has no namespace: want NAMESPACE.TABLE", ErrOptions, c.Table)
	}
	for _, key := range []string{propertyEndpoint, propertyRegion} {
		if v := c.Properties[key]; v != "" {
			l.s3[key] = v
		}
	}
	props := iceberg.Properties{}
	maps.Copy(props, c.Properties)
	var err error
	scheme, rest, _ := strings.Cut(c.Catalog, ":")
	switch scheme {
	case "sqlite":
		err = l.openSQLite(c, rest, props)
	case "http", "https":
		err = l.openREST(ctx, c, props)
	default:
		err = fmt.Errorf("%w: catalog %q: want sqlite:FILE, or the URL of a REST catalog", ErrOptions, c.Catalog)
	}
	if err != nil {
		return nil, err
	}
	return l, nil
}

// openSQLite opens a catalog in a file. Writers wait for each other, up to ten seconds.
func (l *Lake) openSQLite(c Config, file string, props iceberg.Properties) error {
	if file == "" {
		return fmt.Errorf("%w: catalog %q names no file", ErrOptions, c.Catalog)
	}
	file, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	if c.Warehouse != "" {
		if props["warehouse"], err = warehouse(c.Warehouse); err != nil {
			return err
		}
	}
	props[icesql.SchemaVersionKey] = icesql.SchemaVersionV1
	options := url.Values{"_pragma": {"busy_timeout(10000)", "journal_mode(WAL)", "synchronous(FULL)"}}
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Path: file, RawQuery: options.Encode()}).String())
	if err != nil {
		return err
	}
	cat, err := icesql.NewCatalog(c.Name, db, icesql.SQLite, props)
	if err != nil {
		return errors.Join(fmt.Errorf("catalog %s: %w", c.Catalog, err), db.Close())
	}
	l.catalog = cat
	l.close = func() error { return errors.Join(cat.Close(), db.Close()) }
	return nil
}

// warehouse returns a folder as a URL, and a URL unchanged.
func warehouse(name string) (string, error) {
	if strings.Contains(name, "://") {
		return strings.TrimSuffix(name, "/"), nil
	}
	name, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	return (&url.URL{Scheme: "file", Path: name}).String(), nil
}

func (l *Lake) openREST(ctx context.Context, c Config, props iceberg.Properties) error {
	opts := []rest.Option{rest.WithAdditionalProps(props)}
	if c.Warehouse != "" {
		opts = append(opts, rest.WithWarehouseLocation(c.Warehouse))
	}
	cat, err := rest.NewCatalog(ctx, c.Name, c.Catalog, opts...)
	if err != nil {
		return fmt.Errorf("catalog %s: %w", c.Catalog, err)
	}
	l.catalog = cat
	l.close = func() error {
		if c, ok := catalog.Catalog(cat).(io.Closer); ok {
			return c.Close()
		}
		return nil
	}
	return nil
}
