package shell

import (
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"
)

// A value is what is known of a variable, or of what a substitution gives.
type value struct {
	text   string // with unknown for each part that is not known
	dash   bool   // an unknown beginning may be a dash
	single bool   // it has no blank and no pattern
	number bool   // it is an integer
	list   bool   // it may be several words or none, even in quotes: "$@"
	inside bool   // it is a path below the roots of what is read
	assoc  bool   // it is an array whose keys are texts, and no expressions
}

var anyValue = value{text: unknown, dash: true}

func (v value) isKnown() bool { return !strings.Contains(v.text, unknown) && !v.list }

// join returns what is known of a variable that has one of two values.
func join(a, b value) value {
	if a == b {
		return a
	}
	return value{
		text: unknown, dash: a.begins() || b.begins(), single: a.isSingle() && b.isSingle(),
		number: a.isNumber() && b.isNumber(), list: a.list || b.list, assoc: a.assoc && b.assoc,
	}
}

func (v value) begins() bool {
	return v.dash || strings.HasPrefix(v.text, "-") || v.text == "" || strings.ContainsAny(v.text, " \t\n*?[") && strings.Contains(v.text, "-")
}
func (v value) isSingle() bool {
	return v.single || v.isKnown() && v.text != "" && !strings.ContainsAny(v.text, " \t\n*?[\\")
}
func (v value) isNumber() bool { return v.number || v.isKnown() && isNumber(v.text) }

func isNumber(text string) bool {
	return text != "" && len(text) < 19 && strings.Trim(text, "0123456789") == ""
}

// A scope has the variables at one point of the command line.
type scope struct {
	vars   map[string]value
	exempt bool // a test only looks whether a variable is there

	folders []string // in which a command may run; nil if that is not known, or does not matter
	then    []string // the same behind a cd that did not fail
	moved   bool     // the command was told another folder, below a root
}

// elsewhere returns the scope of a command that was told another folder.
func (s *scope) elsewhere() *scope {
	moved := *s
	moved.moved = true
	return &moved
}

func newScope() *scope { return &scope{vars: make(map[string]value)} }

func (s *scope) clone() *scope {
	return &scope{vars: maps.Clone(s.vars), exempt: s.exempt, folders: s.folders, moved: s.moved}
}

// join takes over what a part that may not have run has assigned.
func (s *scope) join(other *scope) {
	s.folders = union(s.folders, other.folders)
	for name, theirs := range other.vars {
		s.vars[name] = join(s.get(name), theirs)
	}
	for name, ours := range s.vars {
		if _, is := other.vars[name]; !is {
			s.vars[name] = join(ours, s.initial(name))
		}
	}
}

func (s *scope) get(name string) value {
	if v, ok := s.vars[name]; ok {
		return v
	}
	return s.initial(name)
}

// initial is what is known of a variable that the text does not assign.
func (s *scope) initial(name string) value {
	switch name {
	case "HOME":
		return value{text: "~"}
	case "PWD":
		if len(s.folders) == 1 {
			return value{text: s.folders[0]}
		}
		return value{text: unknown}
	case "?", "#", "$", "!", "UID", "EUID", "PPID", "RANDOM", "LINENO", "SECONDS", "EPOCHSECONDS", "COLUMNS", "LINES", "SHLVL", "BASHPID":
		return value{text: unknown, number: true}
	case "@", "*":
		return value{text: unknown, dash: true, list: true}
	case "OLDPWD", "TMPDIR", "USER", "LOGNAME", "SHELL", "HOSTNAME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "GOPATH", "GOROOT":
		return value{text: unknown}
	}
	return anyValue
}

// forget makes the variables unknown that a loop, or a function, may assign before or again.
func (s *scope) forget(nodes ...syntax.Node) {
	if s.folders != nil && leaves(nodes...) {
		s.folders = nil
	}
	for _, node := range nodes {
		syntax.Walk(node, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.Assign:
				if n.Name != nil {
					s.widen(n.Name.Value, n)
				}
			case *syntax.WordIter:
				s.vars[n.Name.Value] = anyValue
			case *syntax.BinaryArithm:
				if assigns(n.Op) {
					s.recount(n.X)
				}
			case *syntax.UnaryArithm:
				if n.Op == syntax.Inc || n.Op == syntax.Dec {
					s.recount(n.X)
				}
			case *syntax.ParamExp:
				if n.Exp != nil && n.Param != nil && (n.Exp.Op == syntax.AssignUnset || n.Exp.Op == syntax.AssignUnsetOrNull) {
					s.vars[n.Param.Value] = anyValue
				}
			case *syntax.CallExpr:
				for _, name := range namesThatAreRead(n) {
					s.vars[name] = anyValue
				}
			}
			return true
		})
	}
}

