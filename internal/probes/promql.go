package probes

import "strings"

var promKeywords = sets["promKeywords"]

// PromQL judges a query of Prometheus, whose language only reads. Whether a text is one is judged by its words: two never
// follow each other without one of a few keywords, so that no statement of another language passes.
func PromQL(text string) Verdict {
	if why := Plain(text); why != "" {
		return Harmful(why)
	}
	if why := onlyWords(text, "#", promKeywords, nil); why != "" {
		return Harmful(why)
	}
	return Harmless("a query of PromQL")
}

var (
	jqKeywords = sets["jqKeywords"]
	jqOutside  = sets["jqOutside"]
)

// JQ judges a filter of jq, whose language only computes, but for what reads the environment and further files.
func JQ(text string) Verdict {
	if why := Plain(text); why != "" {
		return Harmful(why)
	}
	if why := onlyWords(text, "#", jqKeywords, jqOutside); why != "" {
		return Harmful(why)
	}
	return Harmless("a filter of jq")
}

// onlyWords returns why a text is not in a language of expressions: two words follow each other and neither is a keyword, a
// bracket is not closed, or a word is one of those that reach outside, in quoted texts too.
func onlyWords(text, comment string, keywords, outside map[string]bool) string {
	var open []byte
	last, some := "", false
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == ' ' || c == '\t' || c == '\n':
			i++
		case strings.HasPrefix(text[i:], comment):
			i += strings.IndexByte(text[i:]+"\n", '\n')
		case c == '"' || c == '\'' || c == '`':
			n := quotedEnd(text[i:])
			if n == 0 {
				return "a quote without an end"
			}
			for word := range wordsOf(text[i : i+n]) {
				if outside[word] {
					return "the word " + Shown(word)
				}
			}
			i, last, some = i+n, "", true
		case sqlPart(c) || c == '$':
			n := 1
			for i+n < len(text) && (sqlPart(text[i+n]) || text[i+n] == ':' && keywords["offset"]) {
				n++
			}
			word := text[i : i+n]
			switch {
			case outside[strings.TrimPrefix(word, "$")]:
				return "the word " + Shown(word)
			case last != "" && !keywords[strings.ToLower(last)] && !keywords[strings.ToLower(word)]:
				return "the words " + Shown(last+" "+word)
			}
			i, last, some = i+n, word, true
		case c == ';' && keywords["offset"]:
			return "the sign ;"
		case strings.IndexByte("([{", c) >= 0:
			open, last = append(open, c), ""
			i++
		case strings.IndexByte(")]}", c) >= 0:
			if len(open) == 0 || !pairs(open[len(open)-1], c) {
				return "a bracket that closes nothing"
			}
			open, last, some = open[:len(open)-1], "", true
			i++
		case c < 0x80:
			i, last, some = i+1, "", true
		default:
			return "the character " + Shown(string([]rune(text[i:])[0]))
		}
	}
	switch {
	case len(open) > 0:
		return "a bracket that is not closed"
	case !some:
		return "there is no expression"
	}
	return ""
}

// quotedEnd returns the length of the quoted text that s begins with, 0 without an end. A backslash escapes, but not
// between backticks.
func quotedEnd(s string) int {
	for n := 1; n < len(s); n++ {
		switch {
		case s[n] == '\\' && s[0] != '`':
			n++
		case s[n] == s[0]:
			return n + 1
		}
	}
	return 0
}

// wordsOf returns the words of a text.
func wordsOf(text string) func(yield func(string) bool) {
	return strings.FieldsFuncSeq(text, func(r rune) bool { return r >= 0x80 || !sqlPart(byte(r)) })
}

// Regex judges a regular expression and Glob a pattern of names: both only match.
func Regex(text string) Verdict { return onlyMatches(text, "a regular expression") }

// Glob judges a pattern of names.
func Glob(text string) Verdict { return onlyMatches(text, "a pattern of names") }

func onlyMatches(text, what string) Verdict {
	if why := Plain(text); why != "" {
		return Harmful(why)
	}
	return Harmless(what)
}

// Cron judges a schedule: whatever it is, something is carried out later.
func Cron(string) Verdict { return Harmful("a schedule, by which something is carried out later") }

// Template judges a template: engines call functions of the host from it.
func Template(string) Verdict { return Harmful("a template, which may call what its engine offers") }

// pairs reports whether a bracket is closed by another.
func pairs(open, end byte) bool {
	return open == '(' && end == ')' || open == '[' && end == ']' || open == '{' && end == '}'
}
