package flow

import (
	"html"
	"math/bits"
	"net/url"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/fairlead-go/fairlead/flow/internal/folded"
)

// An address is what two URLs have to share to be one: scheme, host with port, and path, and the query if the user wrote
// one.
type address struct {
	scheme, host, port, path, query string
}

// addressOf reads a URL, with or without its scheme. One with a name or password before its host does not count: a
// reader takes the name for the host. The scp form of a repository is read without a scheme.
func addressOf(value string) (a address, ok bool) {
	if user, rest, found := strings.Cut(value, "@"); found && user == "git" && !strings.Contains(value, "://") {
		host, path, found := strings.Cut(rest, ":")
		return address{host: strings.ToLower(host), path: tidyPath(path)}, found && host != ""
	}
	whole := value
	if !strings.Contains(value, "://") {
		whole = "https://" + value
	}
	u, err := url.Parse(whole)
	if err != nil || u.User != nil || u.Host == "" || u.Opaque != "" {
		return address{}, false
	}
	if whole == value {
		a.scheme = strings.ToLower(u.Scheme)
	}
	a.host, a.port = strings.TrimSuffix(strings.ToLower(u.Hostname()), "."), u.Port()
	if a.port == map[string]string{"https": "443", "http": "80"}[a.scheme] {
		a.port = ""
	}
	a.path, a.query = tidyPath(u.EscapedPath()), u.RawQuery
	return a, true
}

// tidyPath returns a path without its dot segments, its last slash and the ending of a repository.
func tidyPath(p string) string {
	return strings.TrimSuffix(strings.Trim(path.Clean("/"+p), "/"), ".git")
}

// names reports whether an address that the user wrote is that one. Who writes no scheme means the web's two.
func (a address) names(b address) bool {
	if a.host != b.host || a.port != b.port || a.path != b.path || a.query != "" && a.query != b.query {
		return false
	}
	return a.scheme == b.scheme || b.scheme == "" || a.scheme == "" && (b.scheme == "https" || b.scheme == "http")
}

// saidURL reports whether the user wrote the whole URL, or a repository by its URL.
func (l *lookup) saidURL(t *folded.Text) bool {
	want, ok := addressOf(l.raw)
	if !ok && l.kind == kindURL {
		return false
	}
	for word := range folded.Words(t.Raw) {
		a, ok := addressOf(word)
		switch {
		case !ok:
		case l.kind == kindRepository && strings.Contains(a.host, ".") && strings.EqualFold(a.path, tidyPath(l.raw)):
			return true
		case l.kind == kindURL && a.names(want) && !l.carries(a, want):
			return true
		}
	}
	return false
}

// carries reports whether the query of a URL, which the user did not write, has a value of an untrusted result.
func (l *lookup) carries(said, want address) bool {
	if said.query != "" || want.query == "" {
		return false
	}
	values, err := url.ParseQuery(want.query)
	if err != nil {
		return true
	}
	for name, all := range values {
		for _, value := range append(all, name) {
			mine := lookup{s: l.s, host: l.host, server: l.server, kind: kindText, raw: value, norm: folded.New(value, false).Norm}
			if len(mine.norm) < minInside || slices.ContainsFunc(l.s.user, mine.said) {
				continue
			}
			l.s.settle()
			if o := mine.search(mine.norm, ""); o.result != nil && !o.result.trusted {
				return true
			}
		}
	}
	return false
}

// linked returns the result with a link to the URL: what stands there leads to it from the page that its call read.
func (l *lookup) linked() origin {
	want, err := url.Parse(l.raw)
	if err != nil || want.User != nil || want.Host == "" {
		return origin{}
	}
	want.Fragment, want.Host = "", strings.ToLower(want.Host)
	last := path.Base(want.Path)
	for _, g := range l.s.groups {
		for all := g.used; all != 0; all &= all - 1 {
			r := g.results[bits.TrailingZeros64(all)]
			for _, from := range r.bases() {
				base, err := url.Parse(from)
				if err != nil || !strings.EqualFold(base.Host, want.Host) {
					continue
				}
				base.Host = want.Host
				if l.s.budget -= len(r.raw); l.s.budget < 0 {
					return origin{}
				}
				if word := link(r.raw, base, want, last); word != "" {
					at := max(0, r.text.Find(folded.New(word, false).Norm, false, 0))
					how := made{how: otherForm, of: quote(word, maxShown)}
					return origin{from: fromResult, result: r, at: at, len: minPart, how: otherForm, made: &how, link: true}
				}
			}
		}
	}
	return origin{}
}

// link returns the word of a page that leads to a URL, "" if none does. Those that have neither its last component nor its
// query are left out at once.
func link(page string, base, want *url.URL, last string) string {
	for word := range folded.Words(html.UnescapeString(page)) {
		if _, after, found := strings.Cut(word, "href="); found {
			word = after
		}
		if !strings.Contains(word, last) && (want.RawQuery == "" || !strings.Contains(word, "?")) {
			continue
		}
		to, err := base.Parse(word)
		if err != nil {
			continue
		}
		if to.Fragment = ""; to.String() == want.String() {
			return word
		}
	}
	return ""
}

// folderSaid reports whether a path is relative, and the user's words have each of its folders.
func (m *maker) folderSaid() bool {
	file := strings.ReplaceAll(m.raw, `\`, "/")
	unsaid := func(folder string) bool {
		l := lookup{s: m.s, kind: kindName, raw: folder, norm: folded.New(folder, false).Norm}
		return folder != "." && (len(l.norm) == 0 || !slices.ContainsFunc(m.s.user, l.said))
	}
	return !path.IsAbs(file) && !slices.ContainsFunc(strings.Split(path.Dir(file), "/"), unsaid)
}

// same reports whether a word of the user's is the whole value, but for case, blanks and what a value of its kind may go
// without.
func (k argumentKind) same(word, value string) bool {
	switch k {
	case kindPath, kindRepository:
		return tidyFile(word) == tidyFile(value)
	default:
		return squash(word) == squash(value)
	}
}

func tidyFile(p string) string {
	return strings.ToLower(path.Clean(strings.ReplaceAll(strings.Trim(p, "\"'<>` \t\n"), `\`, "/")))
}

// partly returns the part of a value that the user wrote, "" for none: the host of a URL, the domain of a mail address,
// the last component of a path, the name of a repository.
func (l *lookup) partly() string {
	part := ""
	switch l.kind {
	case kindURL:
		a, _ := addressOf(l.raw)
		part = a.host
	case kindRecipient:
		_, part, _ = strings.Cut(l.raw, "@")
	case kindPath, kindRepository:
		if clean := strings.TrimRight(strings.ReplaceAll(l.raw, `\`, "/"), "/"); strings.Contains(clean, "/") {
			part = path.Base(clean)
		}
	}
	norm := folded.New(part, false).Norm
	if len(norm) < minValue {
		return ""
	}
	mine := lookup{s: l.s, kind: kindName, raw: part, norm: norm}
	if !slices.ContainsFunc(l.s.user, mine.said) {
		return ""
	}
	return part
}

// squash returns a text without case, blanks, quotes, and what an address may go without.
func squash(s string) string {
	s = strings.ToLower(s)
	for _, optional := range []string{"https://", "http://", "mailto:"} {
		s = strings.TrimPrefix(s, optional)
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || strings.ContainsRune(`"'<>`, r) {
			return -1
		}
		return r
	}, strings.Trim(s, "/.,;:!?()[]"))
}
