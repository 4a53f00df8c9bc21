package jsontree

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"
)

// Exact decodes a JSON text as package json does, and keeps the digits of its numbers: one that a float64 would write in
// another way, such as 9007199254740993 or 1.10, is a [json.Number]. It refuses what [Decode] refuses.
func Exact(raw []byte) (any, error) {
	v, err := Decode(raw)
	if err != nil {
		return nil, err
	}
	return plain(v), nil
}

// Into reads a JSON text into a value as package json does. If it has a number that a float64 would write in another way,
// the numbers for which the value has room of any kind are a [json.Number], so that they keep their digits.
func Into(raw []byte, v any) error {
	if !Rounded(raw) {
		return json.Unmarshal(raw, v)
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("the JSON text goes on after its value")
	}
	return nil
}

// plain replaces the numbers in v that a float64 holds as they are written.
func plain(v any) any {
	switch v := v.(type) {
	case []any:
		for i, e := range v {
			v[i] = plain(e)
		}
	case map[string]any:
		for k, e := range v {
			v[k] = plain(e)
		}
	case json.Number:
		if f, ok := held(string(v)); ok {
			return f
		}
	}
	return v
}

// held returns a number as a float64, and whether package json writes that as the number is written.
func held(number string) (float64, bool) {
	f, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return 0, false
	}
	form, err := json.Marshal(f)
	return f, err == nil && string(form) == number
}

// Rounded reports whether a text of valid JSON has a number that a float64 would write in another way.
func Rounded(raw []byte) bool {
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case c == '"':
			for i++; i < len(raw) && raw[i] != '"'; i++ {
				if raw[i] == '\\' {
					i++
				}
			}
		case c == '-' || '0' <= c && c <= '9':
			end := i + 1
			for end < len(raw) && strings.IndexByte("+-.0123456789eE", raw[end]) >= 0 {
				end++
			}
			if !short(raw[i:end]) {
				if _, ok := held(string(raw[i:end])); !ok {
					return true
				}
			}
			i = end - 1
		}
	}
	return false
}

// short reports whether a number is a whole one of few digits, which needs no look.
func short(number []byte) bool {
	return len(number) <= told && bytes.IndexFunc(number, func(r rune) bool { return r < '0' || r > '9' }) < 0
}

// Plain replaces the numbers in v, which it may change, by a float64 where that is the same number in any form: 1.10 is
// 1.1, and 9007199254740993 stays a [json.Number].
func Plain(v any) any {
	switch v := v.(type) {
	case []any:
		for i, e := range v {
			v[i] = Plain(e)
		}
	case map[string]any:
		for k, e := range v {
			v[k] = Plain(e)
		}
	case json.Number:
		if f, same := equal(string(v)); same {
			return f
		}
	}
	return v
}

// Restore returns a copy of a decoded value in which each number that a float64 has changed is as the text has it, a
// [json.Number]. Where the value is not that of the text, it is kept as it is.
func Restore(v, text any) any {
	switch v := v.(type) {
	case []any:
		text, ok := text.([]any)
		if !ok || len(text) != len(v) {
			return v
		}
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = Restore(e, text[i])
		}
		return out
	case map[string]any:
		text, ok := text.(map[string]any)
		if !ok || v == nil {
			return v
		}
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = Restore(e, text[k])
		}
		return out
	case float64:
		if n, ok := text.(json.Number); ok {
			if f, same := equal(string(n)); f == v && !same {
				return n
			}
		}
	}
	return v
}

// equal returns a number as a float64, and whether that is the same number.
func equal(number string) (float64, bool) {
	f, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return f, false
	}
	digits, exponent, ok := decimal(number)
	its, at, _ := decimal(strconv.FormatFloat(f, 'e', -1, 64))
	return f, ok && digits == its && exponent == at
}

// decimal returns the digits of a number without zeros at either end, with its sign, and the power of ten of the last.
func decimal(number string) (digits string, exponent int, ok bool) {
	mantissa, power, _ := strings.Cut(strings.ToLower(number), "e")
	if power != "" {
		var err error
		if exponent, err = strconv.Atoi(power); err != nil {
			return "", 0, false
		}
	}
	mantissa, negative := strings.CutPrefix(mantissa, "-")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits = strings.TrimLeft(whole+fraction, "0")
	exponent -= len(fraction)
	cut := strings.TrimRight(digits, "0")
	if exponent += len(digits) - len(cut); cut == "" {
		exponent = 0
	}
	if negative {
		cut = "-" + cut
	}
	return cut, exponent, true
}
