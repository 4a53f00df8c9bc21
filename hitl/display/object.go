package display

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-go/fairlead/hitl/safetext"
	"github.com/fairlead-go/fairlead/internal/strictjson"
)

// act is the sentence of a verb with its object.
func act(c *call) string {
	if c.verb == "" {
		return ""
	}
	place := c.at(" of ")
	if slices.Contains(bringing, c.verb) {
		place = c.at(" on ")
	}
	its := c.repository()
	if its != "" {
		place += ", in " + its
	}
	text, left := c.several(place)
	sign := "; "
	if strings.HasSuffix(text, place) {
		sign = ": "
	}
	if text == "" {
		sign = ": "
		object, name := c.object()
		if object == "" && c.noun == "" && its == "" {
			place = c.at(" on ")
		}
		text, left = strings.TrimSuffix(c.verbNoun()+" "+object, " ")+place, name
		if object != "" && c.isNoun(name) {
			text = fmt.Sprintf("%s %s %s%s", capital(c.verb), single(c.noun), object, place)
		}
	}
	if its != "" {
		c.members = slices.DeleteFunc(slices.Clone(c.members), func(m strictjson.Member) bool {
			return slices.Contains([]string{"owner", "repo", "repository", "repo_name"}, m.Name) && m.Name != left
		})
	}
	if with := c.with(left); with != "" {
		text += sign + with
	}
	return text
}

// at returns the server behind a word. It is called a server if its name can be read as the thing: file a.txt of files.
func (c *call) at(word string) string {
	noun := strings.Fields(c.noun)
	for _, its := range wordsOf(c.tool.Server) {
		if len(noun) > 0 && single(its) == single(noun[len(noun)-1]) {
			return word + "the server " + c.server
		}
	}
	return word + c.server
}

// several is the sentence of a list of things that a call acts on, without the rest of its arguments; "" for none.
func (c *call) several(place string) (text, list string) {
	for _, are := range []func(name string) bool{c.isNoun, func(name string) bool { return slices.Contains(lists, name) }} {
		for _, m := range c.members {
			names, n := phrase(m.Value)
			if n == 0 || !bytes.HasPrefix(bytes.TrimSpace(m.Value), []byte("[")) || !are(m.Name) {
				continue
			}
			noun := cmp.Or(c.noun, safetext.Word(m.Name, maxWord))
			switch {
			case n == 1:
				noun = single(noun)
			case noun == single(noun) && !strings.HasSuffix(noun, "s"):
				noun = plural(noun)
			}
			if names != "" && n == 1 {
				return fmt.Sprintf("%s %s %s%s", capital(c.verb), noun, names, place), m.Name
			}
			text := fmt.Sprintf("%s %d %s%s", capital(c.verb), n, noun, place)
			if its, isObject := onlyObject(m.Value); isObject {
				names = first(its, false)
			}
			if names != "" {
				text += ": " + names
			} else if its := firstObject(m.Value); len(its) > 0 {
				text += "; the first has " + first(its, false)
			}
			return text, m.Name
		}
	}
	return "", ""
}

// object returns the member that names the thing itself: one that is called like the noun, or else by a common name.
func (c *call) object() (object, name string) {
	if c.verb == "type" { // an element is where it goes
		return c.one("text"), "text"
	}
	for _, m := range c.members {
		if text, n := phrase(m.Value); c.isNoun(m.Name) && n == 1 && !bytes.HasPrefix(bytes.TrimSpace(m.Value), []byte("[")) && text != "" && !strings.Contains(text, `\n`) {
			return text, m.Name
		}
	}
	for _, name := range objects {
		if object = c.one(name); object != "" {
			return object, name
		}
	}
	return "", ""
}

// isNoun reports whether a member is called like the noun, or has the names or numbers of such things: issue_number is that
// of an issue, and entityNames are those of entities.
func (c *call) isNoun(name string) bool {
	words, noun := wordsOf(name), strings.Fields(c.noun)
	if len(words) > 1 && slices.Contains(naming, single(words[len(words)-1])) {
		words = words[:len(words)-1]
	}
	if len(words) == 0 || len(noun) == 0 {
		return false
	}
	if c.noun == "pull request" && slices.Equal(words, noun[:1]) {
		return true
	}
	words[len(words)-1], noun[len(noun)-1] = single(words[len(words)-1]), single(noun[len(noun)-1])
	return slices.Equal(words, noun) || len(words) == 1 && words[0] == noun[len(noun)-1]
}

