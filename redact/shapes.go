package redact

import (
	"math"
	"regexp"
	"slices"
	"strings"
)

// keys holds the shapes of private keys, cut short at either end.
var keys = regexp.MustCompile(`(?is)-{4,5} ?BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)? ?-{4,5}.*?(?:-{4,5} ?END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)? ?-{4,5}|$)` +
	`|(?:[A-Za-z0-9+/=]+(?:\s|\\+[rn])+)+-{4,5} ?END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)? ?-{4,5}` +
	`|\bPrivate-Lines: *\d+.*?(?:Private-MAC|$)`) // PuTTY's

// table holds the shapes of secrets, in the order in which they are looked for, each
// with what a text must have in it, in lower case, to be worth a look. The first
// group is kept.
var table = []struct {
	hints []string
	shape *regexp.Regexp
}{
	{[]string{"="}, regexp.MustCompile(`(?i)([?&;](?:sig|signature|x-amz-signature|x-goog-signature|code|key|auth|sid|pin|otp)=)[^&\s"'#]+`)},
	{[]string{"bearer", "basic", "negotiate"}, regexp.MustCompile(`(?i)(\b(?:bearer|basic|negotiate)(?:\s|\\+[rn])+)[\w+/=.~\-]{8,}`)},
	{[]string{"pass"}, regexp.MustCompile(`(?i)(\bpass(?:word|wd|phrase|code)\s+(?:for\s+\S+\s+(?:is\s+)?)?)(?:\\*"[^"\r\n]+"|\\*'[^'\r\n]+')`)},
	{[]string{"pass"}, regexp.MustCompile(`(?i)(\bpass(?:word|wd|phrase|code)\s+(?:for|of)\s+\S+\s+is\s+)[^\s"',;]+`)},
	// What programs take without a name for it.
	{[]string{"sshpass", "docker", "mysql", "mariadb"}, regexp.MustCompile(`((?:\bsshpass|\bdocker login|\bmysql\w*|\bmariadb[\w\-]*)\b[^\r\n|;&]*?\s-p *)(?:"[^"]*"|'[^']*'|[^\s"']+)`)},
	{[]string{"redis-cli"}, regexp.MustCompile(`(\bredis-cli\b[^\r\n|;&]*?\s-a *)(?:"[^"]*"|'[^']*'|[^\s"']+)`)},
	{[]string{"curl"}, regexp.MustCompile(`(\bcurl\b[^\r\n|;]*?\s(?:-[uU]|--user|--proxy-user)[ =]?["']?[^\s:"']*:)[^\s"']+`)},
	{[]string{"curl"}, regexp.MustCompile(`(\bcurl\b[^\r\n|;]*?\s(?:-b|--cookie)[ =]?)(?:"[^"]*"|'[^']*'|[^\s"']+=[^\s"']+)`)},
	{[]string{"@tcp(", "@unix("}, regexp.MustCompile(`([\w.\-]+:)[^\s:@"'<>]+@(?:tcp|unix)\(`)},
	{[]string{"jdbc:oracle:"}, regexp.MustCompile(`(?i)(jdbc:oracle:\w+:[^\s/:@]+/)[^\s@/]+@`)},
	// User and password before a host, which is no host with a port before a path.
	{[]string{"://", `:\/`}, regexp.MustCompile(`([A-Za-z][\w+.\-]*:(?:\\*/){2})(?:[^/\s"'<>?#]+|[^/\s:@"'<>]+:[^\s@"'<>]+)@`)},
	// Tokens that say themselves what they are.
	{[]string{"eyj"}, regexp.MustCompile(`()\beyJ[\w\-]{5,}\.(?:eyJ[\w\-]*|[\w\-]{5,}\.[\w\-]*)(?:\.[\w\-]*)*`)},
	{[]string{"akia", "asia", "aroa", "aida", "abia", "acca"}, regexp.MustCompile(`()\b(?:AKIA|ASIA|AROA|AIDA|ABIA|ACCA)[A-Z0-9]{16}\b`)},
	{[]string{"gh", "github_pat_"}, regexp.MustCompile(`()\b(?:gh[pousr]_\w{16,}|github_pat_\w{20,})`)},
	{[]string{"gl"}, regexp.MustCompile(`()\bgl(?:pat|ptt|rt|dt|soat)-[\w\-]{16,}`)},
	{[]string{"xox", "xapp-"}, regexp.MustCompile(`()\b(?:xox[a-z](?:\.xox[a-z])?|xapp)-[\w\-]{8,}`)},
	{[]string{"hooks.slack.com"}, regexp.MustCompile(`(hooks\.slack\.com/(?:services|workflows)/)[\w/]+`)},
	{[]string{"/webhooks/"}, regexp.MustCompile(`(/api/webhooks/\d+/)[\w\-]+`)},                                                // Discord
	{[]string{":aa"}, regexp.MustCompile(`(\d{6,}:)AA[\w\-]{30,}`)},                                                            // Telegram
	{[]string{"k_live_", "k_test_", "whsec_"}, regexp.MustCompile(`()\b(?:[srp]k_(?:live|test)_\w{8,}|whsec_[\w+/=]{8,})`)},    // Stripe
	{[]string{"sk-", "gsk_", "xai-", "pplx-"}, regexp.MustCompile(`()\b(?:sk-[\w\-]{12,}|(?:gsk_|xai-|pplx-)\w{20,})`)},        // providers of models
	{[]string{"aiza", "ya29.", "gocspx-"}, regexp.MustCompile(`()\b(?:AIza[\w\-]{30,}|ya29\.[\w\-]{16,}|GOCSPX-[\w\-]{16,})`)}, // Google
	{
		[]string{"npm_", "pypi-", "hf_", "dckr_pat_", "sg.", "shp", "age-secret-key-", "rubygems_", "dop_v1_", "dapi"},
		regexp.MustCompile(`()\b(?:npm_\w{30,}|pypi-[\w\-]{16,}|hf_\w{20,}|dckr_pat_[\w\-]{16,}|SG\.[\w\-]{16,}\.[\w\-]{16,}|shp(?:at|ca|pa|ss)_\w{20,}|AGE-SECRET-KEY-\w+|rubygems_\w{40,}|dop_v1_\w{40,}|dapi[0-9a-f]{32})`),
	},
	{
		[]string{"hvs.", "dp.", "ntn_", "lin_api_", "figd_", "atatt3", "tskey-", "nrak-", "sq0"},
		regexp.MustCompile(`()\b(?:hvs\.[\w\-]{16,}|dp\.[a-z]{2,5}\.\w{30,}|ntn_\w{20,}|lin_api_\w{20,}|figd_[\w\-]{16,}|ATATT3[\w\-=]{20,}|tskey-[\w\-]{16,}|NRAK-[A-Z0-9]{20,}|sq0[a-z]{3}-[\w\-]{20,})`),
	},
}

