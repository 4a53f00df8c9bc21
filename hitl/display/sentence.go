package display

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/safetext"
	"github.com/fairlead-go/fairlead/internal/bm25"
	"github.com/fairlead-go/fairlead/internal/strictjson"
	"github.com/fairlead-go/fairlead/middleware"
)

// How much of a text is in the sentence, in bytes.
const (
	maxWord = 60
	maxText = 160
	maxList = 3 // elements that are named
	maxWith = 4 // arguments that are named
)

// sentence returns what a call does, with its object. The verb is the tool's own, and counts only if it is one of change.
// A text of a language has the language in its sentence, which is in the conditions of the class. All else is a call, with
// the server's own words in quotation marks.
func sentence(r hitl.Request) string {
	c := callOf(r)
	for _, words := range []func(*call) string{run, send, pay, move, write, act} {
		if text := words(c); text != "" {
			return text
		}
	}
	return c.plain()
}

// A call is what the sentence is made of.
type call struct {
	tool      *middleware.Tool
	server    string
	verb      string // "" if the name has none that is known, or one that the class contradicts
	noun      string // of few words, "" for none
	arguments json.RawMessage
	members   []strictjson.Member
	language  string // of the text that decides the class, "" for none
	text      string // in that language
	also      map[string]string
	changes   []hitl.Change
	stray     []strictjson.Member // that the tool has no parameter for, and that say nothing in the sentence
}

func callOf(r hitl.Request) *call {
	c := &call{tool: r.Tool, server: safetext.Word(r.Tool.Server, maxWord), changes: r.Changes, arguments: r.Arguments}
	c.members, c.stray = declared(r)
	c.verb, c.noun = verbOf(r.Tool.Name())
	if e, ok := r.Tool.Annotations.EvidenceOf(annotation.Conditions); ok && e.Language != "" { // they have decided, and are gone
		c.text, _ = c.string(strings.TrimPrefix(e.Argument, "/"))
		method, _ := c.first("method")
		c.language, c.also = e.Language, map[string]string{"method": method}
	}
	for i := range r.Tool.Annotations.Conditions {
		known := &r.Tool.Annotations.Conditions[i]
		text, ok := c.string(strings.TrimPrefix(known.Argument, "/"))
		if known.Language == "" || known.OnlyRaises() || !ok || c.language != "" {
			continue
		}
		c.language, c.text, c.also = known.Language, text, make(map[string]string)
		for name, place := range known.With {
			c.also[name], _ = c.string(strings.TrimPrefix(place, "/"))
		}
	}
	return c
}

// verbOf returns the verb of a name and its noun, which is behind it, or before it if nothing is behind: qase_run_delete
// deletes a run. The first word of such a name is whose tool it is, as often as not.
func verbOf(name string) (verb, noun string) {
	words := wordsOf(name)
	at := slices.IndexFunc(words[:min(len(words), maxPrefix)], func(word string) bool { return deeds[word] })
	if last := len(words) - 1; last > 0 && last < maxPrefix && slices.Contains(onlyVerbs, words[last]) {
		at = last
	}
	if at < 0 || len(words) > at+1+maxNoun || safetext.Word(name, maxWord) != name { // it could be a sentence
		return "", ""
	}
	of := words[at+1:]
	if len(of) == 0 && at > 1 {
		of = words[1:at]
	}
	if len(of) > 1 && slices.Contains(articles, of[0]) {
		of = of[1:]
	}
	if words[at] == "drop" && len(of) == 0 { // browser_drop lets go of what was dragged
		return "", ""
	}
	if slices.ContainsFunc(of, func(word string) bool { return slices.Contains(soothing, word) }) {
		return "", ""
	}
	if slices.ContainsFunc(of, func(word string) bool { return slices.Contains(noNouns, word) }) {
		of = nil
	}
	return words[at], strings.Join(of, " ")
}

var (
	// onlyVerbs are verbs that cannot be nouns, so that at the end of a name they are its verb.
	onlyVerbs = strings.Fields("create delete destroy erase insert overwrite remove uninstall update upsert")
	articles  = strings.Fields("a an the")
	// noNouns are words of names that say how, such as delete_many and delete_older_than.
	noNouns = strings.Fields("many one than by with if")
	// soothing are words that say more about a call than its object: update_nothing_important would be believed.
	soothing = strings.Fields("harmless harmlessly never no nobody none not nothing only safe safely unimportant without")
	// plainly has other words for verbs that are not plain English.
	plainly = map[string]string{"upsert": "Insert or update"}
)

