package shell

import (
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/fairlead-go/fairlead/internal/probes"
)

// curlCommand judges what curl is asked for beyond its options.
func curlCommand(_ *reader, _ *row, p parsed, _ *scope) string {
	if why := curlData(p); why != "" {
		return why
	}
	for _, o := range p.options {
		if why := curlRoute(o); why != "" {
			return why
		}
		switch o.name {
		case "--etag-compare":
			if why := secretFile(o.value); why != "" {
				return why
			}
		case "-H", "--header", "--proxy-header", "-b", "--cookie", "-A", "--user-agent", "-e", "--referer", "-w", "--write-out":
			if why := secretFile(o.value); why != "" {
				return why
			}
			if why := headerFault(o); why != "" {
				return why
			}
			low := strings.ToLower(o.value.text)
			if (o.name == "-w" || o.name == "--write-out") && (strings.Contains(low, "%output{") || strings.HasPrefix(low, "@")) {
				return "the format " + shown(o.value)
			}
			if strings.HasPrefix(low, "@") {
				return "the file " + shown(o.value)
			}
		}
	}
	return ""
}

// curlRoute judges where an option of curl sends the request beside the URL that is named, as curl(1) has it.
func curlRoute(o given) string {
	if !o.has {
		return ""
	}
	text, hosts := o.value.text, []string(nil)
	switch o.name {
	case "--url", "--doh-url":
		return urlsFault([]word{o.value})
	case "--url-query":
		return queryFault(o.value)
	case "-x", "--proxy", "--preproxy", "--proxy1.0", "--socks4", "--socks4a", "--socks5", "--socks5-hostname":
		if !strings.Contains(text, "://") {
			text = "http://" + text
		}
		if u, err := url.Parse(text); err == nil && u.Hostname() != "" {
			hosts = append(hosts, u.Hostname())
		}
	case "--connect-to": // HOST1:PORT1:HOST2:PORT2
		hosts = append(hosts, hostBetween(text, 2))
	case "--resolve": // [+]HOST:PORT:ADDRESS[,ADDRESS]
		for address := range strings.SplitSeq(strings.TrimPrefix(text, "+"), ",") {
			hosts = append(hosts, hostBetween(address, 2), hostBetween(address, 0))
		}
	default:
		return ""
	}
	if !o.value.known() || len(hosts) == 0 {
		return "an address that is not known, behind " + probes.Shown(o.name)
	}
	for _, host := range hosts {
		if host == "" {
			continue // the one of the URL
		}
		if why := hostFault(host); why != "" {
			return why
		}
	}
	return ""
}

// curlData judges what curl sends along. With -G it becomes the query of the URL; without, the body of a POST.
func curlData(p parsed) string {
	for _, o := range p.options {
		switch o.name {
		case "-d", "--data", "--data-ascii", "--data-binary", "--data-raw", "--data-urlencode":
		default:
			continue
		}
		if !p.has("-G", "--get") || p.has("-:", "--next") {
			return "the option " + o.name
		}
		name, _, _ := strings.Cut(o.value.text, "=")
		if strings.Contains(name, "@") {
			return "the file behind " + o.name
		}
		for part := range strings.SplitSeq(o.value.text, "&") {
			if why := queryFault(o.value.with(part)); why != "" {
				return why
			}
		}
	}
	return ""
}

// hostBetween returns the part of a text with a number of colons before it. An address in brackets is one part.
func hostBetween(text string, colons int) string {
	for range colons {
		if rest, ok := strings.CutPrefix(text, "["); ok {
			_, text, _ = strings.Cut(rest, "]")
		}
		_, text, _ = strings.Cut(text, ":")
	}
	if rest, ok := strings.CutPrefix(text, "["); ok {
		text, _, _ = strings.Cut(rest, "]")
		return text
	}
	if _, err := netip.ParseAddr(text); err == nil {
		return text
	}
	text, _, _ = strings.Cut(text, ":")
	return text
}

// queryFault judges what curl adds to the query of a URL: name=text, and not the contents of a file, which name@file is.
func queryFault(w word) string {
	name, text, has := strings.Cut(strings.TrimPrefix(w.text, "+"), "=")
	switch {
	case !w.known() || strings.Contains(name, "@"):
		return "what it adds to the URL: " + shown(w)
	case !has:
		return probes.URLFault("GET", "http://host/?"+url.QueryEscape(name))
	}
	return probes.URLFault("GET", "http://host/?"+url.QueryEscape(name)+"="+url.QueryEscape(text))
}

// headerFault judges a header, and what becomes one: some make another request of it than the URL says.
func headerFault(o given) string {
	if !o.value.known() {
		return "a header or text that is not known"
	}
	if o.name != "-H" && o.name != "--header" && o.name != "--proxy-header" {
		return ""
	}
	for line := range strings.Lines(strings.ToLower(o.value.text)) {
		name, text, _ := strings.Cut(line, ":")
		name = strings.ReplaceAll(strings.TrimSpace(name), "_", "-")
		if name == "host" {
			if why := hostFault((&url.URL{Host: strings.TrimSpace(text)}).Hostname()); why != "" {
				return why
			}
		}
		for _, part := range []string{"method", "override", "verb", "original-url", "rewrite-url"} {
			if strings.Contains(name, part) && !strings.HasPrefix(name, "access-control-") {
				return "the header " + shown(o.value)
			}
		}
	}
	return ""
}

// ftpReads are the commands of FTP that change no file. Source: RFC 959, RFC 3659.
var ftpReads = strings.Fields("CDUP CWD PWD LIST NLST MLSD MLST SIZE MDTM STAT SYST HELP NOOP TYPE MODE STRU PASV EPSV FEAT OPTS REST")

// ftpFault judges a command that curl sends to an FTP server.
func ftpFault(w word) string {
	command, _, _ := strings.Cut(strings.TrimLeft(w.text, "-+*"), " ")
	if !w.known() || !slices.Contains(ftpReads, strings.ToUpper(command)) {
		return "the command " + shown(w)
	}
	return ""
}

// fetchCommand requires of wget that nothing is stored: --spider, or the output to - or /dev/null.
func fetchCommand(_ *reader, _ *row, p parsed, _ *scope) string {
	for _, o := range p.options {
		if o.name == "--header" {
			if why := headerFault(o); why != "" {
				return why
			}
		}
	}
	if p.has("--spider", "-O", "--output-document", "--help", "--version", "-V", "-h") {
		return ""
	}
	return "a page that it stores in a file"
}
