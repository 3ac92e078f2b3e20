package storage

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"
)

// AppendCanonical appends the canonical JSON of v to b: keys sorted by bytes,
// no white space, null members of objects left out, and one text for each
// number: that which the API server writes, which makes 1 of 1.0.
// v is built of what unstructured objects hold; other values go through
// encoding/json. The text is stable over releases.
func AppendCanonical(b []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(b, "null"...)
	case map[string]any:
		return appendObject(b, v)
	case []any:
		b = append(b, '[')
		for i, item := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = AppendCanonical(b, item)
		}
		return append(b, ']')
	case string:
		return appendString(b, v)
	case bool:
		return strconv.AppendBool(b, v)
	case int64:
		return strconv.AppendInt(b, v, 10)
	case float64:
		return appendFloat(b, v)
	}
	return appendForeign(b, v)
}

func appendObject(b []byte, m map[string]any) []byte {
	var stack [16]string
	keys := stack[:0]
	for key, value := range m {
		if value != nil {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	b = append(b, '{')
	for i, key := range keys {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendString(b, key)
		b = append(b, ':')
		b = AppendCanonical(b, m[key])
	}
	return append(b, '}')
}

// appendFloat writes the text that encoding/json, and so the API server, gives
// a float, as it may come back from there as the integer of that text.
func appendFloat(b []byte, f float64) []byte {
	if f == 0 {
		return append(b, '0') // also for -0
	}
	if math.IsNaN(f) || math.IsInf(f, 0) { // JSON has no such number
		return appendString(b, strconv.FormatFloat(f, 'g', -1, 64))
	}
	if abs := math.Abs(f); abs >= 1e-6 && abs < 1e21 {
		return strconv.AppendFloat(b, f, 'f', -1, 64)
	}
	b = strconv.AppendFloat(b, f, 'e', -1, 64)
	if n := len(b); b[n-4] == 'e' && b[n-2] == '0' { // e-07
		b[n-2] = b[n-1]
		b = b[:n-1]
	}
	return b
}

// appendForeign serves values that no decoder of the API server makes: those
// that a caller built by hand.
func appendForeign(b []byte, v any) []byte {
	switch v := v.(type) {
	case int:
		return strconv.AppendInt(b, int64(v), 10)
	case int32:
		return strconv.AppendInt(b, int64(v), 10)
	case json.Number:
		if i, err := v.Int64(); err == nil {
			return strconv.AppendInt(b, i, 10)
		}
		f, _ := v.Float64()
		return appendFloat(b, f)
	}
	text, err := json.Marshal(v)
	if err != nil {
		return appendString(b, fmt.Sprintf("%T", v))
	}
	value, err := DecodeValue(text)
	if err != nil {
		return appendString(b, fmt.Sprintf("%T", v))
	}
	return AppendCanonical(b, value)
}

const hexDigits = "0123456789abcdef"

// appendString appends s as a JSON string. Only what JSON demands is escaped;
// bytes that are no UTF-8 become U+FFFD, as the API server does.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); {
		if c := s[i]; c < utf8.RuneSelf {
			if c >= 0x20 && c != '"' && c != '\\' {
				i++
				continue
			}
			b = append(b, s[start:i]...)
			b = appendEscape(b, c)
			i++
			start = i
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 {
			b = append(b, s[start:i]...)
			b = append(b, "\ufffd"...)
			i++
			start = i
			continue
		}
		i += size
	}
	b = append(b, s[start:]...)
	return append(b, '"')
}

func appendEscape(b []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(b, '\\', c)
	case '\n':
		return append(b, '\\', 'n')
	case '\r':
		return append(b, '\\', 'r')
	case '\t':
		return append(b, '\\', 't')
	}
	return append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&0xf])
}
