package postgres

import (
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/granarydb/granary/bench/trees/block"
)

// Layout is how the intervals lie in the database, and how it is asked.
type Layout struct {
	table   string   // makes it
	columns []string // copied into the table, in their order
	after   []string // statements after the rows
	single  string   // $1 attribute, $2 time
	full    string   // $1 time
	plane   string   // $1 attributes, $2 and $3 the first and last time, $4 all times in order
	row     func(*block.Interval) []any
}

// GiST has a range, and one index by GiST over attributes and ranges.
var GiST = &Layout{
	table: `CREATE EXTENSION btree_gist;
CREATE TABLE intervals (attribute int4 NOT NULL, kind int2 NOT NULL, during int8range NOT NULL, word int8, text bytea)`,
	columns: []string{"attribute", "kind", "during", "word", "text"},
	after: []string{
		`CREATE INDEX ON intervals USING gist (attribute, during) WITH (buffering = on)`,
		`VACUUM (ANALYZE) intervals`,
	},
	single: `SELECT attribute, kind, lower(during), upper(during) - 1, word, text FROM intervals
WHERE attribute = $1 AND during @> $2::int8`,
	full: `SELECT attribute, kind, lower(during), upper(during) - 1, word, text FROM intervals
WHERE during @> $1::int8`,
	plane: `SELECT attribute, kind, lower(during), upper(during) - 1, word, text
FROM unnest($1::int4[]) AS k JOIN intervals ON attribute = k AND during && int8range($2, $3, '[]')
WHERE width_bucket(lower(during) - 1, $4::int8[]) < width_bucket(upper(during) - 1, $4)`,
	row: func(in *block.Interval) []any {
		during := pgtype.Range[pgtype.Int8]{
			Lower: pgtype.Int8{Int64: in.Start, Valid: true}, LowerType: pgtype.Inclusive,
			Upper: pgtype.Int8{Int64: in.End + 1, Valid: true}, UpperType: pgtype.Exclusive, Valid: true,
		}
		return []any{int32(in.Key), int16(in.Kind), during, word(in), in.Text}
	},
}

// BTree has a row of both ends, in a primary key of attributes and starts.
var BTree = &Layout{
	table: `CREATE TABLE attributes (attribute int4 PRIMARY KEY);
CREATE TABLE intervals (attribute int4 NOT NULL, kind int2 NOT NULL, start int8 NOT NULL, "end" int8 NOT NULL, word int8, text bytea)`,
	columns: []string{"attribute", "kind", "start", "end", "word", "text"},
	after: []string{
		`ALTER TABLE intervals ADD PRIMARY KEY (attribute, start)`,
		`INSERT INTO attributes SELECT DISTINCT attribute FROM intervals ORDER BY attribute`,
		`VACUUM (ANALYZE) intervals, attributes`,
	},
	single: `SELECT attribute, kind, start, "end", word, text FROM intervals
WHERE attribute = $1 AND start <= $2 ORDER BY start DESC LIMIT 1`,
	full: `SELECT i.* FROM attributes a CROSS JOIN LATERAL (
SELECT attribute, kind, start, "end", word, text FROM intervals
WHERE attribute = a.attribute AND start <= $1 ORDER BY start DESC LIMIT 1) i WHERE i."end" >= $1`,
	plane: `SELECT i.* FROM unnest($1::int4[]) AS k CROSS JOIN LATERAL (
SELECT attribute, kind, start, "end", word, text FROM intervals
WHERE attribute = k AND start <= $3
AND start >= coalesce((SELECT max(start) FROM intervals WHERE attribute = k AND start <= $2), $2)) i
WHERE width_bucket(i.start - 1, $4::int8[]) < width_bucket(i."end", $4)`,
	row: func(in *block.Interval) []any {
		return []any{int32(in.Key), int16(in.Kind), in.Start, in.End, word(in), in.Text}
	},
}

// word is null of what has no number.
func word(in *block.Interval) pgtype.Int8 {
	return pgtype.Int8{Int64: int64(in.Word), Valid: in.Kind != block.Null && in.Kind != block.String}
}
