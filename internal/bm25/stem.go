package bm25

import "strings"

// Stem removes the endings of English inflection from a word in lower case, and those that
// make a noun of a verb: deletes, deleted, deleting and deletion have one stem. Two words
// of different meaning should seldom share one. Other words are returned as they are.
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

// ends reports whether w ends in suffix and has at least n letters before it.
func ends(w, suffix string, n int) bool {
	return len(w) >= len(suffix)+n && strings.HasSuffix(w, suffix)
}

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
