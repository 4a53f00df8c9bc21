package shell

import (
	"slices"
	"strings"
)

// jqCommand judges jq by its filter: no filter writes, but env and $ENV hold secrets, and import and include load files.
func jqCommand(_ *reader, _ *row, p parsed, _ *scope) string {
	if len(p.operands) == 0 {
		return ""
	}
	return jqFault(p.operands[0])
}

func jqFault(w word) string {
	if strings.Contains(w.text, unknown) {
		return "a filter that is not known"
	}
	if strings.Contains(w.text, "$ENV") {
		return "$ENV, which holds secrets"
	}
	for i := 0; i < len(w.text); {
		if !isWordByte(w.text[i]) {
			i++
			continue
		}
		n := i
		for n < len(w.text) && isWordByte(w.text[n]) {
			n++
		}
		name := w.text[i:n]
		field := i > 0 && (w.text[i-1] == '.' || w.text[i-1] == '"' || w.text[i-1] == '$')
		if !field && (name == "env" || name == "import" || name == "include") {
			return "the filter " + name
		}
		i = n
	}
	return ""
}

// yqCommand judges yq, whose -i and -s are not in its row, by its expression: some functions read the environment, load
// files or run commands.
func yqCommand(_ *reader, _ *row, p parsed, _ *scope) string {
	words := slices.Clone(p.operands)
	for _, o := range p.options {
		words = append(words, o.value)
	}
	for _, w := range words {
		if w.wild() {
			return "a word that is not known"
		}
		if why := yqFault(w.text); why != "" {
			return why
		}
	}
	return ""
}

func yqFault(text string) string {
	for i := 0; i < len(text); {
		if !isWordByte(text[i]) {
			i++
			continue
		}
		n := i
		for n < len(text) && isWordByte(text[n]) {
			n++
		}
		name, field := text[i:n], i > 0 && (text[i-1] == '.' || text[i-1] == '"')
		rest := strings.TrimLeft(text[n:], " ")
		if !field && (name == "envsubst" || strings.HasPrefix(rest, "(") && (name == "env" || name == "strenv" || name == "system" || strings.HasPrefix(name, "load"))) || strings.Contains(text, "$ENV") {
			return "the function " + name
		}
		i = n
	}
	return ""
}
