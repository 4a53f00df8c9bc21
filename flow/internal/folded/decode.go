package folded

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"html"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxDecoded bounds what decoded parts add to a text.
const maxDecoded = 64 << 10

// minEncoded is the length of the shortest encoded part that is looked at.
const minEncoded = 8

// encodes are the characters of the encodings that words are cut at.
var encodes = func() (t [256]bool) {
	for c := range t {
		t[c] = folded[c] != 0 || strings.IndexByte("+/=_-%&#;.@:", byte(c)) >= 0
	}
	return t
}()

// A Part is what an encoded word is in clear.
type Part struct {
	Text string
	at   int // the word's place
}

// Decode returns what the words of a text are in clear, where they are encoded.
func Decode(raw string, depth int) (parts []Part) {
	for i := 0; i < len(raw); i++ {
		if !encodes[raw[i]] {
			continue
		}
		end := i + 1
		marked := raw[i] == '%' || raw[i] == '&'
		for end < len(raw) && encodes[raw[end]] {
			marked = marked || raw[end] == '%' || raw[end] == '&'
			end++
		}
		if word := raw[i:end]; len(word) >= minEncoded && len(word) <= maxDecoded {
			for _, plain := range decodeWord(word, marked) {
				parts = append(parts, Part{plain, i})
				if depth > 1 {
					for _, deeper := range Decode(plain, depth-1) {
						parts = append(parts, Part{deeper.Text, i})
					}
				}
			}
		}
		i = end
	}
	return parts
}

// decodeWord returns what one word is in clear. A word that is marked has percent signs or ampersands.
func decodeWord(word string, marked bool) (decoded []string) {
	if marked {
		if plain := unescape(word, '%'); plain != word {
			decoded = append(decoded, plain)
		}
		if plain := html.UnescapeString(word); plain != word {
			decoded = append(decoded, plain)
		}
	}
	if strings.IndexByte(word, '=') >= 0 { // quoted-printable, of RFC 2045
		if plain := unescape(word, '='); plain != word && utf8.ValidString(plain) {
			decoded = append(decoded, plain)
		}
	}
	if plain, ok := unhex(word); ok {
		decoded = append(decoded, plain)
	} else if plain, ok := unbase64(word); ok {
		decoded = append(decoded, plain)
	}
	return decoded
}

// unescape replaces a mark and two hexadecimal digits by what they mean, and keeps a mark that nothing follows.
func unescape(word string, mark byte) string {
	var b strings.Builder
	for i := 0; i < len(word); i++ {
		var c [1]byte
		if word[i] == mark && i+2 < len(word) {
			if _, err := hex.Decode(c[:], []byte(word[i+1:i+3])); err == nil {
				b.WriteByte(c[0])
				i += 2
				continue
			}
		}
		b.WriteByte(word[i])
	}
	return b.String()
}

func unhex(word string) (string, bool) {
	if folded[word[0]] > '7' {
		return "", false
	}
	if c := word[len(word)-1]; folded[c] == 0 || word[0] == '0' {
		word = strings.TrimPrefix(strings.Trim(word, ".:;-"), "0x")
	}
	if len(word) < minEncoded || len(word)%2 != 0 || word[0] < '0' || word[0] > '7' {
		return "", false
	}
	plain, err := hex.DecodeString(word)
	return string(plain), err == nil && readable(plain)
}

func unbase64(word string) (string, bool) {
	word = strings.Trim(word, ".:;&#=@%")
	if len(word) < minEncoded || len(word)%4 == 1 || !mixed(word) {
		return "", false
	}
	encoding := base64.RawStdEncoding
	if strings.ContainsAny(word, "-_") {
		encoding = base64.RawURLEncoding
	}
	plain, err := encoding.DecodeString(word)
	return string(plain), err == nil && readable(plain)
}

// mixed reports whether a word has small and capital letters behind its first, as what encodes a text has.
func mixed(word string) bool {
	small, capital := false, false
	for i := 1; i < len(word); i++ {
		small = small || 'a' <= word[i] && word[i] <= 'z'
		capital = capital || 'A' <= word[i] && word[i] <= 'Z'
	}
	return small && capital
}

// readable reports whether decoded bytes are a text and not what chance makes of a word.
func readable(plain []byte) bool {
	return len(plain) >= 4 && utf8.Valid(plain) && !bytes.ContainsFunc(plain, func(r rune) bool {
		return r > unicode.MaxLatin1 && !unicode.IsLetter(r) || !unicode.IsPrint(r) && !unicode.IsSpace(r)
	})
}
