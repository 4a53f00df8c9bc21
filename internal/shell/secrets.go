package shell

import (
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/fairlead-go/fairlead/internal/probes"
)

// secretLists are the lists of tables/secrets.txt.
var secretLists = sync.OnceValue(func() map[string][]string {
	text, err := tables.ReadFile("tables/secrets.txt")
	if err != nil {
		panic("shell: " + err.Error())
	}
	lists := make(map[string][]string)
	for line := range strings.Lines(strings.ReplaceAll(string(text), "\n\t", " ")) {
		if name, words, ok := strings.Cut(strings.TrimSpace(line), ": "); ok && !strings.HasPrefix(line, "#") {
			if name != "variables" { // macOS does not tell large from small letters
				words = strings.ToLower(words)
			}
			lists[name] = append(lists[name], strings.Fields(words)...)
		}
	}
	return lists
})

// secretFile returns why a file may not be read, if a word names one that is known to hold secrets.
func secretFile(w word) string {
	if w.text == "" || len(w.text) > 4096 {
		return ""
	}
	text := strings.TrimPrefix(strings.TrimPrefix(w.text, "file://"), "@")
	if at := strings.LastIndexAny(text, ":="); at >= 0 && at+1 < len(text) { // HEAD:.env, if=/etc/shadow
		if why := secretPath(text[at+1:], w); why != "" {
			return why
		}
	}
	return secretPath(text, w)
}

// secretFolder returns why a folder may not be read: a file of it is known to hold secrets, and its name begins with a dot.
func secretFolder(w word) string {
	if !strings.HasPrefix(w.text, "~/") && !strings.HasPrefix(w.text, "/") {
		return ""
	}
	folder := path.Clean(strings.ToLower(w.text))
	if w.glob && strings.HasPrefix(path.Base(folder), "*") {
		folder = path.Dir(folder)
	}
	for _, paths := range secretFiles().paths {
		for _, p := range paths {
			if parent := path.Dir(p); (strings.HasPrefix(parent, ".") && parent != ".") && strings.HasSuffix(folder, "/"+parent) {
				return "the folder " + shown(w) + ", which holds secrets"
			}
		}
	}
	return ""
}

// secretPatterns are the lists of names and paths of files, in a form that is quick to look up.
type secretPatterns struct {
	names  map[string]bool     // without a pattern
	globs  []string            // with one
	public []string            // what matches one of globs, and holds nothing
	paths  map[string][]string // by the last part without a pattern
}

var secretFiles = sync.OnceValue(func() *secretPatterns {
	lists := secretLists()
	made := &secretPatterns{names: make(map[string]bool), public: lists["public"], paths: make(map[string][]string)}
	for _, name := range lists["names"] {
		if strings.Contains(name, "*") {
			made.globs = append(made.globs, name)
		} else {
			made.names[name] = true
		}
	}
	for _, p := range lists["paths"] {
		key := ""
		for part := range strings.SplitSeq(p, "/") {
			if !strings.Contains(part, "*") {
				key = part
			}
		}
		made.paths[key] = append(made.paths[key], p)
	}
	return made
})

func secretPath(text string, w word) string {
	if strings.HasPrefix(text, "-") {
		return ""
	}
	known := secretFiles()
	clean := path.Clean(strings.ToLower(strings.TrimPrefix(text, "@")))
	base := clean[strings.LastIndexByte(clean, '/')+1:]
	found := known.names[base] || slices.ContainsFunc(known.globs, func(p string) bool { return matchesName(p, base) })
	if found && slices.ContainsFunc(known.public, func(p string) bool { return p == base || matchesName(p, base) }) {
		return ""
	}
	if !found && strings.Contains(clean, "/") {
		for part := range strings.SplitSeq(clean, "/") {
			for _, p := range known.paths[part] {
				found = found || hasPath(p, clean, false)
			}
		}
	}
	if !found && w.glob && strings.ContainsAny(clean, "*?[") {
		found = known.mayBecome(clean, base)
	}
	if found {
		return "the file " + shown(w) + ", which holds secrets"
	}
	return ""
}

// matchesName reports whether a name is one of a pattern, whose * stands for one character at least.
func matchesName(pattern, name string) bool {
	if len(name) < len(pattern) {
		return false
	}
	before, after, _ := strings.Cut(pattern, "*")
	if !strings.HasPrefix(name, before) || after != "" && !strings.Contains(after, "*") && !strings.HasSuffix(name, after) {
		return false
	}
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}

// mayBecome reports whether a word with a pattern may become a file that holds secrets.
func (known *secretPatterns) mayBecome(clean, base string) bool {
	for name := range known.names {
		if fits(name, base, true) {
			return true
		}
	}
	if slices.ContainsFunc(known.globs, func(p string) bool { return fits(p, base, true) }) {
		return true
	}
	for _, paths := range known.paths {
		if slices.ContainsFunc(paths, func(p string) bool { return hasPath(p, clean, true) }) {
			return true
		}
	}
	return false
}

// hasPath reports whether a path has the parts of a list's path in a row.
func hasPath(listed, text string, glob bool) bool {
	want, parts := strings.Split(listed, "/"), strings.Split(text, "/")
	for at := 0; at+len(want) <= len(parts); at++ {
		all := true
		for i := range want {
			all = all && fits(want[i], parts[at+i], glob)
		}
		if all {
			return true
		}
	}
	return false
}

// fits reports whether a part of a path is, or with its pattern may become, a name of a list.
func fits(pattern, part string, glob bool) bool {
	switch {
	case pattern == part, pattern == "*" && part != "":
		return true
	case strings.Contains(pattern, "*"):
		if matchesName(pattern, part) {
			return true
		}
	}
	if glob && strings.ContainsAny(part, "*?[") && !strings.HasPrefix(part, "*") {
		plain := strings.NewReplacer("*", "x", "?", "x").Replace(pattern)
		if ok, err := path.Match(part, plain); ok && err == nil {
			return true
		}
	}
	return false
}

// secretVariable reports whether the name of a variable of the environment says that it holds a secret.
func secretVariable(name string) bool {
	upper := strings.ToUpper(name)
	if len(upper) < 4 {
		return false
	}
	return slices.ContainsFunc(secretLists()["variables"], func(p string) bool {
		ok, err := path.Match(p, upper)
		return ok && err == nil
	})
}

// localFault returns why an address may not be used, unless it is one of this machine.
func localFault(w word) string {
	u, err := url.Parse(w.text)
	if !w.known() || err != nil || u.User != nil || u.Host == "" && u.Scheme != "unix" {
		return "the address " + shown(w)
	}
	switch u.Scheme {
	case "unix":
		return ""
	case "http", "https", "tcp":
		if host := u.Hostname(); host == "localhost" || host == "127.0.0.1" || host == "::1" {
			return ""
		}
	}
	return "the address " + shown(w)
}

// metadataHost returns why a URL may not be read, if it is that of a service that hands out the machine's credentials.
func metadataHost(target string) string {
	u, err := url.Parse(target)
	if err != nil {
		return "a malformed URL"
	}
	return hostFault(u.Hostname())
}

// hostFault returns why a host may not be asked: it hands out credentials, or may do so, since its spelling is not plain.
func hostFault(host string) string {
	name := strings.ToLower(strings.TrimRight(host, "."))
	addr, err := netip.ParseAddr(name)
	if slices.Contains(secretLists()["hosts"], name) || err == nil && (addr.Is4In6() || addr.IsLinkLocalUnicast() || slices.Contains(secretLists()["hosts"], addr.String())) {
		return "the address " + shown(word{text: host}) + ", which hands out credentials"
	}
	return probes.HostSpelling(name)
}
