package flow

import (
	_ "embed" // for kinds.txt
	"net/mail"
	"net/netip"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/fairlead-go/fairlead/audit/redact"
	"github.com/fairlead-go/fairlead/internal/bm25"
	"github.com/fairlead-go/fairlead/internal/lazyregexp"
)

// An argumentKind is the meaning of an argument to its tool, which decides how much its source matters.
type argumentKind string

// The kinds. An argument that fits none is a Name.
const (
	kindRecipient  argumentKind = "recipient"  // a person or an address that something is sent to
	kindAccount    argumentKind = "account"    // an account number, a card, a wallet
	kindURL        argumentKind = "url"        // an address on the web
	kindHost       argumentKind = "host"       // the name or the address of a machine
	kindCredential argumentKind = "credential" // a password, a key
	kindPackage    argumentKind = "package"    // software to install
	kindPath       argumentKind = "path"       // a file or a folder
	kindCommand    argumentKind = "command"    // a command, code, a query
	kindRepository argumentKind = "repository" // a repository with its owner
	kindAddress    argumentKind = "address"    // a part of a postal address
	kindAmount     argumentKind = "amount"     // of money, or of anything
	kindID         argumentKind = "id"         // of a thing that the server has
	kindName       argumentKind = "name"       // of a thing, a place, a party
	kindDetail     argumentKind = "detail"     // what is recorded of a thing, such as a place or a cell
	kindText       argumentKind = "text"       // free text
	kindTime       argumentKind = "time"       // a date, a time
	kindChoice     argumentKind = "choice"     // one of the values that the schema lists, or a switch
)

// leads reports whether a value of the kind decides about a destination, an access or the code that runs.
func (k argumentKind) leads() bool {
	return slices.Contains([]argumentKind{kindRecipient, kindAccount, kindURL, kindHost, kindCredential, kindPackage}, k)
}

// exact reports whether one other character makes it another value.
func (k argumentKind) exact() bool {
	return k.leads() || k == kindPath || k == kindCommand || k == kindRepository
}

//go:embed kinds.txt
var kindsText string

// words maps those of kinds.txt to their kinds. The last word of a name that is here decides.
var words = func() map[string]argumentKind {
	m := make(map[string]argumentKind)
	for line := range strings.SplitSeq(strings.ReplaceAll(kindsText, "\n\t", " "), "\n") {
		kind, list, _ := strings.Cut(line, ":")
		for word := range strings.FieldsSeq(list) {
			m[word] = argumentKind(kind)
		}
	}
	return m
}()

func named(name string) argumentKind {
	if redact.IsSecret(name) {
		return kindCredential
	}
	parts := split(name)
	for i, part := range slices.Backward(parts) {
		k, ok := words[part]
		switch {
		case !ok:
		case part == "address" && i > 0 && (parts[i-1] == "ip" || parts[i-1] == "email"):
			return words[parts[i-1]]
		default:
			return k
		}
	}
	return kindName
}

func kindOf(name argumentKind, value string) argumentKind {
	if shaped := shapeOf(value); shaped != "" {
		return shaped
	}
	if name == kindRepository && !strings.Contains(value, "/") { // its name alone
		name = kindName
	}
	if (name == kindName || name == kindDetail) && strings.Count(value, " ") > 5 {
		return kindText
	}
	return name
}

// split cuts a name in camel case, snake case or kebab case into words in lower case.
func split(name string) (parts []string) {
	for run := range bm25.Runs(name) {
		parts = slices.AppendSeq(parts, bm25.Parts(run))
	}
	return parts
}

var (
	iban   = lazyregexp.New(`^[A-Za-z]{2}[0-9]{2}[A-Za-z0-9]{4}[0-9]{5}[A-Za-z0-9]{1,21}$`)
	phone  = lazyregexp.New(`^\+[0-9][0-9 ()/.-]{6,20}$`)
	wallet = lazyregexp.New(`^(0x[0-9a-fA-F]{40}|bc1[0-9a-z]{20,80}|[13][1-9A-HJ-NP-Za-km-z]{25,34})$`)
	card   = lazyregexp.New(`^[0-9]{4}([ -]?[0-9]{4}){2,3}([ -]?[0-9]{1,4})?$`)
	domain = lazyregexp.New(`^([a-zA-Z0-9-]+\.)+(com|org|net|io|dev|app|co|me|ai|info|biz|xyz|[a-z]{2}\.[a-z]{2}|onion)(:[0-9]+)?$`)
)

func shapeOf(value string) argumentKind {
	if len(value) < 6 || len(value) > 2048 {
		return ""
	}
	var has [utf8.RuneSelf]bool
	for i := range len(value) {
		has[value[i]&^utf8.RuneSelf] = true
	}
	numbered := '0' <= value[0] && value[0] <= '9' || '0' <= value[2] && value[2] <= '9'
	if has['\n'] || !numbered && !has['.'] && !has['@'] && !has['+'] && !has[':'] && value[0] != 'b' {
		return ""
	}
	switch {
	case !has[' '] && (strings.Contains(value, "://") || len(value) > 8 && strings.EqualFold(value[:4], "www.")):
		return kindURL
	case has['@'] && isMail(strings.TrimPrefix(value, "mailto:")), value[0] == '+' && phone.MatchString(value):
		return kindRecipient
	}
	squashed := strings.ReplaceAll(value, " ", "")
	switch {
	case numbered && iban.MatchString(squashed), numbered && card.MatchString(value), wallet.MatchString(value):
		return kindAccount
	case has['.'] && domain.MatchString(value):
		return kindHost
	case has['.'] && has['/'] && domain.MatchString(value[:strings.IndexByte(value, '/')]):
		return kindURL
	}
	if !has[' '] && (has['.'] || has[':']) {
		if _, err := netip.ParseAddr(value); err == nil {
			return kindHost
		}
	}
	return ""
}

func isMail(value string) bool {
	a, err := mail.ParseAddress(value)
	return err == nil && strings.Contains(a.Address, "@")
}

// packages are names of the argument for what a tool installs.
var packages = strings.Fields("package packages name names module modules plugin extension dependency dependencies")

// commits are words of tools that spend or bind: their recipient matters even if the server offers it.
var commits = strings.Fields("reserve book order buy purchase pay subscribe checkout bid rent hire trade" +
	" donate transfer withdraw sell")
