package shell

import (
	"cmp"
	"slices"
	"strings"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/lazyregexp"
	"github.com/fairlead-go/fairlead/internal/probes"
	"mvdan.cc/sh/v3/syntax"
)

// AnyShell judges a command line for a shell that is not known, as package preflight/probe documents. It is Shell
// without all that shells, those of Windows included, read in different ways: what is left are plain commands.
func AnyShell(text string) probes.Verdict {
	return anyShell(&reader{}, text)
}

func anyShell(r *reader, text string) probes.Verdict {
	v := judged(r, text)
	if v.Annotations.Safety() != annotation.Safe {
		return v
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash), syntax.KeepComments(true)).Parse(strings.NewReader(text), "")
	if err != nil {
		return probes.Harmful("a malformed command line")
	}
	why := ""
	syntax.Walk(file, func(node syntax.Node) bool {
		why = cmp.Or(why, differs(node))
		_, quoted := node.(*syntax.DblQuoted) // whose parts differs has judged
		return why == "" && !quoted
	})
	if why != "" {
		return probes.Harmful(why)
	}
	return v
}

var (
	// everyBare has no meaning of its own outside quotes in any shell that we read.
	everyBare = lazyregexp.New(`^[\pL\pM\pN_./:,@%+=*?\[\]~-]*$`)
	// everyWord has no meaning of its own in single quotes, which some shells of Windows do not know as quotes.
	everyWord = lazyregexp.New(`^[\pL\pM\pN_./:,@+=*?~-]*$`)
	// everyText has none in double quotes, which all shells know.
	everyText = lazyregexp.New(`^[\pL\pM\pN_./:,@+=*?~ -]*$`)
)

// differs returns what of a part of a command line only some shells read as Shell does, or what reaches an address.
func differs(node syntax.Node) string {
	const (
		quote     = "a quote that ends elsewhere in some shells"
		construct = "more than plain commands, for a shell that is not known"
	)
	switch n := node.(type) {
	case nil, *syntax.File, *syntax.Word:
		return ""
	case *syntax.Stmt:
		if n.Negated {
			return construct
		}
	case *syntax.BinaryCmd:
		if n.Op == syntax.PipeAll {
			return construct
		}
	case *syntax.Redirect:
		if !silences(n) {
			return construct
		}
	case *syntax.Lit:
		if !everyBare.MatchString(n.Value) {
			return "the word " + probes.Shown(n.Value) + ", which some shells make something else of"
		}
	case *syntax.SglQuoted:
		if n.Dollar || !everyWord.MatchString(n.Value) {
			return quote
		}
	case *syntax.DblQuoted:
		for _, part := range n.Parts {
			if lit, ok := part.(*syntax.Lit); n.Dollar || !ok || !everyText.MatchString(lit.Value) {
				return quote
			}
		}
	case *syntax.CallExpr:
		return callDiffers(n)
	default:
		return construct
	}
	return ""
}

// windows are commands that Windows has as well, with options that begin with a slash.
var windows = strings.Fields("sort find date tree hostname whoami type where arp route ping netstat nslookup tar help sleep ps cd echo")

// otherOnWindows are commands that do something else there: expand unpacks, set and timeout are others, and ac is Add-Content.
var otherOnWindows = strings.Fields("expand compress timeout set mount print time export sc ac tee")

func callDiffers(n *syntax.CallExpr) string {
	if len(n.Assigns) > 0 || len(n.Args) == 0 {
		return "an assignment, for a shell that is not known"
	}
	words, why := (&reader{}).words(n.Args, newScope())
	if why != "" || len(words) == 0 {
		return cmp.Or(why, "a command that is not known")
	}
	name := words[0].text
	if strings.Contains(name, "/") || slices.Contains(otherOnWindows, name) {
		return "the command " + probes.Shown(name) + ", which may be another one"
	}
	for _, w := range words {
		if slices.Contains(windows, name) && strings.HasPrefix(w.text, "/") {
			return "the word " + shown(w) + ", which is an option on Windows"
		}
		if row := commands()[w.text]; row != nil && row.kind == urls {
			return "the command " + probes.Shown(w.text) + ", which reaches any address"
		}
	}
	return ""
}

// silences reports whether a redirection only joins the two outputs or throws one away.
func silences(r *syntax.Redirect) bool {
	from := ""
	if r.N != nil {
		from = r.N.Value
	}
	if from != "" && from != "1" && from != "2" || r.Hdoc != nil {
		return false
	}
	switch to := r.Word.Lit(); r.Op {
	case syntax.RdrOut:
		return to == "/dev/null"
	case syntax.DplOut:
		return to == "1" || to == "2"
	}
	return false
}
