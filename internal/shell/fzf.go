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
	rest := w.text
	for rest != "" {
		_, after, ok := strings.Cut(rest, ":")
		if !ok {
			return "the binding " + probes.Shown(rest)
		}
		for {
			n := strings.IndexFunc(after, func(c rune) bool { return c != '-' && (c < 'a' || c > 'z') })
			if n < 0 {
				n = len(after)
			}
			action, behind := after[:n], after[n:]
			argument, has := "", false
			if behind != "" && behind[0] != ',' && behind[0] != '+' {
				has = true
				if behind[0] == ':' {
					argument, behind = behind[1:], ""
				} else {
					closing := strings.IndexByte("([{<", behind[0])
					end := string(behind[0])
					if closing >= 0 {
						end = string(")]}>"[closing])
					}
					at := strings.LastIndex(behind[1:], end) // nothing behind it may be a second action, or it is read with the command
					if next := strings.Index(behind[1:], end+","); next >= 0 {
						at = next
					}
					if next := strings.Index(behind[1:], end+"+"); next >= 0 && (at < 0 || next < at) {
						at = next
					}
					if at < 0 {
						return "the binding " + probes.Shown(after)
					}
					argument, behind = behind[1:1+at], behind[2+at:]
				}
			}
			if why := r.action(action, argument, has, s); why != "" {
				return why
			}
			if behind == "" {
				return ""
			}
			if after = behind[1:]; behind[0] == ',' {
				rest = after
				break
			}
			if behind[0] != '+' {
				return "the binding " + probes.Shown(behind)
			}
		}
	}
	return ""
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
