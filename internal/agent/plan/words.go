package plan

import (
	"errors"
	"strings"
	"unicode"
)

// SplitWords splits a line as a shell would: at blanks, save those in quotes or
// behind a backslash. Quotes may stand inside a word.
func SplitWords(line string) ([]string, error) {
	var words []string
	var word strings.Builder
	var quote rune
	open, escaped := false, false
	for _, r := range line {
		switch {
		case escaped:
			word.WriteRune(r)
			escaped = false
		case r == '\\' && quote != '\'':
			escaped, open = true, true
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '"' || r == '\''):
			quote, open = r, true
		case quote == 0 && unicode.IsSpace(r):
			if open {
				words = append(words, word.String())
				word.Reset()
				open = false
			}
		default:
			word.WriteRune(r)
			open = true
		}
	}
	if quote != 0 || escaped {
		return nil, errors.New("a quote is not closed; close it, or write \\\" for a quote itself")
	}
	if open {
		words = append(words, word.String())
	}
	return words, nil
}
