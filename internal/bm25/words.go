package bm25

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Words yields the words of a text or of an identifier in lower case: runs of
// letters and digits, parted where camelCase or an acronym ends. What was parted
// is yielded as a whole too, so that "GitHub" is found by "github".
func Words(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for len(text) > 0 {
			start := strings.IndexFunc(text, wordy)
			if start < 0 {
				return
			}
			text = text[start:]
			end := strings.IndexFunc(text, func(r rune) bool { return !wordy(r) })
			if end < 0 {
				end = len(text)
			}
			if !parts(text[:end], yield) {
				return
			}
			text = text[end:]
		}
	}
}

func wordy(r rune) bool {
	return r < utf8.RuneSelf && ('a' <= r && r <= 'z' || '0' <= r && r <= '9' || 'A' <= r && r <= 'Z') ||
		r >= utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.Mn, r))
}

// parts yields the parts of one run, and the whole where there are several.
func parts(run string, yield func(string) bool) bool {
	from := 0
	for i := 1; i < len(run); i++ {
		if !seam(run, i) {
			continue
		}
		if !yield(strings.ToLower(run[from:i])) {
			return false
		}
		from = i
	}
	if from > 0 && !yield(strings.ToLower(run[from:])) {
		return false
	}
	return yield(strings.ToLower(run))
}

// seam reports whether a capital at i begins a part: after a small letter or a
// digit, or before a small letter that follows an acronym (HTTPServer). A plural
// s ends an acronym (URLs) and begins nothing.
func seam(run string, i int) bool {
	if !upper(run[i]) {
		return false
	}
	if !upper(run[i-1]) {
		return true
	}
	return i+1 < len(run) && lower(run[i+1]) && (run[i+1] != 's' || i+2 < len(run) && lower(run[i+2]))
}

func upper(c byte) bool { return 'A' <= c && c <= 'Z' }
func lower(c byte) bool { return 'a' <= c && c <= 'z' }
