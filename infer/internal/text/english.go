package text

import "strings"

// Ending returns what the last letters of an unknown word tell.
func Ending(word string) Flag {
	switch {
	case endsIn(word, "ly"):
		return LikeThis
	case endsIn(word, "ate", "ify", "ize", "ise"):
		return Verbal
	case endsIn(word, "ion", "ent", "ing"):
		return Doing
	case endsIn(word, "s") && !endsIn(word, "ss"):
		return Plural
	}
	return 0
}

// Inflect adds a regular ending: delete, deletes, deleted; copy, copies; stop,
// stopped; search, searches.
func Inflect(verb, ending string) string {
	last := verb[len(verb)-1]
	switch {
	case last == 'y' && len(verb) > 1 && !vowel(verb[len(verb)-2]) && ending != "ing":
		return verb[:len(verb)-1] + "ie" + ending[len(ending)-1:]
	case ending == "s":
		if endsIn(verb, "s", "x", "sh", "ch", "z") {
			return verb + "es"
		}
		return verb + "s"
	case last == 'e' && ending == "ed":
		return verb + "d"
	case last == 'e' && ending == "ing" && !strings.HasSuffix(verb, "ee"):
		return verb[:len(verb)-1] + "ing"
	case doubles(verb):
		return verb + string(last) + ending
	}
	return verb + ending
}

// doubles reports whether the last letter is written twice: stop, drag, reset,
// submit; not open, visit, show.
func doubles(verb string) bool {
	n := len(verb)
	if n < 3 || strings.IndexByte("aeiouwxy", verb[n-1]) >= 0 || !vowel(verb[n-2]) || vowel(verb[n-3]) {
		return false
	}
	return !endsIn(verb, "er", "en", "el", "on", "or", "isit", "dit", "ain")
}

func endsIn(text string, endings ...string) bool {
	for _, e := range endings {
		if strings.HasSuffix(text, e) {
			return true
		}
	}
	return false
}

func vowel(c byte) bool { return strings.IndexByte("aeiou", c) >= 0 }