var (
	// objects are members that name the thing itself.
	objects = strings.Fields("path file_path file name title key id uri url username email query selector element ref")
	// naming are the last words of members that name a thing or several.
	naming = strings.Fields("name id ids number key path url uuid")
	// lists are members with the things that a call acts on, whatever they are called.
	lists = strings.Fields("names ids paths keys urls uris items inputs entries objects documents records rows")
	// bringing are verbs of a thing that comes to the server, or goes elsewhere by it, so that it is not one of the server.
	bringing = strings.Fields(`add confirm create deploy forward grant import insert install invite pay place post publish push reply send share submit type upload
		upsert`)
)

// with writes the first members with their values. Beside an object, which it leaves out, a text of lines is left out too.
func (c *call) with(left ...string) string {
	besides := slices.ContainsFunc(left, func(name string) bool { return name != "" })
	return first(slices.DeleteFunc(slices.Clone(c.members), func(m strictjson.Member) bool {
		whole, _ := textOf(m.Value)
		return slices.Contains(left, m.Name) || besides && strings.Contains(whole, "\n")
	}), true)
}

// first writes the first members with their values, and how many more there are. Opens writes those of small objects too.
func first(members []strictjson.Member, opens bool) string {
	var with []string
	for _, m := range members[:min(len(members), maxWith)] {
		value := held(m.Value, opens)
		if line := commandLine(m); line != "" {
			value = line
		}
		with = append(with, safetext.Word(m.Name, maxWord)+" "+value)
	}
	text := strings.Join(with, ", ")
	if more := len(members) - maxWith; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// commandLine writes a command and its arguments, which are a list, as a shell would read them; "" for other values.
func commandLine(m strictjson.Member) string {
	var words []string
	if !slices.Contains([]string{"command", "cmd", "argv"}, m.Name) || json.Unmarshal(m.Value, &words) != nil || len(words) == 0 {
		return ""
	}
	for i, word := range words {
		if safetext.Word(word, maxText) != word || strings.ContainsAny(word, "#[]*$~") {
			words[i] = `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(word) + `"`
		}
	}
	return safetext.Quote(strings.Join(words, " "), maxText)
}

// held writes a value as one of several, an object and a list of them by how much they hold.
func held(v json.RawMessage, opens bool) string {
	const small = 2
	text, n := phrase(v)
	members, isObject := strictjson.Members(v)
	its, isOne := onlyObject(v)
	switch {
	case isObject && opens && len(members) > 0 && len(members) <= small:
		return "(" + first(members, false) + ")"
	case isObject:
		return "(" + itsName(v) + count(len(members), "member") + ")"
	case isOne && opens && text == "":
		return "(1 element: " + first(its, false) + ")"
	case n > 0 && text == "":
		return "(" + count(n, "element") + ")"
	case text == "":
		return "(empty)"
	}
	return text
}

// single returns the last word of a noun without the sign of the plural.
func single(noun string) string {
	if stem, ok := strings.CutSuffix(noun, "ies"); ok && len(stem) > 2 {
		return stem + "y"
	}
	if stem, ok := strings.CutSuffix(noun, "s"); ok && len(stem) > 2 && !strings.HasSuffix(stem, "s") {
		return stem
	}
	return noun
}

// plural returns a noun of one thing as that of several: "queries", but "keys".
func plural(noun string) string {
	if stem, ok := strings.CutSuffix(noun, "y"); ok && stem != "" && !strings.ContainsAny(stem[len(stem)-1:], "aeiou") {
		return stem + "ies"
	}
	return noun + "s"
}

// firstObject returns the members of the first object of a list, nil for none.
func firstObject(list json.RawMessage) []strictjson.Member {
	var all []json.RawMessage
	if json.Unmarshal(list, &all) != nil || len(all) == 0 {
		return nil
	}
	members, _ := strictjson.Members(all[0])
	return members
}

// onlyObject returns the members of the one object of a list.
func onlyObject(list json.RawMessage) ([]strictjson.Member, bool) {
	var all []json.RawMessage
	if json.Unmarshal(list, &all) != nil || len(all) != 1 {
		return nil, false
	}
	return strictjson.Members(all[0])
}
