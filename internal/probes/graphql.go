package probes

import (
	"encoding/json"
	"strings"

	"github.com/fairlead-go/fairlead/internal/strictjson"
)

// GraphQL judges a document, or the body of a request with one. It is a read if all of its operations are queries, and no
// field at their top has the name of a deed.
func GraphQL(text string) Verdict {
	if why := Plain(strings.ReplaceAll(text, "\r\n", "\n")); why != "" {
		return Harmful(why)
	}
	if why, ok := graphBody(text); ok {
		if why != "" {
			return Harmful(why)
		}
		return Harmless("a body with queries only")
	}
	if why := graphDocument(text); why != "" {
		return Harmful(why)
	}
	return Harmless("a document with queries only")
}

// graphBody judges the JSON that GraphQL over HTTP sends: one object, or a list of them. It reports false for what is no
// JSON.
func graphBody(text string) (why string, ok bool) {
	raw := []byte(text)
	if !json.Valid(raw) {
		return "", false
	}
	var all []json.RawMessage
	if json.Unmarshal(raw, &all) != nil {
		all = []json.RawMessage{raw}
	}
	if len(all) == 0 {
		return "a body without one document", true
	}
	for _, body := range all {
		if why := graphRequest(body); why != "" {
			return why, true
		}
	}
	return "", true
}

// graphRequest judges one object of a body. A member that is given twice, or in another case, leaves open which counts.
func graphRequest(body json.RawMessage) string {
	members, ok := strictjson.Members(body)
	if !ok {
		return "JSON that holds no document"
	}
	document := ""
	for _, m := range members {
		switch m.Name {
		case "query":
			if document != "" || json.Unmarshal(m.Value, &document) != nil || document == "" {
				return "a body without one document"
			}
		case "variables", "operationName":
		default:
			return "the member " + Shown(m.Name) + " of a body"
		}
	}
	if document == "" {
		return "a body without one document"
	}
	return graphDocument(document)
}

// graphDocument returns what in a document is more than queries.
func graphDocument(text string) string {
	tokens, why := graphTokens(text)
	if why != "" {
		return why
	}
	depth, starts, queries := 0, true, false
	fragment := false
	for i, t := range tokens {
		switch t {
		case "{", "(", "[":
			if starts && t != "{" {
				return "a document that does not begin with an operation"
			}
			queries = queries || depth == 0 && t == "{" && !fragment
			depth++
			starts = false
		case "}", ")", "]":
			if depth--; depth < 0 {
				return "a bracket that closes nothing"
			}
			if depth == 0 && t == "}" {
				starts, fragment = true, false
			}
		default:
			if starts {
				if t != "query" && t != "fragment" {
					return "the operation " + Shown(t)
				}
				fragment, starts = t == "fragment", false
				continue
			}
			if depth == 1 && !fragment && graphDeed(tokens, i) {
				return "the field " + Shown(t)
			}
		}
	}
	switch {
	case depth > 0 || !starts:
		return "a document that is not whole"
	case !queries:
		return "there is no query"
	}
	return ""
}

// graphDeed reports whether a token is a field with arguments whose name begins with a deed: deleteUser(id: 1).
func graphDeed(tokens []string, i int) bool {
	if i+1 >= len(tokens) || tokens[i+1] != "(" {
		return false
	}
	words := nameWord.FindAllString(tokens[i], -1)
	return len(words) > 0 && in("graphDeeds", strings.ToLower(words[0]))
}

// graphTokens cuts a document into names and signs. Quoted texts and comments are left out.
func graphTokens(text string) (tokens []string, why string) {
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == ',':
			i++
		case c == '#':
			i += strings.IndexAny(text[i:]+"\n", "\r\n")
		case strings.HasPrefix(text[i:], `"""`):
			n := blockEnd(text[i:])
			if n == 0 {
				return nil, "a quote without an end"
			}
			i += n
		case c == '"':
			n := quotedEnd(text[i:])
			if n == 0 || strings.ContainsAny(text[i:i+n], "\r\n") {
				return nil, "a quote without an end"
			}
			i += n
		case sqlPart(c):
			n := partsOf(text[i:])
			tokens = append(tokens, text[i:i+n])
			i += n
		case strings.IndexByte("{}()[]", c) >= 0:
			tokens = append(tokens, text[i:i+1])
			i++
		case strings.IndexByte("!$&.:=@|-+", c) >= 0:
			i++
		default:
			return nil, "the character " + Shown(string([]rune(text[i:])[0]))
		}
	}
	return tokens, ""
}

// blockEnd returns the length of the block string that s begins with, 0 without an end.
func blockEnd(s string) int {
	const quotes = `"""`
	for n := len(quotes); n < len(s); n++ {
		switch {
		case strings.HasPrefix(s[n:], `\"""`):
			n += len(quotes)
		case strings.HasPrefix(s[n:], quotes):
			return n + len(quotes)
		}
	}
	return 0
}
