package redact

// In texts that are not JSON, a secret is found by the name before it: password=…, --token …, "apiKey": …, env
// DB_PASSWORD …, whatever language they are in. A sign is looked for first, then the name before the sign
// (nameBefore); if it is one of a secret, the value is measured from the sign on (value.go). Names that are
// ambiguous, such as key, count only before an equals sign or in quotes.

import (
	"slices"
	"strings"
	"unicode"

	"github.com/fairlead-go/fairlead/internal/lazyregexp"
)

// What is between a name and its value. What is on the left of a match decides whether it is a secret.
var (
	between = lazyregexp.New(`(?i)[ \t]*(?:\|\||\?=|:{1,3}=|=>|=\\+u003e|[=:：＝]|%3[ad])|\s(?:is|was|set to|changed to|reset to)(?:[ \t]*[:=])?[ \t]`)
	option  = lazyregexp.New(`(?:^|[\s"'\x60\[(=,])(--?[A-Za-z][\w.\-]*)(?:["'\\]*,)?[ \t]+(?:\\+(?:\r?\n|n)[ \t]*)?`)
	tuple   = lazyregexp.New(`(?i)[(\[]\s*["'\\]+((?:[a-z0-9]+-)+[a-z0-9]+|authorization|cookie)["'\\]+,\s*`) // ("X-Api-Key", "…")
	setting = lazyregexp.New(`(?i)\b(?:env|arg|setx|set -\w+)[ \t]+(\w+)[ \t]+`)
	netrc   = lazyregexp.New(`(?i)\blogin\s+\S+\s+(password)\s+`)
	// {name: DB_PASSWORD, value: …}, <add key="ApiKey" value="…"/>, type="password" … value="…".
	pair = lazyregexp.New(`(?i)\b(?:name|key|header|variable|field|option|type|id)["'\\]*\s*[:=]\s*["'\\]*([\w.\-]+)["'\\]*(?:,?\s+|,|[^<>{}\r\n]{1,80}?\s)["'\\]*(?:value|val|content)["'\\]*\s*[:=]`)
	// page.fill('#password', '…'), find_element(By.ID, 'password').send_keys('…'), querySelector('#password').value = '…'.
	filled = lazyregexp.New(`(?i)\b(?:fill|type|pressSequentially|setValue|insertText)\\*\(\s*["'\x60\\]+([^\r\n]{1,80}?)["'\x60\\]+\s*,\s*`)
	field  = lazyregexp.New(`["'\x60]([^\r\n"'\x60]{1,80}?)["'\]\x60\\]+\s*\)(?:\.(?:first|last|nth|focus|clear)\([^)\r\n]{0,9}\))*\.(?:(?:fill|type|pressSequentially|setValue|sendKeys|send_keys|val)\(|value\s*=|setAttribute\(\s*["'\\]+value["'\\]+\s*,)\s*`)
	secret = lazyregexp.New(`(?m)(?:^|\\n)["' \t]*kind["']?:[ \t]*["']?Secret\b`) // of Kubernetes
)

// said are words about a secret that are not one.
var said = lazyregexp.New(`(?i)^(?:a|already|always|an|at|being|correct|empty|encrypted|expired|for|hashed|in|incorrect|invalid|missing|must|needed|never|no|none|not|now|null|nil|of|on|only|optional|required|revoked|set|still|stored|that|the|there|too|true|false|unset|used|valid|what|wrong)[.,;:!?)]*$`)

// assigned takes out the values behind the names of secrets.
func assigned(s string, found func(string)) string {
	kubernetes := strings.Contains(s, "Secret") && secret.MatchString(s)
	s = cut(s, between.FindAllStringIndex(s, -1), found, func(s string, m []int, kept int) (from, to int) {
		n := nameBefore(s, kept, m[0])
		sign := strings.TrimSpace(s[m[0]:m[1]])
		p := plain(n.text)
		switch {
		case kubernetes && (p == "data" || p == "stringdata"):
		case !IsSecret(n.text) && !IsSecret(n.two):
			return 0, 0
		case slices.Contains(words["unclear"], p) && !IsSecret(n.two) && !strings.HasPrefix(sign, "=") && !quoteAt(s, n.end).is:
			return 0, 0
		}
		from, to = n.value(s, m[1], sign)
		if strings.HasSuffix(p, "tokens") && strings.Trim(s[from:to], "0123456789., \t") == "" { // a count
			return 0, 0
		}
		return from, to
	})
	for _, shape := range []*lazyregexp.Regexp{option, tuple, setting, netrc, pair, filled, field} {
		s = cut(s, shape.FindAllStringSubmatchIndex(s, -1), found, func(s string, m []int, _ int) (from, to int) {
			if !IsSecret(s[m[2]:m[3]]) || strings.HasPrefix(s[m[1]:], "--") {
				return 0, 0
			}
			return name{start: m[2], end: m[3]}.value(s, m[1], "")
		})
	}
	return s
}

// cut puts the mark in the place of the value of each match.
func cut(s string, matches [][]int, found func(string), of value) string {
	var out strings.Builder
	kept := 0
	for _, m := range matches {
		if m[0] < kept {
			continue
		}
		from, to := of(s, m, kept)
		if from >= to || s[from:to] == Mark {
			continue
		}
		out.WriteString(s[kept:from])
		out.WriteString(Mark)
		found(s[from:to])
		kept = to
	}
	if kept == 0 {
		return s
	}
	out.WriteString(s[kept:])
	return out.String()
}

// A name is what is before a sign, and the same with the word before it.
type name struct {
	text, two  string
	start, end int
}

const longestName = 64

// nameBefore returns the name that ends at end, and begins after least.
func nameBefore(s string, least, end int) name {
	trimmed := strings.TrimRight(s[max(least, end-longestName):end], "\"'`\\])* \t")
	end = max(least, end-longestName) + len(trimmed)
	start := wordBefore(s, least, end)
	n := name{text: s[start:end], start: start, end: end}
	if start > least+1 && start < end && s[start-1] == ' ' {
		if two := s[wordBefore(s, least, start-1):end]; plain(two) != plain(n.text) {
			n.two = two
		}
	}
	return n
}

// wordBefore returns where the word begins that ends at end, not before least.
func wordBefore(s string, least, end int) int {
	least = max(least, end-longestName)
	return least + len(strings.TrimRightFunc(s[least:end], func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || unicode.Is(unicode.Cf, r) || strings.ContainsRune("_-.", r)
	}))
}
