package probes

import (
	"encoding/json"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"github.com/fairlead-go/fairlead/internal/strictjson"
)

// Request judges a request of HTTP that is sent from here: a line or a head as [HTTP] reads it, a URL alone, which is got,
// or a JSON object with the URL as "text", and maybe "method", "headers", "query" and "body". It is a read if HTTP calls
// it one and its host is not inside: an address of a private network or of this machine, or the name of one.
func Request(text string) Verdict { return request(text, true) }

// LocalRequest is [Request] for a tool that is meant for addresses inside.
func LocalRequest(text string) Verdict { return request(text, false) }

func request(text string, outside bool) Verdict {
	var v Verdict
	target := text
	switch {
	case strings.HasPrefix(strings.TrimSpace(text), "{"):
		r, why := requestParts(text)
		if why != "" {
			return Harmful(why)
		}
		v, target = r.judge(), r.target
	case !strings.Contains(text, " "):
		if why := Plain(text); why != "" || strings.Contains(text, "\n") {
			return Harmful("no URL")
		}
		v = httpRequest(http.MethodGet, target)
	default:
		v = HTTP(text)
		_, target, _ = strings.Cut(text, " ")
		target, _, _ = strings.Cut(target, " ")
	}
	if u, err := url.Parse(strings.TrimRight(target, "\r\n")); outside && v.Annotations.Safety() == Harmless("").Annotations.Safety() {
		if err != nil {
			return Harmful("a malformed URL")
		}
		for _, host := range append(hostHeaders(text), u.Host) {
			if why := insideHost(host); why != "" {
				return Harmful(why)
			}
		}
	}
	return v
}

// hostHeaders returns the hosts that the head of a request names.
func hostHeaders(text string) (hosts []string) {
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.EqualFold(strings.TrimSpace(name), "host") {
			hosts = append(hosts, strings.TrimSpace(value))
		}
	}
	return hosts
}

// insideHost is inside for a host that may have a port, "" for none.
func insideHost(host string) string {
	if host == "" {
		return ""
	}
	return inside((&url.URL{Host: host}).Hostname())
}

// An httpParts is a request whose parts are arguments of their own.
type httpParts struct {
	method, target string
	headers        map[string]string
	body           json.RawMessage
}

// requestParts reads the JSON object of a request, or returns what is wrong with it.
func requestParts(text string) (r httpParts, why string) {
	if len(text) > maxProbed {
		return r, Plain(text)
	}
	members, ok := strictjson.Members([]byte(text))
	if !ok || !json.Valid([]byte(text)) {
		return r, "no request"
	}
	r.method = http.MethodGet
	seen := make(map[string]bool)
	var query json.RawMessage
	for _, m := range members {
		if seen[m.Name] {
			return r, "the part " + Shown(m.Name) + ", which is given twice"
		}
		seen[m.Name] = true
		err := error(nil)
		switch none := string(m.Value) == "null" || string(m.Value) == `""`; {
		case m.Name == "text":
			err = json.Unmarshal(m.Value, &r.target)
		case none:
		case m.Name == "method":
			err = json.Unmarshal(m.Value, &r.method)
		case m.Name == "headers":
			r.headers, why = headersOf(m.Value)
		case m.Name == "body":
			r.body = m.Value
		case m.Name == "query":
			query = m.Value
		default:
			return r, "the part " + Shown(m.Name)
		}
		if err != nil || why != "" {
			return r, firstOf(why, "the part "+Shown(m.Name)+" is of another type")
		}
	}
	if why := Plain(r.target + r.method); why != "" || strings.ContainsAny(r.target+r.method, "\n\t ") {
		return r, firstOf(why, "a blank in the URL or the method")
	}
	r.method = strings.ToUpper(r.method)
	if query != nil {
		why = r.ask(query)
	}
	return r, why
}

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// headersOf reads the headers of a request: an object of texts, or such an object as a text.
func headersOf(raw json.RawMessage) (map[string]string, string) {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		raw = json.RawMessage(text)
	}
	members, ok := strictjson.Members(raw)
	if !ok || !json.Valid(raw) {
		return nil, "headers that cannot be read"
	}
	headers := make(map[string]string, len(members))
	for _, m := range members {
		value := ""
		if json.Unmarshal(m.Value, &value) != nil || Plain(m.Name+value) != "" || strings.ContainsAny(m.Name+value, "\n") {
			return nil, "the header " + Shown(m.Name)
		}
		headers[m.Name] = value
	}
	return headers, ""
}

