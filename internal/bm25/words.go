package bm25

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Words yields the words of a text or identifier in lower case: its runs and the parts of each run, so that
// "GitHub" is found by "github" and "listIssues" by "issues".
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

// Parts yields the parts of a run in lower case, which end where camelCase or an acronym does; most have one.
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

// seam reports whether a capital at i begins a part: after a small letter or a digit, or before a small letter
// that follows an acronym (HTTPServer), except a plural s (URLs).
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

// Stem removes from a word in lower case the endings of inflection, and those that make a noun of a verb:
// deletes, deleted, deleting and deletion have one stem.
func Stem(word string) string {
	if len(word) < 4 || strings.ContainsAny(word, "0123456789") {
		return word
	}
	w := singular(word)
	switch {
	case strings.HasSuffix(w, "ied") && len(w) > 4:
		w = w[:len(w)-2]
	case ends(w, "ing", 3) && vowels(w[:len(w)-3]):
		w = undouble(w[:len(w)-3])
	case ends(w, "ed", 3) && !strings.HasSuffix(w, "eed") && vowels(w[:len(w)-2]):
		w = undouble(w[:len(w)-2])
	case ends(w, "tion", 2), ends(w, "sion", 3):
		w = w[:len(w)-3]
	case ends(w, "ment", 5):
		w = w[:len(w)-4]
	}
	if ends(w, "e", 3) {
		w = w[:len(w)-1]
	}
	if ends(w, "at", 5) { // migrate, migration; document, documentation
		w = w[:len(w)-2]
	}
	if strings.HasSuffix(w, "y") && len(w) > 3 {
		w = w[:len(w)-1] + "i"
	}
	return w
}

// ends reports whether a word has the ending behind at least n other bytes.
func ends(w, suffix string, n int) bool {
	return len(w) >= len(suffix)+n && strings.HasSuffix(w, suffix)
}

// singular returns a word without the ending of a plural or of a third person.
func singular(w string) string {
	switch {
	case w == "news", !strings.HasSuffix(w, "s"), strings.HasSuffix(w, "ss"), strings.HasSuffix(w, "us"), strings.HasSuffix(w, "is"):
		return w
	case ends(w, "ies", 2):
		return w[:len(w)-2]
	case ends(w, "sses", 1), ends(w, "ches", 2), ends(w, "shes", 2), ends(w, "xes", 1), ends(w, "zzes", 1):
		return w[:len(w)-2]
	}
	return w[:len(w)-1]
}

// undouble undoes what an ending doubled: stopping, but not calling.
func undouble(w string) string {
	n := len(w)
	if n > 3 && w[n-1] == w[n-2] && !strings.ContainsRune("lsz", rune(w[n-1])) {
		return w[:n-1]
	}
	return w
}

func vowels(w string) bool { return strings.ContainsAny(w, "aeiouy") }
