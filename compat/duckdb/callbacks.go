//go:build cgo

package duckdb

// void granary_scan_bind(void *);
// void granary_scan_init(void *);
// void granary_scan_init_thread(void *);
// void granary_scan_fill(void *, void *);
// void granary_scan_free_scan(void *);
// void granary_scan_free_reader(void *);
// void granary_scan_free(void *);
// // Their Go bodies are below.
import "C"

import (
	"context"
	"errors"
	"fmt"
	"unsafe"

	"github.com/duckdb/duckdb-go/v2/mapping"
)

// scanFunction is the name of the table function that returns a table's rows.
const scanFunction = "granary_scan"

// register registers the table function with DuckDB. Its callbacks are below, in the order of
// a query's calls.
func (db *DB) register() error {
	conn, err := db.sql.Conn(context.Background())
	if err != nil {
		return err
	}
	f := mapping.CreateTableFunction()
	defer mapping.DestroyTableFunction(&f)
	mapping.TableFunctionSetName(f, scanFunction)
	text := mapping.CreateLogicalType(mapping.TypeVarchar)
	defer mapping.DestroyLogicalType(&text)
	mapping.TableFunctionAddParameter(f, text)
	mapping.TableFunctionSetExtraInfo(f, newHandle(db), C.granary_scan_free)
	mapping.TableFunctionSetBind(f, C.granary_scan_bind)
	mapping.TableFunctionSetInit(f, C.granary_scan_init)
	mapping.TableFunctionSetLocalInit(f, C.granary_scan_init_thread)
	mapping.TableFunctionSetFunction(f, C.granary_scan_fill)
	mapping.TableFunctionSupportsProjectionPushdown(f, true)
	return errors.Join(conn.Raw(func(driverConn any) error {
		own, err := connectionOf(driverConn)
		if err == nil && mapping.RegisterTableFunction(own, f) == mapping.StateError {
			err = errors.New("it does not take a table function")
		}
		return err
	}), conn.Close())
}

// granary_scan_bind declares a table's columns.
//
//export granary_scan_bind
func granary_scan_bind(p unsafe.Pointer) {
	info := mapping.BindInfo{Ptr: p}
	b, err := bind(info)
	if err != nil {
		mapping.BindSetError(info, err.Error())
		return
	}
	for i := range b.columns {
		typ := b.columns[i].logicalType()
		mapping.BindAddResultColumn(info, b.columns[i].alias, typ)
		mapping.DestroyLogicalType(&typ)
	}
	mapping.BindSetBindData(info, newHandle(b), C.granary_scan_free)
}

// bind finds the query by its connection, and in it the table by its name.
func bind(info mapping.BindInfo) (*binding, error) {
	var client mapping.ClientContext
	mapping.TableFunctionGetClientContext(info, &client)
	defer mapping.DestroyClientContext(&client)
	db := valueOf[*DB](mapping.BindGetExtraInfo(info))
	found, _ := db.running.Load(uint64(mapping.ClientContextGetConnectionId(client)))
	q, _ := found.(*running)
	name := argument(info)
	var t *Table
	if q != nil {
		t = q.tables[name]
	}
	if t == nil {
		return nil, fmt.Errorf("%w: the query has no table %q", ErrTable, name)
	}
	columns, err := t.columns(q.snap)
	if err != nil {
		q.fail(err)
		return nil, err
	}
	return &binding{query: q, table: t, columns: columns}, nil
}

// argument returns the table function's only argument. Reading a NULL as text would end the process.
func argument(info mapping.BindInfo) string {
	value := mapping.BindGetParameter(info, 0)
	defer mapping.DestroyValue(&value)
	if mapping.IsNullValue(value) {
		return ""
	}
	return mapping.GetVarchar(value)
}

// granary_scan_init starts a scan of the columns that a query needs. There is at least one:
// without a rowid to count, DuckDB counts rows by the first column.
//
//export granary_scan_init
func granary_scan_init(p unsafe.Pointer) {
	info := mapping.InitInfo{Ptr: p}
	b := valueOf[*binding](mapping.InitGetBindData(info))
	names := make([]string, mapping.InitGetColumnCount(info))
	for i := range names {
		column := mapping.InitGetColumnIndex(info, mapping.IdxT(i))
		if column >= mapping.IdxT(len(b.columns)) {
			mapping.InitSetError(info, fmt.Sprintf("the table has no column %d", column))
			return
		}
		names[i] = b.columns[column].name
	}
	mapping.InitSetInitData(info, newHandle(newScan(b, names)), C.granary_scan_free_scan)
}

// granary_scan_init_thread makes the state for one thread of a scan.
//
//export granary_scan_init_thread
func granary_scan_init_thread(p unsafe.Pointer) {
	info := mapping.InitInfo{Ptr: p}
	mapping.InitSetInitData(info, newHandle(new(reader)), C.granary_scan_free_reader)
}

// granary_scan_fill fills a chunk with rows. An empty chunk is the end for the thread.
//
//export granary_scan_fill
func granary_scan_fill(p, chunk unsafe.Pointer) {
	info := mapping.FunctionInfo{Ptr: p}
	s := valueOf[*scan](mapping.FunctionGetInitData(info))
	r := valueOf[*reader](mapping.FunctionGetLocalInitData(info))
	if err := r.fill(s, mapping.DataChunk{Ptr: chunk}); err != nil {
		s.binding.query.fail(err)
		mapping.FunctionSetError(info, err.Error())
	}
}

//export granary_scan_free_reader
func granary_scan_free_reader(p unsafe.Pointer) {
	valueOf[*reader](p).close()
	freeHandle(p)
}

//export granary_scan_free_scan
func granary_scan_free_scan(p unsafe.Pointer) {
	valueOf[*scan](p).close()
	freeHandle(p)
}

//export granary_scan_free
func granary_scan_free(p unsafe.Pointer) { freeHandle(p) }
