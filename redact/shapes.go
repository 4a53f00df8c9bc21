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
	{[]string{"ey"}, regexp.MustCompile(`()\b(?:eyJ[\w\-]{5,}\.(?:eyJ[\w\-]*|[\w\-]{5,}\.[\w\-]*)(?:\.[\w\-]*)*|ey\w{17,}\.ey[\w\-/\\]{17,}\.[\w\-/\\=]*)`)},
	{[]string{"akia", "asia", "aroa", "aida", "abia", "acca"}, regexp.MustCompile(`()\b(?:AKIA|ASIA|AROA|AIDA|ABIA|ACCA)[A-Z0-9]{16}\b`)},
	{[]string{"xox", "xapp-"}, regexp.MustCompile(`(?i)()\b(?:xox[a-z](?:\.xox[a-z])?|xapp)-[\w\-]{8,}`)},
	{[]string{"hooks.slack.com"}, regexp.MustCompile(`(hooks\.slack\.com/(?:services|workflows|triggers)/)[\w/+]+`)},
	{[]string{"webhook.office.com"}, regexp.MustCompile(`(webhook\.office\.com/webhookb2/)[\w\-@/]+`)},
	{[]string{"/webhooks/"}, regexp.MustCompile(`(/api/webhooks/\d+/)[\w\-]+`)}, // Discord
	{[]string{":aa"}, regexp.MustCompile(`(\d{6,}:)AA[\w\-]{30,}`)},             // Telegram
	{[]string{"aiza"}, regexp.MustCompile(`()\bAIza[\w\-]{30,}`)},               // Google
	{[]string{"sg."}, regexp.MustCompile(`()\bSG\.[\w\-=.]{32,}`)},              // SendGrid
	// Tokens by what stands inside them, or by their length and case.
	{[]string{"eaa", "ltai", "akcp", "cmvmd", "absk", "api-", "sk", "4b1d"}, regexp.MustCompile(
		`()\b(?:EAA[A-Z][\w\-]{18,}|LTAI\w{20}|AKCp\w{60,}|cmVmd\w{50,}|ABSK[\w+/]{60,}|API-[A-Z0-9]{26}\b|SK[0-9a-fA-F]{32}\b|4b1d\w{38}\b)`)},
	{[]string{"a3-", "v1.0-", "pat", "sat."}, regexp.MustCompile(
		`()\b(?:A3-[A-Z0-9]{6}-[A-Z0-9\-]{23,}|v1\.0-[a-f0-9]{24}-[a-f0-9]{100,}|pat\w{14}\.[a-f0-9]{64}|[ps]at\.[\w\-]{22}\.\w{24}\.\w{20})`)},
	{[]string{".acc", ".atlasv1.", "_mmk", "q~"}, regexp.MustCompile(
		`()(?:\b\w{5,40}\.\w{4,6}\.acc[_\-][\w\-.+/=]{30,}|\b\w{14}\.atlasv1\.[\w\-=]{40,}|\b\w{6}_\w{29}_mmk\b|[\w~.]{3}\dQ~[\w~.\-]{31,34})`)},
	{[]string{"|", "%"}, regexp.MustCompile(`()\b\d{15,16}[|%][\w\-]{27,40}`)},         // Facebook
	{[]string{"s."}, regexp.MustCompile(`()\bs\.[A-Za-z]{0,8}\d[A-Za-z0-9]{15,23}\b`)}, // HashiCorp's Vault
	{[]string{"_session="}, regexp.MustCompile(`(_session=)[\w%\-.]{16,}`)},
	{[]string{"contribsys__com"}, regexp.MustCompile(`(?i)(contribsys__com\W{1,6})[\w:]+`)},
	{[]string{"identified"}, regexp.MustCompile(`(?i)(\bidentified\s+(?:with\s+\S+\s+)?(?:by|as)\s+(?:password\s+)?)(?:\\*'[^']*'|\\*\"[^\"]*\")`)},
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
	s = cut(s, keys.FindAllStringIndex(s, -1), found, whole)
	s = elements(s, found)
	s = assigned(s, found)
	lower := strings.ToLower(strings.ToUpper(s)) // as (?i) folds, ſ and K too
	for _, row := range table {
		if containsAny(lower, row.hints) {
			s = replace(s, row.shape, found)
		}
	}
	return random(formats(s, found), found)
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

var element = regexp.MustCompile(`(?:<|\\+u003c)(/?)((?:[\w.\-]+:)?[\w.\-]+)(?:\s[^<>]*?)?(?:>|\\+u003e)`)

// elements takes out what stands in elements of XML that a secret is the name of.
func elements(s string, found func(string)) string {
	if !strings.Contains(s, "</") && !strings.Contains(s, "u003c/") {
		return s
	}
	tags := element.FindAllStringSubmatchIndex(s, -1)
	ends := make(map[string][]int)
	for _, m := range tags {
		if m[2] < m[3] {
			ends[s[m[4]:m[5]]] = append(ends[s[m[4]:m[5]]], m[0])
		}
	}
	return cut(s, tags, found, func(m []int, _ int) (from, to int) {
		tag := s[m[4]:m[5]]
		if m[2] < m[3] || strings.HasSuffix(strings.TrimRight(s[:m[1]], `u03e\>`), "/") || !IsSecret(tag) {
			return 0, 0
		}
		if i, _ := slices.BinarySearch(ends[tag], m[1]); i < len(ends[tag]) {
			return m[1], ends[tag][i]
		}
		return 0, 0
	})
}
