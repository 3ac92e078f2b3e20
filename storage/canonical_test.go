package storage

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
)

func TestCanonicalNumbers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		value any
		want  string
	}{
		{int64(0), "0"},
		{0.0, "0"},
		{math.Copysign(0, -1), "0"},
		{1.0, "1"},
		{-1.5, "-1.5"},
		{1e15, "1000000000000000"},
		{float64(1 << 53), "9007199254740992"},
		{1234567.5, "1234567.5"},
		{float64(math.MinInt64), "-9223372036854776000"},
		{float64(1 << 63), "9223372036854776000"},
		{float64(20000000000000008), "20000000000000010"},
		{1e20, "100000000000000000000"},
		{-math.MaxFloat64, "-1.7976931348623157e+308"},
		{1e21, "1e+21"},
		{1e-6, "0.000001"},
		{1e-7, "1e-7"},
		{1e-10, "1e-10"},
		{math.SmallestNonzeroFloat64, "5e-324"},
		{int64(math.MaxInt64), "9223372036854775807"},
		{int64(math.MinInt64), "-9223372036854775808"},
		{math.NaN(), `"NaN"`},
		{math.Inf(1), `"+Inf"`},
		{int(7), "7"},
		{int32(-7), "-7"},
		{uint8(7), "7"},
		{uint64(math.MaxUint64), "18446744073709552000"},
		{float32(0.1), "0.1"},
		{json.Number("1.0"), "1"},
		{json.Number("9223372036854775808"), "9223372036854776000"},
		{json.Number("-9223372036854775808"), "-9223372036854775808"},
	} {
		got := AppendCanonical(nil, c.value)
		if string(got) != c.want {
			t.Errorf("%T %v is %s, want %s", c.value, c.value, got, c.want)
		}
		if f, ok := c.value.(float64); ok && !math.IsNaN(f) && !math.IsInf(f, 0) && f != 0 {
			if stored, _ := json.Marshal(f); string(stored) != c.want {
				t.Errorf("the server writes %v as %s", f, stored)
			}
		}
		if !json.Valid(got) {
			t.Errorf("%T %v gives no valid JSON: %s", c.value, c.value, got)
		}
	}
}

func TestCanonicalStrings(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		"":                 `""`,
		"a/b <&>":          `"a/b <&>"`,
		"\"\\":             `"\"\\"`,
		"\n\r\t\b\x00\x7f": `"\n\r\t\u0008\u0000` + "\x7f\"",
		"ü\u2028🐶":         "\"ü\u2028🐶\"",
		"a\xffb\xc3":       "\"a\ufffdb\ufffd\"",
		"\ufffd":           "\"\ufffd\"",
	} {
		got := string(AppendCanonical(nil, value))
		if got != want {
			t.Errorf("%q is %s, want %s", value, got, want)
		}
		if !json.Valid([]byte(got)) {
			t.Errorf("%q gives no valid JSON: %s", value, got)
		}
	}
}

func TestCanonicalTakesWhatCallersBuild(t *testing.T) {
	t.Parallel()
	type size struct {
		B int    `json:"b"`
		A string `json:"a,omitempty"`
	}
	for _, c := range []struct {
		value any
		want  string
	}{
		{map[string]string{"b": "<", "a": "2"}, `{"a":"2","b":"<"}`},
		{[]string{"b", "a"}, `["b","a"]`},
		{size{B: 2}, `{"b":2}`},
		{map[string]any{"x": []any{size{1, "z"}, nil}, "n": nil}, `{"x":[{"a":"z","b":1},null]}`},
		{json.RawMessage(`{"z": 1.0, "a": null}`), `{"z":1}`},
		{make(chan int), `"chan int"`},
	} {
		if got := string(AppendCanonical(nil, c.value)); got != c.want {
			t.Errorf("%#v is %s, want %s", c.value, got, c.want)
		}
	}
}

func TestCanonicalKeysAreSortedByBytes(t *testing.T) {
	t.Parallel()
	got := string(AppendCanonical(nil, decode(t, `{"é":1,"z":2,"Z":3,"":4,"\ud83d\ude00":5,"\uffff":6}`)))
	if want := "{\"\":4,\"Z\":3,\"z\":2,\"é\":1,\"\uffff\":6,\"😀\":5}"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestCanonicalTakesDeepAndWideObjects(t *testing.T) {
	t.Parallel()
	const depth = 11000 // the server's decoder stops at 10000
	var v any = "leaf"
	for range depth {
		v = []any{map[string]any{"a": v}}
	}
	got := AppendCanonical(nil, v)
	if want := strings.Repeat(`[{"a":`, depth) + `"leaf"` + strings.Repeat("}]", depth); string(got) != want {
		t.Errorf("%d bytes, want %d", len(got), len(want))
	}
}

func TestDecodeValueReadsAsTheServerDoes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]any{
		`1`:                   int64(1),
		`1.0`:                 float64(1),
		`1e2`:                 float64(100),
		`9223372036854775807`: int64(math.MaxInt64),
		`9223372036854775808`: float64(1 << 63),
		` "a" `:               "a",
		`null`:                nil,
		`{"a":1,"a":2}["a"]`:  error(nil),
		`1e999`:               error(nil),
		`{"a":1} x`:           error(nil),
		``:                    error(nil),
		strings.Repeat("[", 11000) + strings.Repeat("]", 11000): error(nil),
	} {
		got, err := DecodeValue([]byte(text))
		if got != want {
			t.Errorf("%.40s is %T %v, want %T %v", text, got, got, want, want)
		}
		if (err != nil) != (want == nil && text != "null") {
			t.Errorf("%.40s: %v", text, err)
		}
	}
	if got := decode(t, `{"a":1,"a":2}`)["a"]; got != int64(2) {
		t.Errorf("of a duplicate key %v counts, want the last value as in the server", got)
	}
}
