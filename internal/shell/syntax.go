package shell

import (
	"slices"
	"strings"

	"github.com/fairlead-go/fairlead/internal/lazyregexp"
	"github.com/fairlead-go/fairlead/internal/probes"
	"mvdan.cc/sh/v3/syntax"
)

// stmts judges statements in their order.
func (r *reader) stmts(list []*syntax.Stmt, s *scope) string {
	for _, stmt := range list {
		if why := r.stmt(stmt, s); why != "" {
			return why
		}
	}
	return ""
}

// maybe judges statements that may run or not.
func (r *reader) maybe(list []*syntax.Stmt, s *scope) string {
	inner := s.clone()
	why := r.stmts(list, inner)
	s.join(inner)
	return why
}

// loosely matches a comment that does nothing even in a shell that reads it as words.
var loosely = lazyregexp.New("^[^;&|<>$`()\\\\]*$")

func (r *reader) stmt(stmt *syntax.Stmt, s *scope) string {
	if r.depth++; r.depth > maxDepth {
		return "more levels than are read"
	}
	defer func() { r.depth-- }()
	for _, c := range stmt.Comments {
		if !loosely.MatchString(c.Text) || strings.Contains(c.Text, " -") {
			return "a comment, which shells do not all know"
		}
	}
	if stmt.Background || stmt.Coprocess || stmt.Disown {
		return "a command in the background"
	}
	for _, redirect := range stmt.Redirs {
		if why := r.redirect(redirect, s); why != "" {
			return why
		}
	}
	if stmt.Cmd == nil {
		return ""
	}
	if call, ok := stmt.Cmd.(*syntax.CallExpr); ok && len(call.Args) == 1 && len(call.Assigns) == 0 && call.Args[0].Lit() == "exec" && len(stmt.Redirs) > 0 {
		return reopened(stmt.Redirs)
	}
	return r.command(stmt.Cmd, s)
}

// reopened judges the redirections of an exec without a command, which are those of the shell itself. A shell may read
// its commands from its input, or from a descriptor of two digits.
func reopened(redirs []*syntax.Redirect) string {
	for _, redirect := range redirs {
		from := ""
		if redirect.N != nil {
			from = redirect.N.Value
		}
		switch redirect.Op {
		case syntax.RdrOut, syntax.AppOut, syntax.RdrAll, syntax.AppAll, syntax.RdrClob, syntax.DplOut:
			if from == "" || len(from) == 1 && from != "0" {
				continue
			}
		case syntax.RdrIn, syntax.DplIn:
			if len(from) == 1 && from != "0" {
				continue
			}
		}
		return "the redirection " + probes.Shown(redirect.Op.String()) + " of the shell itself"
	}
	return ""
}

func (r *reader) command(cmd syntax.Command, s *scope) string {
	switch c := cmd.(type) {
	case *syntax.CallExpr:
		return r.simple(c, s)
	case *syntax.BinaryCmd:
		return r.binary(c, s)
	case *syntax.Subshell:
		return r.stmts(c.Stmts, s.clone())
	case *syntax.Block:
		return r.stmts(c.Stmts, s)
	case *syntax.IfClause:
		return r.branches(c, s)
	case *syntax.WhileClause:
		r.again++
		defer func() { r.again-- }()
		s.forget(c)
		if why := r.stmts(c.Cond, s); why != "" {
			return why
		}
		return r.maybe(c.Do, s)
	case *syntax.ForClause:
		return r.loop(c, s)
	case *syntax.CaseClause:
		return r.cases(c, s)
	case *syntax.FuncDecl:
		return r.function(c)
	case *syntax.ArithmCmd:
		if why := nested(c.X); why != "" {
			return why
		}
		return r.arithmetic(c.X, s)
	case *syntax.LetClause:
		for _, x := range c.Exprs {
			if why := r.arithmetic(x, s); why != "" {
				return why
			}
		}
		return ""
	case *syntax.TestClause:
		inner := *s
		inner.exempt = true
		return r.test(c.X, &inner)
	case *syntax.DeclClause:
		return r.declare(c, s)
	case *syntax.TimeClause:
		if c.Stmt == nil {
			return ""
		}
		return r.stmt(c.Stmt, s)
	}
	return "a construct that only some shells know"
}

func (r *reader) binary(c *syntax.BinaryCmd, s *scope) string {
	switch c.Op {
	case syntax.AndStmt, syntax.OrStmt:
		s.then = nil
		if why := r.stmt(c.X, s); why != "" {
			return why
		}
		inner := s.clone()
		if _, ok := c.X.Cmd.(*syntax.CallExpr); ok && c.Op == syntax.AndStmt && s.then != nil && !c.X.Negated {
			inner.folders = s.then // it has not failed
		}
		why := r.stmt(c.Y, inner)
		s.join(inner)
		return why
	case syntax.Pipe, syntax.PipeAll:
		if why := r.stmt(c.X, s.clone()); why != "" {
			return why
		}
		return r.maybe([]*syntax.Stmt{c.Y}, s) // some shells run the last part of a pipe themselves
	}
	return "the sign " + probes.Shown(c.Op.String())
}

