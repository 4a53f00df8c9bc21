package shell

import (
	"net/http"
	"slices"
	"strings"
)

// kubeGet judges kubectl get and describe: what is printed of a secret beyond its name is the secret.
func kubeGet(_ *reader, row *row, p parsed, _ *scope) string {
	full := false
	for _, o := range p.options {
		switch o.name {
		case "-o", "--output", "-ojson", "--template":
			format := o.value.text
			full = full || format != "name" && format != "wide"
		}
	}
	if full && p.has("-f", "--filename", "-k", "--kustomize") {
		return "the contents of what a file names, which may be a secret"
	}
	for i, w := range p.operands {
		if i > 0 && !strings.Contains(w.text, "/") && !p.operands[0].many {
			break // the names behind the kind
		}
		if !full {
			break
		}
		if strings.Contains(w.text, unknown) {
			return "a kind that is not known, which may be a secret"
		}
		for part := range strings.SplitSeq(strings.ToLower(w.text), ",") {
			kind, _, _ := strings.Cut(part, "/")
			kind, _, _ = strings.Cut(kind, ".")
			if kind == "secret" || kind == "secrets" {
				return "the contents of a secret"
			}
		}
	}
	if raw, ok := p.value("--raw"); ok {
		if !raw.known() || strings.Contains(raw.text, "%") || strings.Contains(raw.text, "secret") || strings.Contains(raw.text, "proxy") {
			return "the address " + shown(raw)
		}
	}
	return ""
}

// ghAPI judges gh api: a field makes it a POST, unless the method is GET.
func ghAPI(_ *reader, _ *row, p parsed, _ *scope) string {
	method, stated := p.value("-X", "--method")
	fields := p.has("-f", "--raw-field", "-F", "--field")
	if len(p.operands) != 1 || !p.operands[0].known() {
		return "an endpoint that is not known"
	}
	if text := p.operands[0].text; strings.Contains(text, "://") && !strings.HasPrefix(text, "https://api.github.com/") {
		return "the address " + shown(p.operands[0])
	}
	if fields && p.operands[0].text == "graphql" && !stated {
		return ghQuery(p)
	}
	if p.operands[0].text == "graphql" {
		return "a GraphQL request"
	}
	if stated && !method.is(http.MethodGet) && !method.is("get") && !method.is("HEAD") {
		return "the method " + shown(method)
	}
	if fields && !stated {
		return "a field, which makes it a POST"
	}
	return ""
}

// ghQuery judges the query of a GraphQL request.
func ghQuery(p parsed) string {
	found := false
	for _, o := range p.options {
		switch o.name {
		case "-f", "--raw-field", "-F", "--field":
			name, text, _ := strings.Cut(o.value.text, "=")
			if !o.value.known() {
				if strings.HasPrefix(name, "query") || strings.Contains(name, unknown) {
					return "a query that is not known"
				}
				continue
			}
			if name != "query" {
				continue
			}
			found = true
			text = strings.TrimSpace(text)
			if strings.HasPrefix(text, "@") || strings.Contains(strings.ToLower(text), "mutation") || strings.Contains(text, "subscription") {
				return "a query that is not one"
			}
			if !strings.HasPrefix(text, "{") && !strings.HasPrefix(text, "query") && !strings.HasPrefix(text, "fragment") {
				return "a query that is not one"
			}
		case "--input":
			return "the option --input"
		}
	}
	if !found {
		return "no query"
	}
	return ""
}

// rcloneCommand judges rclone. A name may define a storage of its own, ":sftp,ssh=PROGRAM:", or change one, "name,ssh=PROGRAM:".
func rcloneCommand(_ *reader, _ *row, p parsed, _ *scope) string {
	for _, w := range p.operands {
		if !w.known() || strings.HasPrefix(w.text, ":") || strings.Contains(w.text, ",") {
			return "the storage " + shown(w)
		}
	}
	return ""
}

// ssmCommand judges the reads of AWS that decrypt only if they are told to.
func ssmCommand(_ *reader, _ *row, p parsed, _ *scope) string {
	for _, o := range p.options {
		if abbreviates(o.name, "--with-decryption") && len(o.name) > 4 {
			return "--with-decryption, which prints a secret"
		}
	}
	return ""
}

// awsLists are the options of aws that take several words, beside those of operations that describe and list, whose options
// do if they are named in the plural. Source: docs.aws.amazon.com/cli, the operations get-*.
var awsLists = strings.Fields("--statistics --extended-statistics --dimensions --metrics --group-by --filters --metric-data-queries")

