package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// head and body are an answer with all forms of fields that answers have.
type head struct {
	Commit uint64 `json:"commit"`
	hidden int
}

type body struct {
	head
	Plain     string
	Text      string            `json:"text,omitempty"`
	Number    int64             `json:"number,omitempty"`
	Flag      *bool             `json:"flag,omitempty"`
	Names     []string          `json:"names"`
	Rows      []head            `json:"rows,omitempty"`
	Levels    [][]int64         `json:"levels"`
	Bytes     []byte            `json:"bytes"`
	Inner     *body             `json:"inner,omitempty"`
	ByName    map[string]*body  `json:"by_name"`
	ByNumber  map[int]string    `json:"by_number,omitempty"`
	At        time.Time         `json:"at,omitempty"` //nolint:modernize // the encoder must do what json.Encoder does
	Any       any               `json:"any"`
	Raw       json.RawMessage   `json:"raw,omitempty"`
	Pair      [2]int64          `json:"pair"`
	Left      int               `json:"-"`
	EmptyList []map[string]bool `json:"empty_list"`
}

// TestEncodeJSON compares texts with those of json.Encoder.
func TestEncodeJSON(t *testing.T) {
	yes := true
	whole := body{head: head{7, 1}, Plain: "a<b>&\u2028\xff", Flag: &yes, Bytes: []byte("x"), Any: []int{1}, Raw: json.RawMessage(`{ "a" : 1 }`), At: time.Unix(1, 5).UTC(), EmptyList: []map[string]bool{}}
	for i := range 200 {
		whole.Names, whole.Rows = append(whole.Names, fmt.Sprint(i, `"`)), append(whole.Rows, head{Commit: uint64(i)})
		whole.Levels = append(whole.Levels, make([]int64, i))
	}
	whole.Levels[3] = nil
	whole.Inner = &body{Text: "t", Number: 1, ByName: map[string]*body{}, ByNumber: map[int]string{2: "b", 1: "a"}}
	whole.ByName = map[string]*body{"b": nil, "a": {Text: "é"}, `"`: {}}
	for _, value := range []any{whole, &whole, body{}, nil, (*body)(nil), []string{}, []string(nil), []string{"a"}, map[string][]int{"x": {1}}, 1.5, "text", [][]string{{"a"}, {}}, struct{}{}} {
		var got, want bytes.Buffer
		if err := errors.Join(encodeJSON(&got, value), json.NewEncoder(&want).Encode(value)); err != nil {
			t.Fatal(err)
		}
		if got.String() != want.String() {
			t.Errorf("%T:\n%.2000s\nwant\n%.2000s", value, &got, &want)
		}
	}
	if err := encodeJSON(new(bytes.Buffer), []any{make(chan int)}); err == nil {
		t.Error("a channel is encoded")
	}
	little := full(100)
	if err := encodeJSON(&little, strings.Split(strings.Repeat("a ", 100_000), " ")); err == nil {
		t.Error("an answer is written to a full disk")
	}
}