func (r *reader) branches(c *syntax.IfClause, s *scope) string {
	if why := r.stmts(c.Cond, s); why != "" { // of an else without condition there is none
		return why
	}
	otherwise := s.clone()
	if why := r.maybe(c.Then, s); why != "" {
		return why
	}
	if c.Else != nil {
		if why := r.branches(c.Else, otherwise); why != "" {
			return why
		}
		s.join(otherwise)
	}
	return ""
}

func (r *reader) loop(c *syntax.ForClause, s *scope) string {
	if c.Select {
		return "a loop that asks a person"
	}
	r.again++
	defer func() { r.again-- }()
	switch l := c.Loop.(type) {
	case *syntax.WordIter:
		items, why := r.words(l.Items, s)
		if why != "" {
			return why
		}
		for _, do := range c.Do {
			s.forget(do)
		}
		if why := assignFault(l.Name.Value, anyValue); why != "" {
			return why
		}
		if why := r.globsFault(items, s); why != "" {
			return why
		}
		each := oneOf(items, !l.InPos.IsValid())
		each.inside = r.roots.Bounds() && l.InPos.IsValid() && !slices.ContainsFunc(items, func(w word) bool { return !w.glob && !w.known() || r.readFault(w, s) != "" })
		s.vars[l.Name.Value] = each
	case *syntax.CStyleLoop:
		if why := r.arithmetic(l.Init, s); why != "" {
			return why
		}
		s.forget(c)
		for _, x := range []syntax.ArithmExpr{l.Cond, l.Post} {
			if why := r.arithmetic(x, s); why != "" {
				return why
			}
		}
	default:
		return "a loop that only some shells know"
	}
	return r.maybe(c.Do, s)
}

// oneOf returns what is known of a variable that is each of some words in turn.
func oneOf(items []word, positional bool) value {
	if positional {
		return anyValue
	}
	v := value{text: unknown, single: true, number: true}
	for _, item := range items {
		v.dash = v.dash || item.dash || strings.HasPrefix(item.text, "-") || item.text == ""
		blank := strings.ContainsAny(item.text, " \t\n*?[\\")
		v.single = v.single && !item.many && !blank && (item.known() || item.number)
		v.dash = v.dash || (blank || item.glob || !item.known() && !item.number) && strings.Contains(item.text, "-")
		v.number = v.number && (item.number || isNumber(item.text))
	}
	if len(items) == 1 && items[0].known() {
		return value{text: items[0].text}
	}
	return v
}

func (r *reader) cases(c *syntax.CaseClause, s *scope) string {
	if _, why := r.text(c.Word, s); why != "" {
		return why
	}
	after := s.clone()
	for _, item := range c.Items {
		for _, pattern := range item.Patterns {
			if _, why := r.text(pattern, s); why != "" {
				return why
			}
		}
		one := after.clone() // the item before may go on into this one
		if why := r.stmts(item.Stmts, one); why != "" {
			return why
		}
		after.join(one)
	}
	s.join(after)
	return ""
}

// function judges the body of a function where it is declared, with nothing known: a shell also runs some functions on
// its own, such as chpwd.
func (r *reader) function(c *syntax.FuncDecl) string {
	if c.Name == nil || !isName(c.Name.Value) {
		return "a function whose name is not a plain one"
	}
	if r.functions == nil {
		r.functions, r.byCalls = make(map[string]bool), *newScope()
	}
	if _, is := commands()[c.Name.Value]; is || builtinThatActs(c.Name.Value) {
		return "a function with the name of the command " + c.Name.Value
	}
	r.functions[c.Name.Value] = true
	if r.judgedWith == nil {
		r.judgedWith = make(map[string]int)
	}
	r.judgedWith[c.Name.Value] = len(r.exported)
	r.again++
	defer func() { r.again-- }()
	r.strays = r.strays || leaves(c.Body)
	r.byCalls.forget(c.Body)
	return r.stmt(c.Body, newScope())
}

func builtinThatActs(name string) bool {
	switch name {
	case "chpwd", "precmd", "preexec", "periodic", "zshexit", "zshaddhistory", "command_not_found_handle", "command_not_found_handler":
		return true
	}
	return strings.HasPrefix(name, "TRAP")
}

func (r *reader) declare(c *syntax.DeclClause, s *scope) string {
	exports := c.Variant.Value == "export"
	switch c.Variant.Value {
	case "export", "local", "readonly", "declare", "typeset":
	default:
		return "the command " + probes.Shown(c.Variant.Value)
	}
	named, assoc := false, false
	for _, a := range c.Args {
		if a.Name == nil { // an option
			lit := ""
			if a.Value != nil {
				lit = a.Value.Lit()
			}
			switch lit {
			case "-a", "-r", "-g":
			case "-A":
				assoc = true
			case "-x":
				exports = true
			default:
				return c.Variant.Value + " with " + probes.Shown(lit)
			}
			continue
		}
		named = true
		v, why := r.assigned(a, s)
		if why != "" {
			return why
		}
		if a.Naked && exports {
			v = s.get(a.Name.Value)
		}
		if why := assignFault(a.Name.Value, v); why != "" {
			return why
		}
		if exports && kindOfVariable(a.Name.Value, v) != harmless {
			if why := r.export(a.Name.Value, v); why != "" {
				return why
			}
		}
		if a.Naked {
			if exports {
				continue
			}
			v = anyValue
		}
		v.assoc = assoc
		s.vars[a.Name.Value] = v
	}
	if !named {
		return "a list of variables, with the secrets among them"
	}
	return ""
}

