package redact

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// prefixes begin the tokens of issuers. Behind one, in any case, stand at least 16
// characters of a token, or as many as the number behind the colon.
var prefixes = strings.Fields(`
ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ glpat- glptt- glrt- gldt- glsoat- glcbt- glffct- glft- glimt- glagent- gloas- gr1348941
sk_live_:8 sk_test_:8 sk_prod_:8 rk_live_:8 rk_test_:8 rk_prod_:8 pk_live_:8 pk_test_:8 whsec_:8 sk-:12 gsk_:20 xai-:20 pplx-:20
ops_eyj a3-rmss age-secret-key-1 api_org_ atatt3 bedrock-api-key- clojars_:40 dapi:32 dckr_pat_ dnkey-:32 doo_v1_ dop_v1_ dor_v1_
dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit. dt0c01. duffel_live_ duffel_test_ ezak:40 eztk:40 figd_ fio-u-:40 flwpubk_test-
flwseck_test-:12 fm1a_:40 fm1r_:40 fm2_:40 fo1_:40 gocspx- glc_:32 glsa_:32 hf_:20 hrku-aa:40 hvb.:40 hvs. ico-:32 lin_api_ npm_:30
nrak- nrii- nrjs- ntn_:20 p8e-:32 pmak- pnu_:32 pscale_oauth_ pscale_pw_ pscale_tkn_ pul-:40 pypi- rdme_:32 rubygems_:40 s-s4t2af-
s-s4t2ud- sgp_:32 sha256~:40 shippo_live_ shippo_test_ shpat_ shpca_ shppa_ shpss_ sm_aat_ sm_pat_ sm_sat_ sntrys_ sntryu_ sqa_:32
sqp_:32 squ_:32 sq0atp- sq0csp- sq0idp- tfp_:32 tk-us-:32 tskey- xkeysib- ya29.`)

// issuers are names next to which a value that looks random is a secret.
var issuers = strings.Fields(`
adafruit adobe airtable algolia alibaba artifactory asana atlassian beamer bintray bitbucket bittrex cloudflare codecov cohere
coinbase confluence confluent contentful contribsys__com datadog discord dnkey droneci dropbox etsy facebook fastly finicity finnhub
flickr freshbooks gitter gocardless heroku hubspot intercom jfrog jira kraken kucoin launchdarkly linear linkedin linked_in linked-in
lob looker mailchimp mailgun mapbox mattermost meraki messagebird message_bird message-bird netlify new-relic new_relic newrelic
new-york-times, newyorktimes nytimes okta plaid private-ai private_ai privateai rapidapi sendbird sentry snyk sonar squarespace sumo
telegram telegr travis twitch twitter typeform xray yandex zendesk`)

var (
	prefixed, prefixHints = tokens()

	issued = regexp.MustCompile(`(?i)(?:^|[^a-z])(?:` + alternatives(issuers) + `)([ \t\w.\-]{0,20})["'\s]{0,3}` +
		`(?:=>|\|\||\?=|:{1,3}=|[=>:,])[\x60'"\s=]{0,5}([\w\-=.+/%:]{14,})`)
	// The numbers that issuers of cards give out, in one piece or in groups.
	card = regexp.MustCompile(`\b(?:(?:4\d{3}|5[1-5]\d{2}|2[2-7]\d{2}|35[2-8]\d|6011|64[4-9]\d|65\d{2})(?:\d{12}|(?:[ \-]\d{4}){3})` +
		`|3[47]\d{2}(?:\d{11}|[ \-]\d{6}[ \-]\d{5})|3(?:0[0-5]|[68]\d)\d(?:\d{10}|[ \-]\d{6}[ \-]\d{4}))\b`)
	iban = regexp.MustCompile(`\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b`)
)

func alternatives(texts []string) string {
	quoted := make([]string, len(texts))
	for i, text := range texts {
		quoted[i] = regexp.QuoteMeta(text)
	}
	return strings.Join(quoted, "|")
}

// tokens returns the shape of what begins with a prefix, and the prefixes in plain text.
func tokens() (shape *regexp.Regexp, hints []string) {
	var all []string
	for _, p := range prefixes {
		text, least, ok := strings.Cut(p, ":")
		if !ok {
			least = "16"
		}
		hints = append(hints, text)
		all = append(all, regexp.QuoteMeta(text)+`[\w\-=.+/]{`+least+`,}`)
	}
	return regexp.MustCompile(`(?i)\b(?:` + strings.Join(all, "|") + `)`), hints
}

// formats takes out tokens by the issuers that they name, and the numbers of cards
// and accounts, which hold a checksum.
func formats(s string, found func(string)) string {
	lower := strings.ToLower(s)
	if containsAny(lower, prefixHints) {
		s = cut(s, prefixed.FindAllStringIndex(s, -1), found, whole)
	}
	if containsAny(lower, issuers) {
		s = cut(s, issued.FindAllStringSubmatchIndex(s, -1), found, func(m []int, _ int) (from, to int) {
			if public.MatchString(s[m[2]:m[3]]) || !opaque(s[m[4]:m[5]]) {
				return 0, 0
			}
			return m[4], m[5]
		})
	}
	if strings.ContainsFunc(s, unicode.IsDigit) {
		for _, number := range checked {
			s = cut(s, number.shape.FindAllStringIndex(s, -1), found, func(m []int, _ int) (from, to int) {
				if !number.valid(s[m[0]:m[1]]) {
					return 0, 0
				}
				return m[0], m[1]
			})
		}
	}
	return s
}

// checked are the shapes of numbers that hold a checksum.
var checked = []struct {
	shape *regexp.Regexp
	valid func(string) bool
}{{card, luhn}, {iban, mod97}}

func containsAny(s string, parts []string) bool {
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(s, part) })
}

func whole(m []int, _ int) (from, to int) { return m[0], m[1] }

// public ends the name of a value that may be read, whatever it looks like.
var public = regexp.MustCompile(`(?i)(?:commit|digest|etag|hash|(?:^|[ _.\-])id|image|ref|revision|sha\d*|tag|uuid|version)[ \t]*$`)

// opaque reports whether letters and digits take turns in a long run, as in no word,
// date or version.
func opaque(value string) bool {
	length, turns := 0, 0
	was := ' '
	for _, c := range value {
		switch {
		case !unicode.IsLetter(c) && !unicode.IsDigit(c):
			length, turns = 0, 0
			was = c
			continue
		case length > 0 && unicode.IsDigit(c) != unicode.IsDigit(was):
			turns++
		}
		was = c
		if length++; length >= 8 && turns >= 2 {
			return true
		}
	}
	return false
}

// luhn reports whether the digits have the checksum of a card's number.
func luhn(number string) bool {
	sum, second := 0, false
	for i := len(number) - 1; i >= 0; i-- {
		d := int(number[i]) - '0'
		if d < 0 || d > 9 {
			continue
		}
		if second {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		sum, second = sum+d, !second
	}
	return sum%10 == 0
}

// mod97 reports whether the text has the checksum of an IBAN (ISO 13616).
func mod97(account string) bool {
	account = strings.ReplaceAll(account, " ", "")
	if len(account) < 15 || len(account) > 34 {
		return false
	}
	rest := 0
	for _, c := range account[4:] + account[:4] {
		if c >= 'A' { // which stands for two digits
			rest = (100*rest + int(c-'A') + 10) % 97
		} else {
			rest = (10*rest + int(c-'0')) % 97
		}
	}
	return rest == 1
}
