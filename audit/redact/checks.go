package redact

// The checks tell a match of a shape from what only looks like it.

import (
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/fairlead-go/fairlead/internal/lazyregexp"
)

// public ends the name of a value that may be read, whatever it looks like.
var public = lazyregexp.New(`(?i)(?:commit|digest|etag|hash|(?:^|[ _.\-])id|image|ref|revision|sha\d*|tag|uuid|version)[ \t]*$`)

// opaque reports whether letters and digits take turns in a long run, as in no word, date or version.
func opaque(value string) bool {
	for word := range strings.FieldsFuncSeq(value, func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsDigit(c) }) {
		turns, last := 0, ' '
		for i, c := range word {
			if i > 0 && unicode.IsDigit(c) != unicode.IsDigit(last) {
				turns++
			}
			last = c
		}
		if turns >= 2 && utf8.RuneCountInString(word) >= 8 {
			return true
		}
	}
	return false
}

// luhn reports whether a number has the check digit of payment cards (ISO/IEC 7812).
func luhn(number string) bool {
	sum, second := 0, false
	for i := len(number) - 1; i >= 0; i-- {
		d := int(number[i]) - '0'
		if d < 0 || d > 9 {
			continue
		}
		if second {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		sum, second = sum+d, !second
	}
	return sum%10 == 0
}

// mod97 reports whether the text has the checksum of an IBAN (ISO 13616).
func mod97(account string) bool {
	account = strings.ReplaceAll(account, " ", "")
	if len(account) < 15 || len(account) > 34 {
		return false
	}
	rest := 0
	for _, c := range account[4:] + account[:4] {
		if c >= 'A' { // which stands for two digits
			rest = (100*rest + int(c-'A') + 10) % 97
		} else {
			rest = (10*rest + int(c-'0')) % 97
		}
	}
	return rest == 1
}

// random reports whether a long run of letters of both cases and digits is random. Hexadecimal digests and UUIDs have
// one case.
func random(run string) bool {
	const entropy = 4.0 // bits a byte; a word of that length has less
	mixed := strings.ContainsAny(run, "0123456789") && strings.ToLower(run) != run && strings.ToUpper(run) != run
	return mixed && bits(run) >= entropy
}

// bits returns the entropy of a run in bits for each byte.
func bits(run string) float64 {
	var count [256]float64
	for i := range len(run) {
		count[run[i]]++
	}
	sum := 0.0
	for _, n := range count {
		if n > 0 {
			p := n / float64(len(run))
			sum -= p * math.Log2(p)
		}
	}
	return sum
}
