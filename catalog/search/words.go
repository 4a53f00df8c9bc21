package search

import (
	"slices"
	"strings"
	"sync"

	"github.com/fairlead-go/fairlead/internal/bm25"
)

// idle are the words of a question that say nothing about what is asked for: the
// function words of English.
const idle = `
	a an the this that these those some any all each every no not
	i me my mine we us our ours you your yours he she it its him his her they them their one ones
	and or but if so than then as of to in on for with by from at into onto about per via
	is are was were be been being am do does did have has had having
	can could will would shall should may might must let lets please want need like
	what which who whom whose when where why how there here much many s t m re ve ll d http https
	now right just also already still yet`

// synonyms are what people and makers of APIs call the same thing, a group on a line. A
// word may be in several groups, and no group leads on to another. Every pair costs some
// precision, so a group holds words that can replace each other in most sentences. A
// product is in one only if its name is used for a kind of thing (excel, postgres).
const synonyms = `
	get show fetch read retrieve view display see describe give tell detail info information
	list show enumerate
	search find look lookup query locate
	create add make new insert register setup start open
	update change edit modify set patch alter replace rename
	delete remove erase drop clear discard destroy throw purge wipe
	send mail deliver notify post
	run start launch execute begin trigger invoke call open
	stop end halt cancel abort terminate kill finish close
	copy duplicate clone fork
	move transfer migrate relocate
	upload put attach import
	download export save
	write save store
	enable activate allow
	disable deactivate block suspend
	approve accept allow grant
	deny reject refuse decline
	check verify validate test valid
	count number total
	wait hold pause
	click tap press
	type fill enter
	generate make create draw paint
	collect crawl scrape extract
	install put

	image picture photo png jpg screenshot
	video film movie record
	voice speech speak audio sound
	email mail
	message mail chat conversation
	user person people account member
	customer client buyer
	team group organization org
	issue ticket bug
	task todo item card
	folder directory subdirectory subfolder
	file document doc
	documentation doc manual guide
	note page memo md
	website site web webpage url
	link url
	label tag hashtag
	comment note remark reply answer
	meeting event appointment calendar
	payment money charge purchase pay
	price cost fee spend
	refund money
	subscription plan recurring
	coupon discount
	invoice bill
	repository repo project
	deployment deploy rollout release
	log output print
	error crash exception failure
	vulnerability cve security weakness
	secret password credential key token
	variable env environment
	config configuration setting option
	database db sql postgres postgresql
	table collection sheet
	record row entry
	column field property attribute
	schema structure type
	kv key
	server machine host
	kubernetes k8s kubectl kube cluster pod container
	location place position coordinate gps
	survey poll questionnaire
	flag toggle feature
	web internet online news
	browser chrome page
	phone mobile device smartphone iphone android ios
	simulator simulated emulator
	app application
	chart diagram plot
	excel spreadsheet workbook xlsx sheet
	script code snippet javascript js
	memory heap
	memory remember knowledge
	version revision history`

// vocabulary is the two lists above in the form in which they are used.
type vocabulary struct {
	idle map[string]bool     // by word
	same map[string][]string // stems by stem
}

var words = sync.OnceValue(func() vocabulary {
	v := vocabulary{idle: make(map[string]bool), same: make(map[string][]string)}
	for word := range strings.FieldsSeq(idle) {
		v.idle[word] = true
	}
	for line := range strings.Lines(synonyms) {
		group := strings.Fields(line)
		for i := range group {
			group[i] = bm25.Stem(group[i])
		}
		for _, stem := range group {
			v.same[stem] = append(v.same[stem], group...)
		}
	}
	return v
})

// synonymWeight is what a synonym is worth beside the word itself.
const synonymWeight = 0.6

// terms returns what a text asks the index for: its words, what else they are called, and how the
// tools write them. Words that carry no meaning of their own are left out, unless there are no others.
func terms(x *bm25.Index, text string) []bm25.Term {
	var all, telling []bm25.Term
	seen := make(map[string]bool)
	for _, word := range spoken(x, kinds(text)) {
		stem := bm25.Stem(word)
		if seen[stem] {
			continue
		}
		seen[stem] = true
		term := bm25.Term{{Stem: stem, Weight: 1}}
		for _, other := range words().same[stem] {
			term = append(term, bm25.Name{Stem: other, Weight: synonymWeight})
		}
		all = append(all, term)
		if !words().idle[word] {
			telling = append(telling, term)
		}
	}
	if len(telling) == 0 {
		return all
	}
	return telling
}

// spoken returns the words of a question. Where the tools know a word in one piece
// and the question has it in two (web page), or the other way round, it is
// returned as the tools know it, too.
func spoken(x *bm25.Index, text string) (all []string) {
	before := ""
	for run := range bm25.Runs(text) {
		word := strings.ToLower(run)
		if all = append(all, word); !knows(x, word) {
			all = append(all, split(x, run)...)
		}
		if joined := before + word; before != "" && x.Has(bm25.Stem(joined)) {
			all = append(all, joined)
		}
		before = word
	}
	return all
}

// knows reports whether a word, or what else it is called, stands in any tool.
func knows(x *bm25.Index, word string) bool {
	stem := bm25.Stem(word)
	return x.Has(stem) || slices.ContainsFunc(words().same[stem], x.Has)
}

// split returns the parts of a word that no tool has: those of camelCase, or else
// the two halves that the tools do have.
func split(x *bm25.Index, run string) []string {
	if parts := slices.Collect(bm25.Parts(run)); len(parts) > 1 {
		return parts
	}
	const least, most = 3, 32
	word := strings.ToLower(run)
	if len(word) > most {
		return nil
	}
	for i := least; i <= len(word)-least; i++ {
		if x.Has(bm25.Stem(word[:i])) && x.Has(bm25.Stem(word[i:])) {
			return []string{word[:i], word[i:]}
		}
	}
	return nil
}

// kinds puts what a thing is in the place of an address, whose own words say
// little: a URL, an email address, a path.
func kinds(text string) string {
	if !strings.ContainsAny(text, "/@") {
		return text
	}
	var b strings.Builder
	for token := range strings.FieldsSeq(text) {
		scheme, _, isURL := strings.Cut(token, "://")
		switch at := strings.IndexByte(token, '@'); {
		case isURL:
			token = scheme + " url"
		case at > 0 && strings.IndexByte(token[at:], '.') > 1:
			token = "email"
		case strings.HasPrefix(token, "/") && len(token) > 1, strings.HasPrefix(token, "./"), strings.HasPrefix(token, "~/"):
			token = "path"
		}
		b.WriteString(token)
		b.WriteByte(' ')
	}
	return b.String()
}