// How many words of a name may be before its verb and with it, and after it.
const (
	maxPrefix = 3
	maxNoun   = 3
)

func wordsOf(name string) (words []string) {
	for run := range bm25.Runs(name) {
		words = slices.AppendSeq(words, bm25.Parts(run))
	}
	return words
}

// deeds are the verbs of names that a sentence begins with: those of change. A name that begins with a read
// gives no sentence, since it is asked about because it is not known to be only that.
var deeds = func() map[string]bool {
	all := make(map[string]bool)
	for verb := range strings.FieldsSeq(`add append apply approve archive assign block book buy cancel change charge clear click close commit
		confirm copy create delete deploy destroy disable donate drop edit empty enable erase execute fill forward grant import insert install
		invite kill lock make merge modify move order overwrite patch pay place post press publish purge push put refund reject release remove
		rename replace reply reserve reset restart restore revert revoke run save schedule send set share start stop submit
		transfer truncate type unarchive uninstall unlock update upload upsert withdraw write`) {
		all[verb] = true
	}
	return all
}()

// string returns a member that is a text.
func (c *call) string(name string) (string, bool) {
	for _, m := range c.members {
		if m.Name == name {
			return textOf(m.Value)
		}
	}
	return "", false
}

// first returns the first of the members that is a text that is not empty, and its name.
func (c *call) first(names ...string) (text, name string) {
	for _, name := range names {
		if text, ok := c.string(name); ok && text != "" {
			return text, name
		}
	}
	return "", ""
}

// one returns the first of the members that is one value or a list of them, as a phrase.
func (c *call) one(names ...string) string {
	for _, name := range names {
		for _, m := range c.members {
			if m.Name != name {
				continue
			}
			if phrase, _ := phrase(m.Value); phrase != "" {
				return phrase
			}
		}
	}
	return ""
}

// all writes the first of the members that is there behind the word, and the others with their names: a second recipient
// is one as well.
func (c *call) all(word string, names ...string) string {
	var all []string
	for _, name := range names {
		switch phrase := c.one(name); {
		case phrase == "":
		case all == nil:
			all = append(all, word+phrase)
		default:
			all = append(all, safetext.Word(name, maxWord)+" "+phrase)
		}
	}
	return strings.Join(all, ", ")
}

// number returns the number or the id of a thing that is called like the noun, or of a document, "" for none.
func (c *call) number(without ...string) string {
	for _, m := range c.members {
		words := wordsOf(m.Name)
		last := len(words) - 1
		if last < 0 || slices.Contains(without, m.Name) || words[0] != "document" && !c.isNoun(m.Name) || !slices.Contains([]string{"id", "number"}, words[last]) {
			continue
		}
		if text, n := phrase(m.Value); n == 1 {
			return text
		}
	}
	return ""
}

// phrase writes a value, or a list, and how many elements it has; "" for others.
func phrase(v json.RawMessage) (text string, elements int) {
	if text, ok := textOf(v); ok {
		return nameOf(text), 1
	}
	v = bytes.TrimSpace(v)
	if len(v) == 0 || v[0] == '{' {
		return "", 0
	}
	if v[0] != '[' { // a text too, if it is not one in UTF-8
		return safetext.Word(string(v), maxWord), 1
	}
	var list []json.RawMessage
	if json.Unmarshal(v, &list) != nil || len(list) == 0 {
		return "", 0
	}
	var names []string
	for _, element := range list {
		name, ok := textOf(element)
		if members, isObject := strictjson.Members(element); !ok && isObject {
			for _, m := range members {
				if ok = slices.Contains(namesOfElements, m.Name); ok {
					name, ok = textOf(m.Value)
					break
				}
			}
		}
		if !ok {
			return "", len(list)
		}
		names = append(names, nameOf(name))
	}
	text = strings.Join(names[:min(len(names), maxList)], ", ")
	if more := len(names) - maxList; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text, len(list)
}

// nameOf writes a name. Of a path that is too long, the middle is left out: a person knows a file by the end of its path.
func nameOf(text string) string {
	if len(text) <= maxWord || !strings.Contains(text, "/") || safetext.Line(text) != text {
		return safetext.Word(text, maxWord)
	}
	_, rest, _ := strings.Cut(strings.TrimPrefix(text, "/"), "/")
	first := text[:len(text)-len(rest)]
	if len(first) > maxWord/3 {
		first = ""
	}
	room := maxWord - len(first) - len("…")
	for at := range len(rest) {
		if rest[at] == '/' && len(rest)-at <= room && len(rest)-at > 1 {
			if end := rest[at:]; safetext.Word(first+end, maxWord) == first+end {
				return first + "…" + end
			}
			return safetext.Quote(first+"…"+rest[at:], 0)
		}
	}
	return safetext.Word(text, maxWord)
}