// ask appends the parameters that are an argument of their own to the URL.
func (r *httpParts) ask(raw json.RawMessage) string {
	values, text := url.Values{}, ""
	if json.Unmarshal(raw, &text) != nil {
		members, ok := strictjson.Members(raw)
		if !ok {
			return "a query that servers read differently"
		}
		for _, m := range members {
			value := ""
			if json.Unmarshal(m.Value, &value) != nil {
				if value = string(m.Value); strings.ContainsAny(value, "[{") {
					return "the parameter " + Shown(m.Name) + " of many parts"
				}
			}
			values.Add(m.Name, value)
		}
		text = values.Encode()
	}
	sign := "?"
	if strings.Contains(r.target, "?") {
		sign = "&"
	}
	r.target += sign + strings.TrimLeft(text, "?&")
	return ""
}

// judge judges the parts. A body asks, but for one of GraphQL that is posted and holds queries only.
func (r *httpParts) judge() Verdict {
	for name := range r.headers {
		if canonical := http.CanonicalHeaderKey(name); !in("httpHeaders", canonical) && !in("httpBodyHeaders", canonical) {
			return Harmful("the header " + Shown(name))
		}
	}
	if r.body == nil {
		return httpRequest(r.method, r.target)
	}
	if r.method != http.MethodPost || !graphQLPath(r.target) {
		return Harmful("the method " + Shown(r.method) + " with a body")
	}
	above := strings.TrimSuffix(strings.TrimSuffix(r.target, "/"), "graphql") // which asks for a document in the query
	if why := URLFault(http.MethodGet, above); why != "" || strings.Contains(r.target, "?") {
		return Harmful(firstOf(why, "a GraphQL request whose document may be elsewhere"))
	}
	text := string(r.body)
	if inner := ""; json.Unmarshal(r.body, &inner) == nil {
		text = inner
	}
	why, ok := graphBody(text)
	if !ok || why != "" {
		return Harmful(firstOf(why, "a body that is not GraphQL"))
	}
	return Harmless("POST of GraphQL queries only")
}

// graphQLPath reports whether a URL ends in what servers of GraphQL are called.
func graphQLPath(target string) bool {
	u, err := url.Parse(target)
	return err == nil && strings.HasSuffix(strings.TrimSuffix(u.Path, "/"), "/graphql")
}

// inside returns what makes a host one of this machine, of a private network, or one that cannot be read; "" for one of
// the internet. A number may be written in ways that Go does not read and others do.
func inside(host string) string {
	name := strings.ToLower(strings.TrimSuffix(host, "."))
	if addr, err := netip.ParseAddr(name); err == nil {
		if !public(addr) {
			return "the address " + Shown(host) + ", which is inside"
		}
		return ""
	}
	if why := HostSpelling(host); why != "" {
		return why
	}
	labels := strings.Split(name, ".")
	last := labels[len(labels)-1]
	if len(labels) == 1 || in("httpInside", last) {
		return "the host " + Shown(host) + ", which is inside"
	}
	for i := range labels {
		if in("httpInside", strings.Join(labels[i:], ".")) {
			return "the host " + Shown(host) + ", which is inside"
		}
	}
	return ""
}

// HostSpelling returns what in the spelling of a host is not plain, so that a program may read another host in it than Go
// does: 2852039166 and 0251.0376.0251.0376 are addresses. It is "" for a name and for an address as Go writes it.
func HostSpelling(host string) string {
	name := strings.ToLower(strings.TrimSuffix(host, "."))
	if _, err := netip.ParseAddr(name); err == nil {
		return ""
	}
	if strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789.-_") != "" || name == "" {
		return "the host " + Shown(host) + " in a spelling that is not plain"
	}
	last := name[strings.LastIndexByte(name, '.')+1:]
	if _, err := strconv.ParseUint(last, 0, 64); err == nil || strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x") {
		return "the address " + Shown(host) + " in a spelling that is not plain"
	}
	return ""
}

// notPublic are networks that netip has no name for: of carriers, of protocols and tests, and those of IPv6 that hold an
// address of IPv4.
var notPublic = func() (all []netip.Prefix) {
	for _, p := range []string{
		"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
		"240.0.0.0/4", "168.63.129.16/32", "::/8", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20",
		"5f00::/16", "fec0::/10",
	} {
		all = append(all, netip.MustParsePrefix(p))
	}
	return all
}()

func public(addr netip.Addr) bool {
	addr = addr.Unmap()
	if addr.Zone() != "" || !addr.IsGlobalUnicast() || addr.IsPrivate() {
		return false
	}
	for _, p := range notPublic {
		if p.Contains(addr) {
			return false
		}
	}
	return true
}