// awsOutput judges the words behind an operation of aws. Many operations write what they get to a file, their last operand,
// so a word that no option takes as its value asks.
func awsOutput(row *row, verb string, words []word) string {
	if verb == "wait" || verb == "help" { // a condition follows
		return ""
	}
	takes := 0 // how many more words belong to an option; -1: all up to the next option
	gets := strings.HasPrefix(verb, "get-") || strings.HasPrefix(verb, "select-") || strings.HasPrefix(verb, "download-")
	for _, w := range words {
		if w.many {
			return "words that are not known"
		}
		if strings.HasPrefix(w.text, "-") {
			name, _, has := strings.Cut(w.text, "=")
			o, is := row.options[name]
			switch {
			case has || is && o.takes == 0 || strings.HasPrefix(name, "--no-"):
				takes = 0
			case slices.Contains(awsLists, name), !is && !gets && strings.HasSuffix(name, "s"):
				takes = -1
			default:
				takes = 1
			}
			continue
		}
		if takes == 0 && !w.is("help") {
			return "the operand " + shown(w) + ", which may be a file that it writes"
		}
		if takes > 0 {
			takes--
		}
	}
	return ""
}

// brewCommand judges the operands of brew: a formula in a file or at an address is a program that it runs.
func brewCommand(_ *reader, _ *row, p parsed, _ *scope) string {
	for _, w := range p.operands {
		low := strings.ToLower(w.text)
		if strings.HasPrefix(low, ".") || strings.HasPrefix(low, "/") || strings.HasPrefix(low, "~") || strings.Contains(low, ":") || strings.HasSuffix(low, ".rb") || strings.HasSuffix(low, ".json") || strings.HasSuffix(low, ".gz") {
			return "the formula " + shown(w)
		}
	}
	return ""
}

// herokuReads are the commands of Heroku that read. Source: devcenter.heroku.com, "Heroku CLI Commands".
var herokuReads = strings.Fields(`apps apps:info info ps ps:type releases releases:info releases:output logs domains domains:info addons addons:info addons:plans addons:services access buildpacks
	buildpacks:versions certs certs:info drains features features:info labs labs:info members orgs pipelines pipelines:info pg pg:info pg:locks pg:ps pg:diagnose pg:backups pg:backups:info regions
	 sessions spaces spaces:info stack status teams apps:stacks version help webhooks webhooks:info maintenance ci ci:info`)

// herokuCommand judges heroku, whose first operand is the command.
func herokuCommand(_ *reader, _ *row, p parsed, _ *scope) string {
	if len(p.operands) == 0 || !p.operands[0].known() {
		return "no command that is known"
	}
	if slices.Contains(herokuReads, p.operands[0].text) {
		return ""
	}
	return shown(p.operands[0])
}

// auth0API judges auth0 api: a method may be in front of the path.
func auth0API(_ *reader, _ *row, p parsed, _ *scope) string {
	words := p.operands
	if len(words) == 2 && words[0].known() && strings.EqualFold(words[0].text, http.MethodGet) {
		words = words[1:]
	}
	if len(words) != 1 || !words[0].known() {
		return "what may be another method than GET"
	}
	switch strings.ToUpper(words[0].text) {
	case http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete:
		return "the method " + shown(words[0])
	}
	return ""
}

// formatCommand requires of a formatter that it only checks, or that it does not write.
func formatCommand(_ *reader, _ *row, p parsed, _ *scope) string {
	write, ok := p.value("-write")
	if p.has("-check", "-help", "--help") || ok && write.is("false") {
		return ""
	}
	return "files that it formats"
}

// scanCommand judges a scanner of files, which prints.
func scanCommand(_ *reader, row *row, p parsed, _ *scope) string {
	if row.name == "trivy" && (len(p.operands) == 0 || !slices.Contains([]string{"config", "fs", "image", "repo", "version"}, p.operands[0].text)) {
		return "no subcommand that is known to read"
	}
	if row.name == "infracost" && (len(p.operands) == 0 || !slices.Contains([]string{"breakdown", "diff"}, p.operands[0].text)) {
		return "no subcommand that is known to read"
	}
	return ""
}

// dryRun requires --dry-run, with a value that is not one for no.
func dryRun(_ *reader, _ *row, p parsed, _ *scope) string {
	found := false
	for _, o := range p.options {
		if o.name != "--dry-run" {
			continue
		}
		if o.has && !o.value.is("client") && !o.value.is("server") && !o.value.is("true") {
			return "a dry run that is " + shown(o.value)
		}
		found = true
	}
	if !found {
		return "no --dry-run"
	}
	return ""
}

// kubeExec judges kubectl exec: the command behind -- is judged by itself.
func kubeExec(r *reader, row *row, words []word, s *scope) string {
	at := slices.IndexFunc(words, func(w word) bool { return w.is("--") })
	if at < 0 || at+1 == len(words) {
		return "no -- and a command behind it"
	}
	p, why := r.parse(row, s, words[:at])
	switch {
	case why != "":
		return why
	case len(p.operands) != 1:
		return "more than the name of a pod"
	}
	return r.call(words[at+1:], nil, s)
}
