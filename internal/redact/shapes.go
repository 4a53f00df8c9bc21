package redact

import (
	"math"
	"regexp"
	"slices"
	"strings"
)

// words are what a secret is called in running text, in their spellings.
var words = []string{"pass", "pwd", "secret", "token", "key", "credential", "authorization", "cookie"}

const word = `(?:pass(?:word|wd|phrase|code)|pwd|secret|token|api[_\-. ]?key|(?:access|private|account|shared|signing)[_\-. ]?key|credentials?|authorization|cookie)`

// table holds the shapes of secrets, in the order in which they are looked for, each
// with what a text must have in it, in lower case, to be worth a look. The first
// group is kept.
var table = []struct {
	hints []string
	shape *regexp.Regexp
}{
	{[]string{"-----begin"}, regexp.MustCompile(`(?s)()-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|$)`)},
	// Headers hold several parts, to the end of the line.
	{[]string{"cookie", "authorization"}, regexp.MustCompile(`(?i)((?:cookie|authorization)["'\\]*\s*:\s*)[^\r\n]+`)},
	// What is said to be one: password=…, "api_key": "…", the token is …
	{words, regexp.MustCompile(`(?i)(` + word + `[\w.\-]*["'\\]*\s*(?::=|=>|=|:|\s(?:is|was)\s)\s*(?:(?:bearer|basic)\s+)?)(?:\\*"[^"]*"?|\\*'[^']*'?|[^\s,;&"'})]+)`)},
	{words, regexp.MustCompile(`(?i)(-` + word + `[\w\-]*\s+)(?:"[^"]*"?|'[^']*'?|\S+)`)},
	{[]string{"="}, regexp.MustCompile(`(?i)([?&;](?:sig|signature|x-amz-signature|x-goog-signature|code|key|auth|sid|pin|otp)=)[^&\s"'#]+`)},
	{[]string{"bearer", "basic"}, regexp.MustCompile(`(?i)(\b(?:bearer|basic)\s+)[\w+/=.~\-]{8,}`)},
	// User and password before a host.
	{[]string{"://"}, regexp.MustCompile(`([A-Za-z][\w+.\-]*://)(?:[^/\s"'<>?#]+|[^/\s:@"'<>]+:[^\s@"'<>]+)@`)},
	// Tokens that say themselves what they are.
	{[]string{"eyj"}, regexp.MustCompile(`()\beyJ[\w\-]{5,}\.[\w\-]{5,}\.[\w\-]*`)},
	{[]string{"akia", "asia", "aroa", "aida", "abia", "acca"}, regexp.MustCompile(`()\b(?:AKIA|ASIA|AROA|AIDA|ABIA|ACCA)[A-Z0-9]{16}\b`)},
	{[]string{"gh", "github_pat_"}, regexp.MustCompile(`()\b(?:gh[pousr]_\w{16,}|github_pat_\w{20,})`)},
	{[]string{"gl"}, regexp.MustCompile(`()\bgl(?:pat|ptt|rt|dt|soat)-[\w\-]{16,}`)},
	{[]string{"xox", "xapp-"}, regexp.MustCompile(`()\b(?:xox[a-z]|xapp)-[\w\-]{8,}`)},
	{[]string{"hooks.slack.com"}, regexp.MustCompile(`(hooks\.slack\.com/(?:services|workflows)/)[\w/]+`)},
	{[]string{"k_live_", "k_test_", "whsec_"}, regexp.MustCompile(`()\b(?:[srp]k_(?:live|test)_\w{8,}|whsec_[\w+/=]{8,})`)},    // Stripe
	{[]string{"sk-"}, regexp.MustCompile(`()\bsk-[\w\-]{12,}`)},                                                                // providers of models
	{[]string{"aiza", "ya29.", "gocspx-"}, regexp.MustCompile(`()\b(?:AIza[\w\-]{30,}|ya29\.[\w\-]{16,}|GOCSPX-[\w\-]{16,})`)}, // Google
	{
		[]string{"npm_", "pypi-", "hf_", "dckr_pat_", "sg.", "shpat_", "age-secret-key-"},
		regexp.MustCompile(`()\b(?:npm_\w{30,}|pypi-[\w\-]{16,}|hf_\w{20,}|dckr_pat_[\w\-]{16,}|SG\.[\w\-]{16,}\.[\w\-]{16,}|shpat_\w{20,}|AGE-SECRET-KEY-\w+)`),
	},
}

// shapes takes out what looks like a secret, and tells what.
func shapes(s string, found func(secret string)) string {
	lower := strings.ToLower(strings.ToUpper(s)) // as (?i) folds, ſ and K too
	for _, row := range table {
		if slices.ContainsFunc(row.hints, func(hint string) bool { return strings.Contains(lower, hint) }) {
			s = replace(s, row.shape, found)
		}
	}
	return random(s, found)
}

// replace puts the mark in the place of all but the first group.
func replace(s string, shape *regexp.Regexp, found func(string)) string {
	at := shape.FindAllStringSubmatchIndex(s, -1)
	if at == nil {
		return s
	}
	var out strings.Builder
	kept := 0
	for _, m := range at {
		if strings.HasPrefix(s[m[3]:], Mark) {
			continue
		}
		out.WriteString(s[kept:m[3]])
		out.WriteString(Mark)
		found(s[m[3]:m[1]])
		kept = m[1]
	}
	out.WriteString(s[kept:])
	return out.String()
}

// random takes out long runs without a word in them: letters of both cases and
// digits, in no order that a language has. Digests in hexadecimal and UUIDs have one
// case, and stay.
func random(s string, found func(string)) string {
	const shortest, entropy = 32, 4.0 // bits a byte; a word of that length has less
	var out strings.Builder
	kept := 0
	for i := 0; i < len(s); {
		end := i
		for end < len(s) && isTokenByte(s[end]) {
			end++
		}
		if run := s[i:end]; len(run) >= shortest && mixed(run) && bits(run) >= entropy {
			out.WriteString(s[kept:i])
			out.WriteString(Mark)
			found(run)
			kept = end
		}
		i = end + 1
	}
	if kept == 0 {
		return s
	}
	out.WriteString(s[kept:])
	return out.String()
}

func isTokenByte(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || b == '+' || b == '_' || b == '-' || b == '='
}

func mixed(run string) bool {
	return strings.ContainsAny(run, "0123456789") && strings.ToLower(run) != run && strings.ToUpper(run) != run
}

// bits is Shannon's entropy of the bytes.
func bits(run string) float64 {
	var count [256]int
	for i := range len(run) {
		count[run[i]]++
	}
	sum := 0.0
	for _, n := range count {
		if n > 0 {
			p := float64(n) / float64(len(run))
			sum -= p * math.Log2(p)
		}
	}
	return sum
}