// recount makes a variable unknown that an expression assigns. The expression gives it a number.
func (s *scope) recount(x syntax.ArithmExpr) {
	w, ok := x.(*syntax.Word)
	if !ok {
		return
	}
	if name := w.Lit(); s.get(name).isNumber() {
		s.vars[name] = value{text: unknown, number: true}
	} else {
		s.vars[name] = anyValue
	}
}

// widen keeps that a variable is a number if the assignment gives it one.
func (s *scope) widen(name string, a *syntax.Assign) {
	numeric := !a.Append && a.Array == nil && a.Index == nil && a.Value != nil && len(a.Value.Parts) == 1
	if numeric {
		switch p := a.Value.Parts[0].(type) {
		case *syntax.ArithmExp:
		case *syntax.Lit:
			numeric = isNumber(p.Value)
		default:
			numeric = false
		}
	}
	if numeric && s.get(name).isNumber() {
		s.vars[name] = value{text: unknown, number: true}
		return
	}
	s.vars[name] = anyValue
}

// namesThatAreRead returns the variables that read, mapfile or printf -v may set.
func namesThatAreRead(call *syntax.CallExpr) (names []string) {
	if len(call.Args) == 0 {
		return nil
	}
	switch call.Args[0].Lit() {
	case "read", "mapfile", "readarray", "printf", "getopts", "unset":
		for _, arg := range call.Args[1:] {
			names = append(names, arg.Lit())
		}
	}
	return append(names, "REPLY", "MAPFILE")
}

// assign judges assignments, and makes them if they are a statement. In front of a command they are its environment.
func (r *reader) assign(assigns []*syntax.Assign, s *scope, front bool) (set []variable, why string) {
	for _, a := range assigns {
		if a.Name == nil {
			return nil, "an assignment to something that is not a name"
		}
		v, why := r.assigned(a, s)
		if why != "" {
			return nil, why
		}
		name := a.Name.Value
		if !front {
			if why := assignFault(name, v); why != "" {
				return nil, why
			}
			s.vars[name] = v
			continue
		}
		set = append(set, variable{name, v})
	}
	return set, ""
}

// A variable is one of the environment of a command.
type variable struct {
	name  string
	value value
}

func (r *reader) assigned(a *syntax.Assign, s *scope) (v value, why string) {
	assoc := a.Name != nil && s.get(a.Name.Value).assoc
	if a.Index != nil {
		if why := r.key(a.Index, s, assoc); why != "" {
			return v, why
		}
	}
	if a.Array != nil {
		for _, elem := range a.Array.Elems {
			if elem.Index != nil {
				if why := r.index(elem.Index, s); why != "" {
					return v, why
				}
			}
			if elem.Value != nil {
				if _, why := r.expand(elem.Value, s); why != "" {
					return v, why
				}
			}
		}
		return value{text: unknown, dash: true, list: true}, ""
	}
	if a.Naked {
		return value{}, ""
	}
	v, why = r.text(a.Value, s)
	if a.Append || a.Index != nil {
		v = anyValue
	}
	v.assoc = assoc && a.Index != nil
	return v, why
}

// assignFault returns why a variable of the shell itself may not be set. A variable that the shell was started with is
// also in the environment of each command, so those that make commands act are refused too.
func assignFault(name string, v value) string {
	switch kindOfVariable(name, v) {
	case acts:
		return "the variable " + name + ", which makes commands act"
	case harmless:
		return ""
	}
	if strings.ToUpper(name) == name && len(name) > 1 && knownPrefix(name) {
		return "the variable " + name + ", which a command may act on"
	}
	return ""
}

// environmentFault returns why a command may not have a variable in its environment.
func environmentFault(v variable, row *row) string {
	switch kindOfVariable(v.name, v.value) {
	case acts:
		return "the variable " + v.name + ", which makes commands act"
	case harmless:
		return ""
	}
	if row != nil && row.marks["plain"] {
		return ""
	}
	return "the variable " + v.name + " in front, which the command may act on"
}

type variableKind int

const (
	other    variableKind = iota
	harmless              // it changes what is shown, or which account is read
	acts                  // it makes programs run or load something
)