// itsName returns the name that an object has for itself, with a comma and a blank behind it; "" for none.
func itsName(v json.RawMessage) string {
	members, _ := strictjson.Members(v)
	for _, m := range members {
		if text, ok := textOf(m.Value); ok && text != "" && slices.Contains(namesOfElements, m.Name) {
			return safetext.Word(text, maxWord) + ", "
		}
	}
	return ""
}

// namesOfElements are members that name an element of a list.
var namesOfElements = []string{"name", "title", "id", "path", "url", "email"}

// quoted returns the lines of a short text, each quoted, and of another one the first.
func quoted(text string) string {
	trimmed := strings.TrimSpace(text)
	line, rest, more := strings.Cut(trimmed, "\n")
	if !more || strings.TrimSpace(rest) == "" {
		return safetext.Quote(trimmed, maxText)
	}
	if all := strings.Split(trimmed, "\n"); len(all) <= maxList && len(trimmed) <= maxText {
		for i := range all {
			all[i] = safetext.Quote(strings.TrimSpace(all[i]), 0)
		}
		return strings.Join(all, " ")
	}
	return fmt.Sprintf("%s and %s more", safetext.Quote(line, maxText), count(lines(rest), "line"))
}

func capital(word string) string {
	if plain := plainly[word]; plain != "" {
		return plain
	}
	return strings.ToUpper(word[:1]) + word[1:]
}

func (c *call) verbNoun(without ...string) string {
	if c.noun == "" || slices.Contains(without, c.noun) {
		return capital(c.verb)
	}
	return capital(c.verb) + " " + c.noun
}

// runs returns the text that a call carries out and its language: the one that its class depends on, or for a name that
// runs something the member that is named for it.
func (c *call) runs() (language, text string) {
	language, text = c.language, c.text
	if language == "" && (c.verb == "run" || c.verb == "execute") {
		if text, _ = c.first("command", "cmd", "script"); text != "" {
			language = "shell"
		} else if text, _ = c.first("sql"); text != "" {
			language = "sql"
		}
	}
	return language, text
}

// run is the sentence of a text of a language.
func run(c *call) string {
	language, text := c.runs()
	switch {
	case text == "":
		return ""
	case language == "shell":
		return "Run in the shell: " + quoted(text)
	case language == "http" || language == "http-local":
		method := "request"
		if m := c.also["method"]; m != "" {
			method = safetext.Word(strings.ToUpper(m), maxWord) + " request"
		}
		return fmt.Sprintf("Send a %s to %s", method, safetext.Word(text, maxText))
	case languages[language] == "":
		return ""
	}
	return fmt.Sprintf("Run %s on %s: %s", languages[language], c.server, quoted(text))
}

// languages are those of a text that is carried out, as people call them.
var languages = map[string]string{
	"sql": "SQL", "javascript": "JavaScript", "python": "Python", "mongodb": "MongoDB", "graphql": "GraphQL", "cypher": "Cypher", "promql": "PromQL",
}

// send is the sentence of a message to somebody.
func send(c *call) string {
	if !slices.Contains(sending, c.verb) {
		return ""
	}
	to := c.all("", slices.Concat(recipients, copies)...)
	about, _ := c.first(about...)
	if to == "" || about == "" {
		return ""
	}
	what := c.verbNoun()
	if its := c.number(recipients...); its != "" {
		what = capital(c.verb) + " " + single(c.noun) + " " + its
	}
	if strings.HasPrefix(c.noun, "to ") {
		what += "," // or the one place reads as a part of the other
	}
	return fmt.Sprintf("%s to %s: %s", what, to, quoted(about))
}

// The verbs of a message, and the members that have whom it goes to and what it is about.
var (
	sending    = []string{"send", "reply", "forward", "post", "publish"}
	recipients = []string{"to", "recipient", "recipients", "email", "emails", "to_email", "channel", "channel_id", "chat_id", "user", "user_id", "group_id", "phone", "address"}
	about      = []string{"subject", "title", "message", "text", "body", "content", "comment"}
)

