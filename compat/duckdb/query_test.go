//go:build cgo

package duckdb

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/schema"
)

// manyRows is more than two records, and not a multiple of a chunk.
const manyRows = 70_001

// TestRowsOut: values of every type survive the way through DuckDB, at every place of a record
// and of a chunk.
func TestRowsOut(t *testing.T) {
	for _, n := range []int{1, 2047, 2048, 2049, manyRows} {
		store := openStore(t)
		e := newEverything(t, store, "e", n)
		got, err := answer(t.Context(), openDB(t, Options{}), snapshotOf(t, store), []Table{{Table: e.Table}},
			`SELECT "labels.pod", "labels.zone", stack, n, value, note, text, id, ratio, count, hot FROM e ORDER BY n`)
		if err != nil {
			t.Fatal(err)
		}
		var want [][]any
		for _, r := range e.rows {
			stack := []any{}
			for _, id := range r.stack {
				stack = append(stack, id[:])
			}
			id := r.id
			if u, ok := id.(uuid.UUID); ok {
				id = u[:]
			}
			want = append(want, []any{r.pod, r.zone, stack, r.n, r.value, r.note, r.text, id, r.ratio, r.count, r.hot})
		}
		diff(t, fmt.Sprintf("%d rows", n), want, got)
	}
}

// TestSameAsTable: SQL gives the same answers over the views, whose vectors are dictionaries,
// as over a table of DuckDB's own with these rows.
func TestSameAsTable(t *testing.T) {
	store := openStore(t)
	e := newEverything(t, store, "e", 5000)
	db, snap := openDB(t, Options{}), snapshotOf(t, store)
	tables := []Table{{Table: e.Table, Select: `*, "labels.pod" AS pod, "labels.zone" AS zone`, Elements: hexNames}, {Table: e.Table, Name: "ids"}}
	for _, list := range []string{
		"stack[1]", "stack[-1]", "stack[2:3]", "stack[2:]", "list_reverse(stack)", "list_distinct(stack)", "list_sort(stack)", "list_unique(stack)",
		"list_position(stack, 'f51')", "list_contains(stack, 'f255')", "list_has_any(stack, ['f0', 'f255'])", "list_has_all(stack, ['f0', 'inline'])",
		"list_transform(stack, lambda f: f || '!')", "list_filter(stack, lambda f: f > 'f2')", "array_to_string(stack, ';')", "len(stack)",
		"list_concat(stack, ['x'])", "list_aggregate(stack, 'max')", "list_aggregate(stack, 'string_agg', ',')", "list_slice(stack, 1, 4, 2)",
		"flatten([stack, stack])", "list_append(stack, 'y')", "stack::VARCHAR", "to_json(stack)", "hash(stack)", "list_select(stack, [2, 1])",
		"list_where(stack, [true, false])", "stack = ['f0', 'inline']", "stack > ['f2']", "{'s': stack}", "[stack, stack]", "unnest(stack)", "stack",
		"CASE WHEN hot THEN stack ELSE ['no'] END", "coalesce(nullif(stack, ['f0', 'inline']), [])", "list_intersect(stack, ['f0', 'f51'])", "list_reduce(stack, lambda a, b: a || b, '')",
		"pod", "pod || zone", "upper(note)", "length(text)", "coalesce(zone, pod)", "id::VARCHAR", "ratio * 2", "count // 3", "NOT hot", "hash(pod, zone, note)",
		"CASE WHEN value % 2 = 0 THEN pod ELSE zone END", "regexp_extract(pod, '[0-9]+')", "note IN ('é', zone)",
	} {
		same(t, db, snap, tables, "SELECT n, "+list+" FROM e ORDER BY ALL")
	}
	for _, query := range []string{
		"SELECT stack, count(*), sum(value), min(n) FROM e GROUP BY stack ORDER BY ALL", "SELECT pod, zone, note, count(*) FROM e GROUP BY ALL ORDER BY ALL",
		"SELECT DISTINCT ON (stack) stack FROM e ORDER BY ALL", "SELECT min(stack), max(stack), mode(pod), min(text), max(id), arg_max(stack, n) FROM e",
		"SELECT list(DISTINCT pod ORDER BY pod), histogram(zone) FROM e", "SELECT n, lag(stack) OVER (ORDER BY n), rank() OVER (PARTITION BY pod ORDER BY n) FROM e ORDER BY n",
		"SELECT a.n, b.stack FROM e a JOIN e b ON a.stack = b.stack AND a.n = b.n ORDER BY ALL", "SELECT a.n, b.n FROM e a LEFT JOIN e b ON a.id = b.id AND a.pod = b.pod ORDER BY ALL",
		"SELECT i.n, i.stack[1] FROM ids i SEMI JOIN e ON e.text = i.text AND len(e.stack) = 2 * len(i.stack) ORDER BY ALL",
		"SELECT n, stack FROM e ORDER BY stack DESC, n LIMIT 1000", "FROM (PIVOT e ON zone USING sum(value) GROUP BY pod) ORDER BY ALL", "SELECT approx_count_distinct(text) > 0, stddev(value) > 0 FROM e",
		"SELECT f, count(*), sum(value) FROM (SELECT unnest(list_distinct(stack)) AS f, value FROM e) GROUP BY ALL ORDER BY ALL",
		"SELECT pod, list(stack ORDER BY n)[1:3] FROM e WHERE n < 500 GROUP BY pod ORDER BY pod", "SELECT * EXCLUDE (n) FROM e UNION SELECT * EXCLUDE (n) FROM e WHERE hot ORDER BY ALL LIMIT 100",
	} {
		same(t, db, snap, tables, query)
	}
}

