package search

import (
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
