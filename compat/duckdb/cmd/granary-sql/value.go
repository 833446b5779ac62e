//go:build cgo

package main

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"
	"unicode"

	driver "github.com/duckdb/duckdb-go/v2"
	"github.com/google/uuid"
)

// isNumber reports whether values with an SQL type are right-aligned.
func isNumber(typ string) bool {
	switch base, _, _ := strings.Cut(typ, "("); base {
	case "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT", "BIGNUM",
		"FLOAT", "DOUBLE", "DECIMAL":
		return !strings.HasSuffix(typ, "]")
	default:
		return false
	}
}

// text returns a value with an SQL type in readable form.
func text(v any, typ string) string {
	switch v := v.(type) {
	case nil:
		return "NULL"
	case string:
		return v
	case float32:
		return float(float64(v), 32)
	case float64:
		return float(v, 64)
	case time.Time:
		return moment(v, typ)
	case []byte:
		return octets(v, typ)
	case driver.Interval:
		return interval(v)
	case driver.Union:
		return text(v.Value, "")
	case []any:
		items := make([]string, len(v))
		for i, item := range v {
			items[i] = text(item, elementType(typ))
		}
		return "[" + strings.Join(items, ", ") + "]"
	case map[string]any, driver.OrderedMap:
		return string(encoded(v, typ))
	default: // integers, booleans, *big.Int, Decimal
		return fmt.Sprint(v)
	}
}

// plain returns a value in a form for encoding/json.
func plain(v any, typ string) any {
	switch v := v.(type) {
	case float32:
		return number(float64(v), 32)
	case float64:
		return number(v, 64)
	case *big.Int:
		return json.Number(v.String())
	case driver.Decimal:
		return json.Number(v.String())
	case driver.Union:
		return plain(v.Value, "")
	case time.Time:
		if strings.HasPrefix(typ, "TIMESTAMP") {
			return v.UTC().Format(time.RFC3339Nano)
		}
		return text(v, typ)
	case []byte, driver.Interval:
		return text(v, typ)
	case []any:
		items := make([]any, len(v))
		for i, item := range v {
			items[i] = plain(item, elementType(typ))
		}
		return items
	case map[string]any:
		fields := make(map[string]any, len(v))
		for name, field := range v {
			fields[name] = plain(field, "")
		}
		return fields
	case driver.OrderedMap:
		type entry struct {
			Key   any `json:"key"`
			Value any `json:"value"`
		}
		entries, values := []entry{}, v.Values()
		for i, key := range v.Keys() {
			entries = append(entries, entry{plain(key, ""), plain(values[i], "")})
		}
		return entries
	default:
		return v
	}
}

// encoded returns a value in JSON, without escapes in names.
func encoded(v any, typ string) []byte {
	var b strings.Builder
	out := json.NewEncoder(&b)
	out.SetEscapeHTML(false)
	if err := out.Encode(plain(v, typ)); err != nil {
		return fmt.Appendf(nil, "%q", fmt.Sprint(v)) // a future DuckDB type
	}
	return []byte(strings.TrimSuffix(b.String(), "\n"))
}

// elementType returns the type of a list's elements: "UUID[]", "INTEGER[3]".
func elementType(list string) string {
	if i := strings.LastIndexByte(list, '['); i >= 0 && strings.HasSuffix(list, "]") {
		return list[:i]
	}
	return ""
}

func float(v float64, bits int) string {
	if a := math.Abs(v); a != 0 && (a < 1e-5 || a >= 1e15) {
		return strconv.FormatFloat(v, 'g', -1, bits)
	}
	return strconv.FormatFloat(v, 'f', -1, bits)
}

// number returns a float for JSON. NaN and infinities, which JSON lacks, become text.
func number(v float64, bits int) any {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return float(v, bits)
	}
	return json.Number(strconv.FormatFloat(v, 'g', -1, bits))
}

func moment(t time.Time, typ string) string {
	switch typ {
	case "DATE":
		return t.Format(time.DateOnly)
	case "TIME":
		return t.Format("15:04:05.999999")
	case "TIMETZ":
		return t.Format("15:04:05.999999Z07:00")
	default:
		return t.UTC().Format("2006-01-02 15:04:05.999999999")
	}
}

func octets(v []byte, typ string) string {
	if id, err := uuid.FromBytes(v); err == nil && typ == "UUID" {
		return id.String()
	}
	return hex.EncodeToString(v)
}

func interval(v driver.Interval) string {
	var parts []string
	add := func(n int32, unit string) {
		if n != 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, unit))
		}
	}
	add(v.Months/12, "years")
	add(v.Months%12, "months")
	add(v.Days, "days")
	if v.Micros != 0 || len(parts) == 0 {
		parts = append(parts, (time.Duration(v.Micros) * time.Microsecond).String())
	}
	return strings.Join(parts, " ")
}

// printable replaces characters that a terminal would interpret.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, text)
}
