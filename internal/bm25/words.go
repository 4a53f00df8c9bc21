package bm25

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Words yields the words of a text or of an identifier in lower case: its runs,
// and of a run of several parts the parts as well, so that "GitHub" is found by
// "github" and "listIssues" by "issues".
func Words(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for run := range Runs(text) {
			for part := range Parts(run) {
				if len(part) < len(run) && !yield(part) {
					return
				}
			}
			if !yield(strings.ToLower(run)) {
				return
			}
		}
	}
}

// Runs yields the runs of letters and digits of a text.
func Runs(text string) iter.Seq[string] {
	return strings.FieldsFuncSeq(text, func(r rune) bool { return !wordy(r) })
}

func wordy(r rune) bool {
	if r < utf8.RuneSelf {
		return lower(byte(r)) || upper(byte(r)) || '0' <= r && r <= '9'
	}
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.Mn, r)
}

// Parts yields the parts of a run in lower case, which end where camelCase or an
// acronym does; most have one.
func Parts(run string) iter.Seq[string] {
	return func(yield func(string) bool) {
		from := 0
		for i := 1; i < len(run); i++ {
			if seam(run, i) {
				if !yield(strings.ToLower(run[from:i])) {
					return
				}
				from = i
			}
		}
		yield(strings.ToLower(run[from:]))
	}
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