// variableKinds are the lists of tables/variables.txt.
var variableKinds = sync.OnceValue(func() map[string][]string {
	text, err := tables.ReadFile("tables/variables.txt")
	if err != nil {
		panic("shell: " + err.Error())
	}
	lists := make(map[string][]string)
	for line := range strings.Lines(strings.ReplaceAll(string(text), "\n\t", " ")) {
		if name, words, ok := strings.Cut(line, ": "); ok && !strings.HasPrefix(line, "#") {
			lists[name] = append(lists[name], strings.Fields(words)...)
		}
	}
	return lists
})

// plainActs are the variables that make programs act and are named by small letters alone.
var plainActs = sync.OnceValue(func() map[string]bool {
	names := make(map[string]bool)
	for _, name := range variableKinds()["acts"] {
		if !strings.ContainsAny(name, "*_") && strings.ToLower(name) == name {
			names[name] = true
		}
	}
	return names
})

func kindOfVariable(name string, v value) variableKind {
	if strings.ToLower(name) == name && !strings.Contains(name, "_") && !plainActs()[name] { // most variables of a script
		return other
	}
	lists := variableKinds()
	for _, pattern := range lists["harmless"] {
		pattern, values, only := strings.Cut(pattern, "=")
		if ok, _ := path.Match(pattern, name); !ok {
			continue
		}
		if !only || v.isKnown() && slices.Contains(strings.Split(values, "|"), v.text) {
			return harmless
		}
	}
	if matches(lists["acts"], name) {
		return acts
	}
	return other
}

// knownPrefix reports whether a variable belongs to a program that has settings in its environment.
func knownPrefix(name string) bool { return matches(variableKinds()["programs"], name) }

func matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		ok, err := path.Match(p, name)
		return ok && err == nil
	})
}

// param returns what a parameter expansion gives.
func (r *reader) param(p *syntax.ParamExp, s *scope) (v value, why string) {
	if p.Param == nil || p.Excl || p.Width || p.IsSet || p.Flags != nil || p.NestedParam != nil || len(p.Modifiers) > 0 ||
		p.Split != 0 || p.GlobSubst != 0 || p.RcExpand != 0 || p.Names != 0 {
		return v, "a variable that is named by another, or in the way of one shell"
	}
	name := p.Param.Value
	v = s.get(name)
	if p.Index != nil {
		if why := r.key(p.Index, s, v.assoc); why != "" {
			return v, why
		}
		v = value{text: unknown, dash: true, list: true}
	}
	if p.Slice != nil {
		for _, x := range []syntax.ArithmExpr{p.Slice.Offset, p.Slice.Length} {
			if why := r.arithmetic(x, s); why != "" {
				return v, why
			}
		}
		v = value{text: unknown, dash: true, list: v.list}
	}
	if p.Repl != nil {
		for _, w := range []*syntax.Word{p.Repl.Orig, p.Repl.With} {
			if _, why := r.text(w, s); why != "" {
				return v, why
			}
		}
		v = value{text: unknown, dash: true, list: v.list}
	}
	if p.Length {
		return value{text: unknown, number: true}, ""
	}
	shows := true
	if p.Exp != nil {
		if v, shows, why = r.expansion(p, v, s); why != "" {
			return v, why
		}
	}
	if _, ours := s.vars[name]; shows && !ours && !s.exempt && secretVariable(name) {
		return v, "the variable " + name + ", which holds a secret"
	}
	return v, ""
}

// expansion returns what an operator of a parameter expansion makes of a value, and whether the value itself is in it.
func (r *reader) expansion(p *syntax.ParamExp, v value, s *scope) (made value, shows bool, why string) {
	w, why := r.text(p.Exp.Word, s)
	if why != "" {
		return v, true, why
	}
	switch p.Exp.Op {
	case syntax.AlternateUnset, syntax.AlternateUnsetOrNull: // ${x:+w}
		return join(w, value{}), false, ""
	case syntax.DefaultUnset, syntax.DefaultUnsetOrNull: // ${x:-w}
		return join(v, w), true, ""
	case syntax.AssignUnset, syntax.AssignUnsetOrNull: // ${x:=w}
		if why := assignFault(p.Param.Value, w); why != "" {
			return v, true, why
		}
		v = join(v, w)
		s.vars[p.Param.Value] = v
		return v, true, ""
	case syntax.ErrorUnset, syntax.ErrorUnsetOrNull:
		return v, true, ""
	case syntax.OtherParamOps: // ${x@Q}
		if len(w.text) != 1 || strings.IndexByte("QULul", w.text[0]) < 0 {
			return v, true, "an operator of a variable that may run its value"
		}
	}
	return value{text: unknown, dash: true, list: v.list}, true, ""
}
