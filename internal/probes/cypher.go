package probes

import (
	"slices"
	"strings"
)

var (
	cypherActs     = sets["cypherActs"]
	cypherBegins   = sets["cypherBegins"]
	cypherCalls    = lists["cypherCalls"]
	cypherFamilies = lists["cypherFamilies"]
)

// Cypher judges a query of a graph. It is a read if no word begins a clause that writes, and it calls only procedures and
// functions of a family that reads.
func Cypher(text string) Verdict {
	if why := Plain(text); why != "" {
		return Harmful(why)
	}
	tokens, why := cypherTokens(strings.TrimRight(text, "; \n\t"))
	if why != "" {
		return Harmful(why)
	}
	if len(tokens) == 0 {
		return Harmful("there is no query")
	}
	if first := tokens[0]; !cypherBegins[strings.ToUpper(first)] {
		return Harmful(Shown(first) + " does not begin a query that reads")
	}
	depth := 0
	for i, t := range tokens {
		switch t {
		case ";":
			return Harmful("a second query")
		case "(", "[", "{":
			depth++
		case ")", "]", "}":
			if depth--; depth < 0 {
				return Harmful("a bracket that closes nothing")
			}
		default:
			if why := cypherWord(tokens, i); why != "" {
				return Harmful(why)
			}
		}
	}
	if depth > 0 {
		return Harmful("a bracket that is not closed")
	}
	return Harmless("a query of Cypher")
}

// cypherWord returns what makes a word more than a part of a read. Behind a point or a colon it is a name, and before a
// colon in a map.
func cypherWord(tokens []string, i int) string {
	at := func(i int) string {
		if i < 0 || i >= len(tokens) {
			return ""
		}
		return tokens[i]
	}
	t, before, next := tokens[i], at(i-1), at(i+1)
	word := strings.ToUpper(t)
	switch {
	case !sqlPart(t[0]):
		if t[0] == '`' && next == "(" {
			return "what is called by a quoted name"
		}
		return ""
	case before == "." || before == ":" || before == "$":
		if next != "(" || before != "." {
			return ""
		}
		return cypherCalled(tokens, i)
	case next == ":" && (before == "{" || before == ","):
		return ""
	case word == "CALL":
		if next == "{" || next == "(" {
			return ""
		}
		name := ""
		for n := i + 1; at(n) != "" && (at(n) == "." || sqlPart(at(n)[0])); n++ {
			if name != "" && at(n) != "." && !strings.HasSuffix(name, ".") {
				break
			}
			name += strings.ToLower(at(n))
		}
		if !slices.ContainsFunc(cypherCalls, func(known string) bool {
			family, isFamily := strings.CutSuffix(known, "*")
			return name == known || isFamily && strings.HasPrefix(name, family)
		}) {
			return "the procedure " + Shown(name)
		}
	case cypherActs[word]:
		return "the word " + Shown(t)
	}
	return ""
}

// cypherCalled returns what is wrong with a function of a family that is called, whose last name is at i.
func cypherCalled(tokens []string, i int) string {
	from := i
	for from >= 2 && tokens[from-1] == "." && sqlPart(tokens[from-2][0]) {
		from -= 2
	}
	name := strings.ToLower(strings.Join(tokens[from:i+1], ""))
	if from > 0 && strings.EqualFold(tokens[from-1], "CALL") { // a procedure, which is judged as one
		return ""
	}
	if slices.ContainsFunc(cypherFamilies, func(family string) bool { return strings.HasPrefix(name, family) }) {
		return ""
	}
	return "the function " + Shown(name)
}

// cypherTokens cuts a query into words, quoted names, whose first letter is a backtick, and signs. Quoted texts are left
// out, and so are comments.
func cypherTokens(text string) (tokens []string, why string) {
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == ' ' || c == '\t' || c == '\n':
			i++
		case strings.HasPrefix(text[i:], "//"):
			i += strings.IndexByte(text[i:]+"\n", '\n')
		case strings.HasPrefix(text[i:], "/*"):
			n := strings.Index(text[i+2:], "*/")
			if n < 0 {
				return nil, "a comment without an end"
			}
			i += n + 4
		case c == '"' || c == '\'':
			n := quotedEnd(text[i:])
			if n == 0 {
				return nil, "a quote without an end"
			}
			tokens = append(tokens, `"`)
			i += n
		case c == '`':
			n := quotedEnd(text[i:])
			if n == 0 || strings.Contains(text[i:i+n], `\`) {
				return nil, "a quoted name that may end elsewhere"
			}
			tokens = append(tokens, text[i:i+n])
			i += n
		case sqlPart(c):
			n := partsOf(text[i:])
			tokens = append(tokens, text[i:i+n])
			i += n
		case c < 0x80 && c != '\\':
			tokens = append(tokens, text[i:i+1])
			i++
		default:
			return nil, "the character " + Shown(string([]rune(text[i:])[0]))
		}
	}
	return tokens, ""
}
