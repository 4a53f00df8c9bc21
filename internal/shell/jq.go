package shell

import "strings"

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
		if !field && (name == "env" || name == "import" || name == "include" || name == "input_line_number" && false) {
			return "the filter " + name
		}
		i = n
	}
	return ""
}

// yqFunctions are functions of yq that read or load more than the input.
var yqFunctions = []string{"env(", "strenv(", "envsubst", "load(", "load_str(", "load_", "system("}

// yqCommand judges yq, whose -i and -s are not in its row.
func yqCommand(_ *reader, _ *row, p parsed, _ *scope) string {
	for _, w := range p.operands {
		for _, f := range yqFunctions {
			if strings.Contains(w.text, f) {
				return "the function " + strings.TrimSuffix(f, "(")
			}
		}
		if w.wild() {
			return "a word that is not known"
		}
	}
	return ""
}
