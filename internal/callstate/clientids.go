package callstate

// Clients name the model's call, its turn and its conversation in _meta, for logs that they and a server share. Such a
// name is new for each call. If it were part of what was approved, remembered or cached, nothing would be found again.
// It is sent on, recorded, and shown on request.
//
// A member counts as an identifier by its exact name, or by a name whose last part consists of such words alone:
// "vscode.conversationId" and "parent_turn_id", but not "browserSessionId" or "replyToMessageId", by which a server may
// choose what it acts on. Anything else in _meta stays part of the call.

import (
	"encoding/json"
	"maps"
	"strings"
	"unicode"

	"github.com/fairlead-go/fairlead/internal/canonical"
	"github.com/fairlead-go/fairlead/middleware"
)

// namedIDs are identifiers whose names have another form, and whether the value is an object.
var namedIDs = map[string]bool{
	"x-codex-turn-metadata": true, // session, thread and turn
	"openai/session":        false,
}

// codexIDs are identifiers of Codex that another client may send for a server to act on. They count beside Codex's own member
// alone: the item of the model's answer, and the window of the conversation.
var codexIDs = map[string]bool{"itemId": true, "windowId": true}

// ofCodex reports whether only Codex sends such a _meta.
func ofCodex(meta map[string]any) bool {
	_, is := meta["x-codex-turn-metadata"].(map[string]any)
	return is
}

// identified are what a client identifies, and beside what an identifier may be described by.
var (
	identified = wordSet("call request turn thread conversation session message chat interaction invocation correlation trace span step prompt generation use")
	beside     = wordSet("tool mcp client parent root llm model agent subagent x claude claudecode codex vscode copilot cursor gemini opencode windsurf zed openai anthropic")
)

func wordSet(text string) map[string]bool {
	set := make(map[string]bool)
	for w := range strings.FieldsSeq(text) {
		set[w] = true
	}
	return set
}

// clientID reports whether a member of a _meta only identifies the call to its client.
func clientID(meta map[string]any, name string, value any) bool {
	if codexIDs[name] && scalar(value) && ofCodex(meta) {
		return true
	}
	if isObject, named := namedIDs[name]; named {
		_, object := value.(map[string]any)
		return object == isObject && (object || scalar(value))
	}
	return scalar(value) && formOfID(name)
}

// scalar reports whether a value is one that an identifier has.
func scalar(value any) bool {
	switch value.(type) {
	case nil, string, json.Number, float64, int, int64:
		return true
	}
	return false
}

// formOfID reports whether a name is one of an identifier. The protocol's own names have their meaning from it.
func formOfID(name string) bool {
	prefix, last, found := strings.Cut(name, "/")
	if !found {
		prefix, last = "", name
	}
	if strings.Contains(prefix, "modelcontextprotocol") || strings.HasPrefix(prefix, "mcp.") {
		return false
	}
	last = last[strings.LastIndexByte(last, '.')+1:]
	if vendor, rest, found := strings.Cut(last, "-"); found && vendor == "x" { // a header, such as x-codex-turn-id
		if maker, of, found := strings.Cut(rest, "-"); found && !identified[maker] && !beside[maker] {
			rest = of
		}
		last = rest
	}
	words := splitWords(last)
	if len(words) < 2 {
		return false
	}
	if end := words[len(words)-1]; end != "id" && end != "uuid" {
		return false
	}
	names := false
	for _, w := range words[:len(words)-1] {
		if !identified[w] && !beside[w] {
			return false
		}
		names = names || identified[w]
	}
	return names
}

// splitWords returns the words of a name in lower case: those between hyphens and underscores, and in camel case. It
// returns nil if there is another character than a letter or digit.
func splitWords(name string) (words []string) {
	var word []rune
	end := func() {
		if len(word) > 0 {
			words, word = append(words, strings.ToLower(string(word))), nil
		}
	}
	runes := []rune(name)
	for i, r := range runes {
		switch {
		case r == '_' || r == '-':
			end()
			continue
		case r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r):
			return nil
		case unicode.IsUpper(r) && i > 0 && (unicode.IsLower(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])):
			end()
		}
		word = append(word, r)
	}
	end()
	return words
}

// ClientIDs returns the members of _meta that identify the call to its client, as one JSON object in canonical form;
// nil for none.
func ClientIDs(call *middleware.Call) json.RawMessage {
	if len(call.Meta) == 0 {
		return nil
	}
	ids := maps.Clone(call.Meta)
	maps.DeleteFunc(ids, func(name string, value any) bool { return transport(name) || !clientID(call.Meta, name, value) })
	if len(ids) == 0 {
		return nil
	}
	raw, err := json.Marshal(ids)
	if err == nil {
		raw, err = canonical.Append(nil, raw)
	}
	if err != nil {
		return nil // the call cannot be sent: Extra returns the error
	}
	return raw
}