func hexNames(dst []string, id uuid.UUID, _ []byte) []string {
	return append(dst, fmt.Sprintf("f%d", id[0]), "inline")
}

// same checks that a query gives the same answer over the views and over tables with their
// rows.
func same(t *testing.T, db *DB, snap *columnstore.Snapshot, tables []Table, query string) {
	t.Helper()
	got, err := answer(t.Context(), db, snap, tables, query)
	if err != nil {
		t.Errorf("%s: %v", query, err)
		return
	}
	copies := "CREATE TEMP TABLE e2 AS FROM e; CREATE TEMP TABLE ids2 AS FROM ids; DROP VIEW e; DROP VIEW ids; ALTER TABLE e2 RENAME TO e; ALTER TABLE ids2 RENAME TO ids; "
	want, err := answer(t.Context(), db, snap, tables, copies+query)
	if err != nil {
		t.Errorf("%s: %v", query, err)
		return
	}
	diff(t, query, lines(want), lines(got))
}

// count returns the number of rows for which f holds, and the sum of their values.
func (e *everything) count(f func(r row) bool) (rows, sum int64) {
	for _, r := range e.rows {
		if f(r) {
			rows++
			sum += r.value
		}
	}
	return rows, sum
}

// TestFilters: conditions that DuckDB's Arrow scan silently ignores.
func TestFilters(t *testing.T) {
	store := openStore(t)
	e := newEverything(t, store, "e", manyRows)
	db, snap := openDB(t, Options{}), snapshotOf(t, store)
	cases := []struct {
		where string
		holds func(r row) bool
	}{
		{"n BETWEEN 10 AND 12", func(r row) bool { return r.n >= 10 && r.n <= 12 }},
		{"n > 69998", func(r row) bool { return r.n > 69998 }},
		{`"labels.pod" = 'pod-of-a-long-name-3'`, func(r row) bool { return r.pod == "pod-of-a-long-name-3" }},
		{`"labels.zone" IS NULL`, func(r row) bool { return r.zone == nil }},
		{`"labels.zone" <> 'z1'`, func(r row) bool { return r.zone != nil && r.zone != "z1" }},
		{`"labels.zone" IN ('z0', 'z2') AND hot`, func(r row) bool { return (r.zone == "z0" || r.zone == "z2") && r.hot == true }},
		{"note = ''", func(r row) bool { return r.note == "" }},
		{"note IS NULL", func(r row) bool { return r.note == nil }},
		{"value = 7", func(r row) bool { return r.value == 7 }}, // comes in runs
		{"value = 7 AND text LIKE 'row 1%'", func(r row) bool { return r.value == 7 && strings.HasPrefix(r.text, "row 1") }},
		{"hot IS NOT TRUE", func(r row) bool { return r.hot != true }},
		{"ratio = 'inf'", func(r row) bool { return r.ratio == math.Inf(1) }},
		{"count = 18446744073709551615", func(r row) bool { return r.count == uint64(math.MaxUint64) }},
		{"id >= 'ff000000-0000-0000-0000-000000000000'", func(r row) bool { id, ok := r.id.(uuid.UUID); return ok && id[0] == 255 }},
		{"list_contains(stack, 'ff010000-0000-0000-0000-000000000007'::UUID)", func(r row) bool { return slices.Contains(r.stack, frame(5, 1)) }},
		{"len(stack) = 0", func(r row) bool { return len(r.stack) == 0 }},
		{"n < 0", func(row) bool { return false }},
	}
	for _, c := range cases {
		rows, sum := e.count(c.holds)
		want := fmt.Sprintf("%d %d\n", rows, sum)
		wantLines(t, db, snap, []Table{{Table: e.Table}}, "SELECT count(*), coalesce(sum(value), 0) FROM e WHERE "+c.where, want)
	}
}