// move is the sentence of a thing that gets another place.
func move(c *call) string {
	if c.verb != "move" && c.verb != "rename" && c.verb != "copy" {
		return ""
	}
	for _, pair := range [][2]string{
		{"source", "destination"}, {"from", "to"}, {"src", "dst"}, {"old_path", "new_path"}, {"oldPath", "newPath"}, {"source_path", "destination_path"}, {"path", "new_path"},
	} {
		from, to := c.one(pair[0]), c.one(pair[1])
		if from != "" && to != "" {
			return fmt.Sprintf("%s %s to %s", c.verbNoun("file"), from, to)
		}
	}
	return ""
}

// writing are the verbs of a thing that gets a content.
var writing = strings.Fields("add append create edit fill insert modify overwrite patch put replace save set update upload upsert write")

// files are the members that name a file; a second one may be its name in the folder that the first one is.
var files = strings.Fields("path file_path filePath filename file uri")

// isEdits reports whether a member has the places of a text that change.
func isEdits(name string) bool { return name == "edits" || name == "changes" || name == "patches" }

// write is the sentence of a content that something gets.
func write(c *call) string {
	if !slices.Contains(writing, c.verb) {
		return ""
	}
	at := cmp.Or(c.all("", files...), c.one("key", "title", "name"))
	if at == "" {
		return ""
	}
	if its := c.repository(); its != "" {
		at += " in " + its
	}
	for _, m := range c.members {
		if isEdits(m.Name) {
			if _, n := phrase(m.Value); n > 0 {
				return fmt.Sprintf("%s %s: %s", c.verbNoun("file"), at, count(n, "change"))
			}
		}
	}
	if all := edits(members(nil, Arguments, c.arguments)); len(all) > 0 {
		return fmt.Sprintf("%s %s: %s", c.verbNoun("file"), at, count(len(all), "change"))
	}
	content, name := c.first("content", "contents", "text", "body", "data", "file_text", "new_source")
	if name == "" {
		return ""
	}
	for _, change := range c.changes {
		if change.After == content && change.Before != "" && change.Source != "" {
			return fmt.Sprintf("Overwrite %s (%s → %s)", at, size(len(change.Before)), size(len(content)))
		}
	}
	if n, ok := c.decoded(name, content); ok {
		return fmt.Sprintf("%s %s (%s, %s decoded from base64)", c.verbNoun("file"), at, size(len(content)), size(n))
	}
	return fmt.Sprintf("%s %s (%s, %s)", c.verbNoun("file"), at, size(len(content)), count(lines(content), "line"))
}

// repository returns whose repository a call is about, "" for none that its arguments name by its owner.
func (c *call) repository() string {
	owner, _ := c.string("owner")
	name, _ := c.first("repo", "repository", "repo_name")
	if owner == "" || name == "" || strings.Contains(owner, "/") {
		return ""
	}
	return safetext.Word(owner+"/"+name, maxWord)
}

// decoded returns how many bytes a content has that is in base64, as an argument, the description of the tool or the schema
// of the member states. A text that they do not speak of can look like base64 as well.
func (c *call) decoded(name, content string) (bytes int, ok bool) {
	encoding, _ := c.first("encoding", "content_encoding", "contentEncoding")
	if !strings.EqualFold(encoding, "base64") && (encoding != "" || !strings.Contains(strings.ToLower(c.describes(name)), "base64")) {
		return 0, false
	}
	for _, of := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		if all, err := of.DecodeString(strings.TrimRight(content, "=")); err == nil && len(all) > 0 {
			return len(all), true
		}
	}
	return 0, false
}

// describes returns what the server has about a member: the tool's description and the schema of the member.
func (c *call) describes(name string) string {
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if raw, err := json.Marshal(c.tool.Definition.InputSchema); err != nil || json.Unmarshal(raw, &schema) != nil {
		return c.tool.Definition.Description
	}
	return c.tool.Definition.Description + " " + string(schema.Properties[name])
}

// plain is the sentence of a call with an unknown effect. The server's words are quoted as its words.
func (c *call) plain() string {
	text := "Call " + safetext.Word(c.tool.String(), 2*maxWord)
	if with := c.with(); with != "" {
		text += " with " + with
	}
	says, _, _ := strings.Cut(strings.TrimSpace(c.tool.Definition.Description), "\n")
	if says != "" && c.tool.Safety() != annotation.Safe {
		text += "; its server describes it so: " + safetext.Quote(says, maxText)
	}
	return text
}
