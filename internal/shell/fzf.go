package shell

import (
	"slices"
	"strings"

	"github.com/fairlead-go/fairlead/internal/probes"
)

// fzfCommand judges the commands that fzf runs: of --preview, and of the actions of --bind.
func fzfCommand(r *reader, _ *row, p parsed, s *scope) string {
	for _, o := range p.options {
		if !o.has {
			continue
		}
		why := ""
		switch o.name {
		case "--preview":
			why = r.filled(o.value, s)
		case "--bind":
			why = r.bindings(o.value, s)
		}
		if why != "" {
			return o.name + " and " + why
		}
	}
	return ""
}

// filled judges a command with marks such as {} and {2}, which are replaced by quoted text.
func (r *reader) filled(w word, s *scope) string {
	if !w.known() {
		return "a command that is not known"
	}
	if w.text == "" {
		return ""
	}
	var b strings.Builder
	rest := w.text
	for {
		open := strings.IndexByte(rest, '{')
		if open < 0 {
			break
		}
		end := strings.IndexByte(rest[open:], '}')
		if end < 0 || strings.Trim(rest[open+1:open+end], "0123456789.,+-fnqsr") != "" {
			b.WriteString(rest[:open+1])
			rest = rest[open+1:]
			continue
		}
		b.WriteString(rest[:open])
		if strings.Contains(rest[open:open+end], "r") { // not quoted
			return "a mark without quotes"
		}
		b.WriteString(`"$FZF_FILLED"`)
		rest = rest[open+end+1:]
	}
	b.WriteString(rest)
	return r.script(word{text: b.String()}, s)
}

// fzfActs are the actions that run a command and show what it prints. Those that hand it the terminal are refused, and so is
// transform, which carries out what the command prints.
var fzfActs = strings.Fields(`reload reload-sync preview transform-query transform-prompt transform-header
	transform-footer transform-preview-label transform-border-label transform-list-label transform-input-label transform-header-label transform-ghost
	transform-nth transform-pointer transform-search bg-transform-query bg-transform-header bg-transform-prompt`)

// fzfShows are the actions with an argument that is a text, and no command.
var fzfShows = strings.Fields(`change-query change-prompt change-header change-footer change-preview-window change-preview-label change-border-label
	change-list-label change-input-label change-header-label change-multi change-nth change-ghost change-pointer pos put rebind unbind toggle-bind print search trigger
	show-header hide-header change-preview-window offset-up offset-down`)

// bindings judges "key:action(argument)+action,key:action:argument to the end".
func (r *reader) bindings(w word, s *scope) string {
	if !w.known() {
		return "a binding that is not known"
	}
	for rest := w.text; rest != ""; {
		_, actions, ok := strings.Cut(rest, ":")
		if !ok {
			return "the binding " + probes.Shown(rest)
		}
		var why string
		if rest, why = r.actions(actions, s); why != "" {
			return why
		}
	}
	return ""
}

// actions judges the actions of one key, and returns the bindings of the keys behind it.
func (r *reader) actions(text string, s *scope) (rest, why string) {
	for {
		n := strings.IndexFunc(text, func(c rune) bool { return c != '-' && (c < 'a' || c > 'z') })
		if n < 0 {
			n = len(text)
		}
		argument, behind := "", text[n:]
		has := behind != "" && behind[0] != ',' && behind[0] != '+'
		if has {
			var ok bool
			if argument, behind, ok = fzfArgument(behind); !ok {
				return "", "the binding " + probes.Shown(text)
			}
		}
		if why := r.action(text[:n], argument, has, s); why != "" {
			return "", why
		}
		if behind == "" {
			return "", ""
		}
		switch text = behind[1:]; behind[0] {
		case '+':
		case ',':
			return text, ""
		default:
			return "", "the binding " + probes.Shown(behind)
		}
	}
}

// fzfArgument cuts off the argument of an action, which is all that is behind a colon, or what is between two brackets or
// two signs that are alike. It reports false if the closing one is missing.
func fzfArgument(text string) (argument, behind string, ok bool) {
	if text[0] == ':' {
		return text[1:], "", true
	}
	end := string(text[0])
	if bracket := strings.IndexByte("([{<", text[0]); bracket >= 0 {
		end = string(")]}>"[bracket])
	}
	text = text[1:]
	at := strings.LastIndex(text, end) // nothing behind it may be a second action, or it is read with the command
	if next := strings.Index(text, end+","); next >= 0 {
		at = next
	}
	if next := strings.Index(text, end+"+"); next >= 0 && (at < 0 || next < at) {
		at = next
	}
	if at < 0 {
		return "", "", false
	}
	return text[:at], text[at+1:], true
}

func (r *reader) action(action, argument string, has bool, s *scope) string {
	switch {
	case action == "execute" || action == "execute-silent" || action == "become" || action == "transform" || action == "bg-transform":
		return "the action " + action
	case slices.Contains(fzfActs, action):
		if !has {
			return ""
		}
		return r.filled(word{text: strings.ReplaceAll(argument, `\ `, " ")}, s)
	case action == "change-preview":
		return r.filled(word{text: argument}, s)
	case action == "":
		return "a binding without an action"
	case has && !slices.Contains(fzfShows, action):
		return "the action " + probes.Shown(action)
	}
	return ""
}