// TestProjection: each column alone, and columns in reverse order.
func TestProjection(t *testing.T) {
	store := openStore(t)
	e := newEverything(t, store, "e", manyRows)
	db, snap := openDB(t, Options{}), snapshotOf(t, store)
	_, sum := e.count(func(row) bool { return true })
	texts, notes := map[string]bool{}, map[any]bool{}
	for _, r := range e.rows {
		texts[r.text] = true
		if r.note != nil {
			notes[r.note] = true
		}
	}
	for query, want := range map[string]string{
		"SELECT count(*) FROM e":                                   fmt.Sprintln(manyRows),
		"SELECT sum(value) FROM e":                                 fmt.Sprintln(sum),
		"SELECT max(n), min(n) FROM e":                             fmt.Sprintln(manyRows-1, 0),
		"SELECT count(DISTINCT text) FROM e":                       fmt.Sprintln(len(texts)),
		"SELECT count(DISTINCT note) FROM e":                       fmt.Sprintln(len(notes)),
		`SELECT sum(value), count(text), min("labels.pod") FROM e`: fmt.Sprintln(sum, manyRows, "pod-of-a-long-name-0"),
	} {
		wantLines(t, db, snap, []Table{{Table: e.Table}}, query, want)
	}
}

// TestTableTwice: a table read several times in one query, and by one query after another.
func TestTableTwice(t *testing.T) {
	store := openStore(t)
	a, b := newEverything(t, store, "a", 40_000), newEverything(t, store, "b", 50)
	db, snap := openDB(t, Options{}), snapshotOf(t, store)
	tables := []Table{{Table: a.Table}, {Table: b.Table}}
	for range 2 {
		for query, want := range map[string]string{
			"SELECT count(*) FROM a x JOIN a y USING (n)":                                                                            "40000\n",
			"SELECT count(*), sum(x.n - y.n) FROM a x JOIN a y ON x.n = y.n + 1":                                                     "39999 39999\n",
			"SELECT count(*) FROM a, b":                                                                                              "2000000\n",
			"SELECT count(*), max(a.n) FROM a JOIN b USING (text)":                                                                   "50 49\n",
			"SELECT count(*) FROM a ANTI JOIN b USING (n)":                                                                           "39950\n",
			"WITH c AS (SELECT n FROM a) SELECT count(*) FROM c JOIN c d USING (n) JOIN a USING (n)":                                 "40000\n",
			"WITH c AS MATERIALIZED (SELECT n FROM a) SELECT count(*) FROM c JOIN c d USING (n)":                                     "40000\n",
			"WITH c AS NOT MATERIALIZED (SELECT n FROM a) SELECT count(*) FROM c JOIN c d USING (n)":                                 "40000\n",
			"SELECT count(*) FROM a WHERE n = (SELECT max(n) FROM a)":                                                                "1\n",
			"SELECT (SELECT count(*) FROM b WHERE b.n < x.n) FROM b x ORDER BY n DESC LIMIT 1":                                       "49\n",
			"SELECT count(*) FROM (SELECT n FROM a UNION ALL SELECT n FROM a UNION ALL SELECT n FROM b)":                             "80050\n",
			"SELECT count(*) FROM a WHERE n IN (SELECT n FROM b) AND EXISTS (FROM b y WHERE y.n = a.n)":                              "50\n",
			"SELECT n FROM a ORDER BY n DESC LIMIT 2 OFFSET 1":                                                                       "39998\n39997\n",
			"SELECT sum(s) FROM (SELECT sum(n) OVER (ORDER BY n ROWS 1 PRECEDING) AS s FROM b)":                                      "2401\n",
			"WITH RECURSIVE r AS (SELECT 0::BIGINT AS n UNION ALL SELECT b.n FROM r JOIN b ON b.n = r.n + 1) SELECT count(*) FROM r": "50\n",
		} {
			wantLines(t, db, snap, tables, query, want)
		}
	}
}

