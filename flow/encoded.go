package flow

import (
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
)

// encoded returns where a result has an address in one of the encodings of RFC 4648, as the codes of its characters, with
// its marks named, as people do who keep addresses from machines, or by rot13. The value is encoded and looked for, in place of decoding the results: so it is
// found in the middle of a longer encoded text, across lines, and in a part of a URL.
func (l *lookup) encoded() (o origin) {
	if !l.kind.leads() || len(l.raw) > 256 {
		return o
	}
	try := func(form string) bool {
		if len(form) >= 2*minPart && o.result == nil && l.s.budget > 0 {
			o = l.search([]byte(form), "encoded")
		}
		return o.result != nil
	}
	for i, value := range spellings(l.raw) {
		codes := []byte(value)
		var decimal, octal, binary strings.Builder
		for _, c := range codes {
			fmt.Fprintf(&decimal, "%d", c)
			fmt.Fprintf(&octal, "%03o", c)
			fmt.Fprintf(&binary, "%08b", c)
		}
		hexed := hex.EncodeToString(codes)
		pairs := strings.Fields(fmt.Sprintf("% x", codes))
		if slices.ContainsFunc([]string{
			hexed, "0x" + strings.Join(pairs, "0x"), "x" + strings.Join(pairs, "x"), "u00" + strings.Join(pairs, "u00"), decimal.String(), octal.String(), binary.String(),
		}, try) {
			return o
		}
		for shift := range 3 {
			if try(fold64(base64.RawStdEncoding.EncodeToString, codes, shift, 6)) {
				return o
			}
		}
		for shift := range 5 {
			if try(fold64(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString, codes, shift, 5)) ||
				try(fold64(base32.HexEncoding.WithPadding(base32.NoPadding).EncodeToString, codes, shift, 5)) {
				return o
			}
		}
		if i > 0 {
			continue
		}
		at := strings.ReplaceAll(value, "@", "at")
		for _, form := range []string{at, strings.ReplaceAll(at, ".", "dot"), strings.ReplaceAll(value, ".", "dot"), rot13(value)} {
			if form != value && try(string(folds(form))) {
				return o
			}
		}
	}
	return o
}

// spellings returns a value as it is, without blanks, in lower and in upper case, each once: case and blanks change what
// encodes it.
func spellings(value string) (all []string) {
	packed := strings.Join(strings.Fields(value), "")
	for _, s := range []string{value, packed, strings.ToLower(packed), strings.ToUpper(packed)} {
		known := false
		for _, before := range all {
			known = known || before == s
		}
		if !known {
			all = append(all, s)
		}
	}
	return all
}

// fold64 returns the folded encoding of a value that begins after shift other bytes, without the characters that depend on
// what is around it. A character encodes that many bits.
func fold64(encode func([]byte) string, value []byte, shift, bits int) string {
	form := encode(append(make([]byte, shift, shift+len(value)), value...))
	from := (8*shift + bits - 1) / bits
	to := 8 * (shift + len(value)) / bits
	if from >= to {
		return ""
	}
	return string(folds(form[from:to]))
}

// folds returns ASCII letters and digits in lower case, without everything else, as folded.Text does.
func folds(s string) []byte {
	out := make([]byte, 0, len(s))
	for _, c := range []byte(strings.ToLower(s)) {
		if 'a' <= c && c <= 'z' || '0' <= c && c <= '9' {
			out = append(out, c)
		}
	}
	return out
}

func rot13(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z':
			return 'a' + (r-'a'+13)%26
		case 'A' <= r && r <= 'Z':
			return 'A' + (r-'A'+13)%26
		}
		return r
	}, s)
}
