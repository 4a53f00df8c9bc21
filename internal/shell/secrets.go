package shell

import (
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
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

func secretPath(text string, w word) string {
	clean := path.Clean(strings.TrimPrefix(text, "@"))
	lists := secretLists()
	base := path.Base(clean)
	if slices.ContainsFunc(lists["public"], func(p string) bool { return fits(p, base, false) }) {
		return ""
	}
	for _, p := range lists["names"] {
		if fits(p, base, w.glob) {
			return "the file " + shown(w) + ", which holds secrets"
		}
	}
	parts := strings.Split(clean, "/")
	for _, p := range lists["paths"] {
		want := strings.Split(p, "/")
		for at := 0; at+len(want) <= len(parts); at++ {
			all := true
			for i := range want {
				if !fits(want[i], parts[at+i], w.glob) {
					all = false
					break
				}
			}
			if all {
				return "the file " + shown(w) + ", which holds secrets"
			}
		}
	}
	return ""
}

// fits reports whether a part of a path is, or with its pattern may become, a name of a list.
func fits(pattern, part string, glob bool) bool {
	if pattern == part {
		return true
	}
	if strings.ContainsAny(pattern, "*?[") {
		if ok, err := path.Match(pattern, part); ok && err == nil && part != "*" && len(part) >= len(pattern) {
			return true
		}
	}
	if glob && strings.ContainsAny(part, "*?[") && !strings.HasPrefix(part, "*") {
		plain := strings.NewReplacer("*", "", "?", "x", "[", "", "]", "").Replace(pattern)
		if ok, err := path.Match(part, plain); ok && err == nil {
			return true
		}
	}
	return false
}

// secretVariable reports whether the name of a variable of the environment says that it holds a secret.
func secretVariable(name string) bool {
	upper := strings.ToUpper(name)
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
	if err == nil && slices.Contains(secretLists()["hosts"], strings.ToLower(u.Hostname())) {
		return "the address " + shown(word{text: u.Hostname()}) + ", which hands out credentials"
	}
	return ""
}