// export judges a variable that is given to all later commands, each of which [reader.call] looks at. In a loop, a function
// or a trap the commands before it may run after it as well.
func (r *reader) export(name string, v value) string {
	if r.again > 0 || r.trapped || kindOfVariable(name, v) == acts {
		return "the variable " + name + " for all commands, which one may act on"
	}
	r.exported = append(r.exported, variable{name, v})
	return ""
}

// redirect judges what a command reads from and writes to.
func (r *reader) redirect(redirect *syntax.Redirect, s *scope) string {
	sign := "the redirection " + probes.Shown(redirect.Op.String())
	if redirect.N != nil && !isNumber(redirect.N.Value) {
		return sign + " of " + probes.Shown(redirect.N.Value)
	}
	switch redirect.Op {
	case syntax.Hdoc, syntax.DashHdoc:
		_, why := r.text(redirect.Hdoc, s)
		return why
	case syntax.WordHdoc:
		_, why := r.text(redirect.Word, s)
		return why
	}
	to, why := r.one(redirect.Word, s)
	if why != "" {
		return why
	}
	if len(to) != 1 {
		return sign
	}
	file := to[0]
	switch redirect.Op {
	case syntax.RdrIn:
		if strings.HasPrefix(file.text, "/dev/tcp") || strings.HasPrefix(file.text, "/dev/udp") || strings.HasPrefix(file.text, unknown) && file.many {
			return sign + " from " + shown(file)
		}
		if why := secretFile(file); why != "" {
			return why
		}
		return r.readFault(file, s)
	case syntax.RdrOut, syntax.AppOut, syntax.RdrAll, syntax.AppAll, syntax.RdrClob:
		if file.is("/dev/null") || file.is("/dev/stderr") || file.is("/dev/stdout") {
			return ""
		}
		if r.writes(file, s, false) {
			return ""
		}
		return sign + " to " + shown(file)
	case syntax.DplOut, syntax.DplIn:
		if file.known() && (isNumber(file.text) || file.text == "-") {
			return ""
		}
	}
	return sign
}

// substitution judges $(…), and returns what is known of its output.
func (r *reader) substitution(c *syntax.CmdSubst, s *scope) (v value, why string) {
	if c.TempFile || c.ReplyVar {
		return anyValue, "a substitution that only some shells know"
	}
	inner := s.clone()
	inner.exempt = false
	if why := r.stmts(c.Stmts, inner); why != "" {
		return anyValue, why
	}
	return r.outputOf(c.Stmts, inner), ""
}

// plainDate is a format of date whose output is one word.
var plainDate = lazyregexp.New(`^\+(?:%[YmdHMSFTsjyB]|[-_:T.])+$`)

// outputOf returns what is known of the output of commands that print a number or a path.
func (r *reader) outputOf(list []*syntax.Stmt, s *scope) value {
	if len(list) != 1 || len(list[0].Redirs) > 0 {
		return anyValue
	}
	call, ok := list[0].Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) == 0 {
		return anyValue
	}
	first, last := call.Args[0].Lit(), call.Args[len(call.Args)-1].Lit()
	switch first {
	case "nproc":
		return value{text: unknown, number: true}
	case "pwd":
		return value{text: "/" + unknown}
	case "whoami", "hostname", "uname", "arch":
		return value{text: unknown, single: true}
	case "echo":
		return r.echoed(call, s)
	case "date":
		switch {
		case last == "+%s":
			return value{text: unknown, number: true}
		case plainDate.MatchString(last):
			return value{text: unknown, single: true}
		case len(call.Args) == 1 || len(call.Args) == 2 && (last == "-u" || last == "-R"):
			return value{text: unknown}
		}
	case "git":
		if last == "--show-toplevel" {
			return value{text: "/" + unknown}
		}
		if last == "HEAD" && len(call.Args) == 3 && call.Args[1].Lit() == "rev-parse" {
			return value{text: unknown, single: true}
		}
	}
	return anyValue
}

// echoed returns what echo prints, if it is plain text.
func (r *reader) echoed(call *syntax.CallExpr, s *scope) value {
	words, why := r.words(call.Args[1:], s)
	texts := make([]string, len(words))
	for i, w := range words {
		if !w.known() || strings.Contains(w.text, "\\") || i == 0 && (w.text == "-n" || w.text == "-e" || w.text == "-E" || w.text == "-ne" || w.text == "-en") {
			return anyValue
		}
		texts[i] = w.text
	}
	if why != "" {
		return anyValue
	}
	return value{text: strings.Join(texts, " ")}
}