// TestNothing: tables without rows, and answers without any.
func TestNothing(t *testing.T) {
	store := openStore(t)
	old := snapshotOf(t, store)
	e := newEverything(t, store, "e", 10)
	empty, err := store.CreateTable("empty", everyType())
	if err != nil {
		t.Fatal(err)
	}
	labels, err := store.CreateTable("labels_only", schema.Definition{
		Columns:    []schema.Column{{Name: "labels", Type: encoding.String, Encoding: encoding.DictionaryRLE, Dynamic: true}},
		SortingKey: []string{"labels"},
	})
	if err != nil {
		t.Fatal(err)
	}
	db, snap := openDB(t, Options{}), snapshotOf(t, store)
	tables := []Table{{Table: e.Table}, {Table: empty}}
	wantLines(t, db, snap, tables, "SELECT n FROM e WHERE n > 100", "")
	wantLines(t, db, snap, tables, "SELECT count(*), sum(value), max(text) FROM empty", "0 <nil> <nil>\n")
	wantLines(t, db, snap, tables, "SELECT * FROM empty", "")
	wantLines(t, db, snap, tables, "SELECT count(*), count(empty.n) FROM e LEFT JOIN empty USING (n)", "10 0\n")
	wantLines(t, db, snap, tables, "SELECT column_name FROM (DESCRIBE empty) LIMIT 2", "stack\nn\n")
	wantLines(t, db, old, tables, "SELECT count(*) FROM e", "0\n") // is newer than the snapshot
	wantLines(t, db, snap, nil, "SELECT 1", "1\n")
	if _, err := answer(t.Context(), db, snap, []Table{{Table: labels}}, "SELECT 1 FROM labels_only"); err == nil {
		t.Error("a table without columns was read")
	}
}