// shapes takes out what looks like a secret, and tells what. It looks again at what
// is left: what was taken out may have stood between a name and its value.
func shapes(s string, found func(secret string)) string {
	for range maxTries {
		clean := once(s, found)
		if clean == s {
			return s
		}
		s = clean
	}
	return Mark
}

func once(s string, found func(secret string)) string {
	s = cut(s, keys.FindAllStringIndex(s, -1), found, func(m []int, _ int) (int, int) { return m[0], m[1] })
	s = elements(s, found)
	s = assigned(s, found)
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
	return cut(s, shape.FindAllStringSubmatchIndex(s, -1), found, func(m []int, _ int) (from, to int) {
		if strings.HasPrefix(s[m[3]:], Mark) || withPort.MatchString(s[m[0]:m[1]]) {
			return 0, 0
		}
		return m[3], m[1]
	})
}

// withPort is what only looks as if a user and a password stood before a host.
var withPort = regexp.MustCompile(`^https?:(?:\\*/){2}(?:localhost|\[[0-9a-f:]+\]|[\w\-]+(?:\.[\w\-]+)+):\d{1,5}\\*/[^:]*@$`)

var run = regexp.MustCompile(`[\w+\-=]{32,}`)

// random takes out long runs without a word in them: letters of both cases and
// digits, in no order that a language has. Digests in hexadecimal and UUIDs have one
// case, and stay.
func random(s string, found func(string)) string {
	const entropy = 4.0 // bits a byte; a word of that length has less
	return cut(s, run.FindAllStringIndex(s, -1), found, func(m []int, _ int) (from, to int) {
		if run := s[m[0]:m[1]]; mixed(run) && bits(run) >= entropy {
			return m[0], m[1]
		}
		return 0, 0
	})
}

func mixed(run string) bool {
	return strings.ContainsAny(run, "0123456789") && strings.ToLower(run) != run && strings.ToUpper(run) != run
}

// bits is Shannon's entropy of the bytes.
func bits(run string) float64 {
	var count [256]float64
	for i := range len(run) {
		count[run[i]]++
	}
	sum := 0.0
	for _, n := range count {
		if n > 0 {
			p := n / float64(len(run))
			sum -= p * math.Log2(p)
		}
	}
	return sum
}