// TestLists: common questions about stacks.
func TestLists(t *testing.T) {
	store := openStore(t)
	e := newEverything(t, store, "e", manyRows)
	db, snap := openDB(t, Options{}), snapshotOf(t, store)
	names := func(dst []string, id uuid.UUID, _ []byte) []string {
		return append(dst, fmt.Sprintf("main.function%d", id[0]), "inlined") // a location is several functions
	}
	var main51, frames int64
	leaf, distinct := map[string]int64{}, map[string]bool{}
	for _, r := range e.rows {
		frames += 2 * int64(len(r.stack))
		distinct[functionsOf(r)] = true
		if slices.ContainsFunc(r.stack, func(id uuid.UUID) bool { return id[0] == 51 }) {
			main51++
		}
		if len(r.stack) > 0 {
			leaf[fmt.Sprintf("main.function%d", r.stack[0][0])] += r.value
		}
	}
	var leaves [][]any
	for name, sum := range leaf {
		leaves = append(leaves, []any{name, sum})
	}
	slices.SortFunc(leaves, func(a, b []any) int { return strings.Compare(a[0].(string), b[0].(string)) })
	for query, want := range map[string]string{
		"SELECT count(*) FROM e WHERE list_contains(stack, 'main.function51')":                                         fmt.Sprintln(main51),
		"SELECT count(*), count(DISTINCT f) FROM (SELECT unnest(stack) AS f FROM e)":                                   fmt.Sprintln(frames, 7),
		"SELECT count(*) FROM e, unnest(stack) AS u(f)":                                                                fmt.Sprintln(frames),
		"SELECT stack[1], sum(value) FROM e WHERE len(stack) > 0 GROUP BY 1 ORDER BY 1":                                lines(leaves),
		"SELECT count(DISTINCT stack) FROM e":                                                                          fmt.Sprintln(len(distinct)),
		"SELECT typeof(stack), count(*) FROM e GROUP BY 1":                                                             fmt.Sprintln("VARCHAR[]", manyRows),
		"SELECT sum(len(list_filter(stack, lambda f: f = 'inlined'))) FROM e":                                          fmt.Sprintln(frames / 2),
		"SELECT count(*) FROM (SELECT stack FROM e GROUP BY stack HAVING array_to_string(stack, ';') LIKE '%;main.%')": fmt.Sprintln(deepStacks(e)),
	} {
		wantLines(t, db, snap, []Table{{Table: e.Table, Elements: names}}, query, want)
	}
	wantLines(t, db, snap, []Table{{Table: e.Table}}, "SELECT DISTINCT typeof(stack) FROM e", "UUID[]\n")
	broken := func(dst []string, _ uuid.UUID, _ []byte) []string { return append(dst, "a\xffb", "") }
	wantLines(t, db, snap, []Table{{Table: e.Table, Elements: broken}}, "SELECT DISTINCT unnest(stack) AS f FROM e ORDER BY f", "\na\uFFFDb\n")
}

// functionsOf returns the key of a stack by its functions.
func functionsOf(r row) string {
	var functions []byte
	for _, id := range r.stack {
		functions = append(functions, id[0])
	}
	return string(functions)
}

// deepStacks counts the distinct stacks of more than one location.
func deepStacks(e *everything) int {
	deep := map[string]bool{}
	for _, r := range e.rows {
		if len(r.stack) > 1 {
			deep[functionsOf(r)] = true
		}
	}
	return len(deep)
}

// TestNames: tables and columns whose names are keywords or operators of SQL.
func TestNames(t *testing.T) {
	store := openStore(t)
	name := `a "table's" name.`
	table, err := store.CreateTable(name, everyType())
	if err != nil {
		t.Fatal(err)
	}
	labels := []string{`q"uo''te`, "select", "a.b.c", "a b", "Ä", "ä", "pod", "POD", "pod_1", "%s", "日本", ";--", "\\n"}
	b := batchOf([]row{{stack: []uuid.UUID{}}})
	for i, l := range labels {
		b.Columns["labels."+l] = encoding.Strings(fmt.Sprint("value", i))
	}
	if _, err := table.Insert(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	db, snap := openDB(t, Options{}), snapshotOf(t, store)
	for i, l := range labels {
		switch l { // names that differ in case only get numbers
		case "POD":
			l = "POD_2" // pod_1 is taken
		case "pod":
			l = "pod_3"
		}
		wantLines(t, db, snap, []Table{{Table: table}}, "SELECT "+Quote("labels."+l)+" FROM "+Quote(name), fmt.Sprintf("value%d\n", i))
	}
	wantLines(t, db, snap, []Table{{Table: table, Name: "Plain"}}, `SELECT count(*) FROM plain`, "1\n")
	_, err = answer(t.Context(), db, snap, []Table{{Table: table, Name: "t"}}, `SELECT "labels.pod" FROM t`)
	wantError(t, err, ErrSQL) // ambiguous: it must not be guessed
}

// TestManyColumns: as many dynamic columns as inserts bring.
func TestManyColumns(t *testing.T) {
	store := openStore(t)
	table, err := store.CreateTable("wide", everyType())
	if err != nil {
		t.Fatal(err)
	}
	const batches, each = 10, 1000
	for i := range batches {
		b := batchOf([]row{{stack: []uuid.UUID{}, n: int64(i)}})
		for k := range each {
			b.Columns[fmt.Sprintf("labels.l%d", i*each+k)] = encoding.Strings(fmt.Sprint(k))
		}
		if _, err := table.Insert(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	db, snap := openDB(t, Options{}), snapshotOf(t, store)
	tables := []Table{{Table: table}}
	wantLines(t, db, snap, tables, `SELECT n, "labels.l7777", "labels.l9999" FROM wide WHERE "labels.l9001" = '1' OR "labels.l7000" = '0' ORDER BY n`,
		"7 777 <nil>\n9 <nil> 999\n")
	rows, err := answer(t.Context(), db, snap, tables, "SELECT * FROM wide ORDER BY n")
	if err != nil {
		t.Fatal(err)
	}
	texts := 0
	for _, row := range rows {
		for _, v := range row {
			if _, ok := v.(string); ok {
				texts++
			}
		}
	}
	if want := batches*each + batches; len(rows) != batches || texts != want { // the column text counts too
		t.Errorf("%d rows with %d texts, want %d with %d", len(rows), texts, batches, want)
	}
}

// TestTable: the options of a Table select the rows and columns of SQL.
func TestTable(t *testing.T) {
	store := openStore(t)
	e := newEverything(t, store, "e", 1000)
	db, snap := openDB(t, Options{}), snapshotOf(t, store)
	where := columnstore.And(columnstore.AtLeast("n", 10), columnstore.Less("n", 20))
	tables := []Table{
		{Table: e.Table},
		{Table: e.Table, Name: "few", Where: where},
		{Table: e.Table, Name: "short", Where: where, Select: `n AS number, "labels.pod" AS pod`},
	}
	wantLines(t, db, snap, tables, "SELECT count(*), (SELECT count(*) FROM few), (SELECT max(number) FROM short) FROM e", "1000 10 19\n")
	wantLines(t, db, snap, tables, "SELECT * FROM short ORDER BY number LIMIT 1", "10 pod-of-a-long-name-3\n")
	wantLines(t, db, snap, tables, "SELECT name FROM (SHOW TABLES) ORDER BY 1", "e\nfew\nshort\n")
	for _, bad := range []struct {
		tables []Table
		want   error
	}{
		{[]Table{{Name: "nil"}}, ErrTable},
		{[]Table{{Table: e.Table}, {Table: e.Table}}, ErrTable},
		{[]Table{{Table: e.Table}, {Table: e.Table, Name: "E"}}, ErrTable},
		{[]Table{{Table: e.Table, Select: "nothing"}}, ErrSQL},
		{[]Table{{Table: e.Table, Where: columnstore.Equal("nothing", 1)}}, columnstore.ErrQuery},
	} {
		_, err := answer(t.Context(), db, snap, bad.tables, "SELECT count(*) FROM e")
		wantError(t, err, bad.want)
	}
}

// TestArguments: values are bound beside the SQL.
func TestArguments(t *testing.T) {
	store := openStore(t)
	e := newEverything(t, store, "e", 100)
	db, snap := openDB(t, Options{}), snapshotOf(t, store)
	got, err := answer(context.Background(), db, snap, []Table{{Table: e.Table}},
		`SELECT count(*) FROM e WHERE n < $1 AND "labels.pod" = $2`, 50, "pod-of-a-long-name-3")
	if err != nil {
		t.Fatal(err)
	}
	diff(t, "count", "7\n", lines(got))
	_, err = answer(context.Background(), db, snap, nil, "SELECT ?")
	wantError(t, err, ErrSQL)
}
