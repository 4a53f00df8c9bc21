package flow

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/fairlead-go/fairlead/flow/internal/folded"
	"github.com/fairlead-go/fairlead/middleware"
)

// A scope remembers what the sessions of one scope wrote that came from an untrusted result. A server of the host's own
// that has it from such a write returns a copy of it, and the copy is as untrusted as the original. It is remembered by value,
// as texts that are compared as results are, and by object: the path, id, title or name under which it was written.
// It outlives the result that it came from, and the session.
type scope struct {
	mu      sync.Mutex
	groups  []*group
	results int
	bytes   int
	objects map[string]*result // by objectKey, the result from which it has something
}

// The limits of what a scope remembers.
const (
	maxPassed      = 256
	maxPassedBytes = 256 << 10
	maxObjects     = 1024
	maxObject      = 256 // bytes of its name
	maxReturned    = 16  // names in the result of a write
	maxTokens      = 64  // addresses in a text that are looked up
	maxGroups      = 10  // words of one address
)

// A passing is what one call takes from untrusted results to its tool.
type passing struct {
	from    *result
	texts   []string
	objects []string // keys
}

// objectKey returns under what an object of a server is kept, "" for what names none. A path or a URL is the same thing for
// every server.
func objectKey(kind argumentKind, name, server, value string) string {
	switch kind {
	case kindPath, kindURL:
		server = ""
	case kindID, kindName, kindDetail, kindRepository:
	case kindText:
		if !slices.Contains([]string{"title", "subject", "name", "topic"}, name) {
			return ""
		}
	default:
		return ""
	}
	if len(value) > maxObject {
		return ""
	}
	norm := folded.New(value, false).Norm
	if len(norm) == 0 {
		return ""
	}
	return server + "\x00" + string(norm)
}

// object returns the result from which an object has something, nil if none is known.
func (sc *scope) object(key string) *result {
	if key == "" {
		return nil
	}
	return sc.objects[key]
}

// remember keeps what a call took along. The texts are as old as their source, so that it stays the earlier one.
func (sc *scope) remember(p *passing, returned []string) {
	sc.mu.Lock()
	defer sc.mu.Unlock()
	for _, text := range p.texts {
		if len(text) > maxPassedBytes/4 {
			text = strings.ToValidUTF8(text[:maxPassedBytes/4], "")
		}
		r := &result{
			raw: text, text: folded.New(text, true), tool: p.from.tool, call: p.from.call, session: p.from.session, seq: p.from.seq, tick: p.from.tick,
			key: p.from.key, sensitive: p.from.sensitive, channel: p.from.channel, passed: true,
		}
		if len(sc.groups) == 0 || sc.groups[len(sc.groups)-1].next == len(group{}.results) {
			sc.groups = append(sc.groups, newGroup())
		}
		sc.groups[len(sc.groups)-1].add(r)
		sc.results++
		sc.bytes += len(r.raw)
	}
	for sc.results > 1 && (sc.results > maxPassed || sc.bytes > maxPassedBytes) {
		var gone *result
		sc.groups, gone = dropFirst(sc.groups)
		sc.results--
		sc.bytes -= len(gone.raw)
	}
	for _, key := range slices.Concat(p.objects, returned) {
		if len(sc.objects) >= maxObjects {
			break
		}
		if sc.objects == nil {
			sc.objects = make(map[string]*result)
		}
		if sc.objects[key] == nil {
			sc.objects[key] = p.from
		}
	}
}

// source returns the result from which an object of a call has something, nil for none.
func (sc *scope) source(call *middleware.Call) *result {
	sc.mu.Lock()
	defer sc.mu.Unlock()
	if len(sc.objects) == 0 {
		return nil
	}
	var arguments any
	d := json.NewDecoder(bytes.NewReader(call.Arguments))
	d.UseNumber()
	if d.Decode(&arguments) != nil {
		return nil
	}
	return sc.within(call.Tool.Server, arguments, 0)
}

func (sc *scope) within(server string, value any, depth int) *result {
	if depth > 8 {
		return nil
	}
	switch value := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			if r := sc.within(server, value[name], depth+1); r != nil {
				return r
			}
		}
	case []any:
		for _, below := range value {
			if r := sc.within(server, below, depth+1); r != nil {
				return r
			}
		}
	case string:
		return sc.named(server, value)
	case json.Number:
		return sc.named(server, value.String())
	}
	return nil
}

// named returns the source of the object that a value names, or of one whose path or URL is a word of it, as in a command.
func (sc *scope) named(server, value string) *result {
	if len(value) > maxPassedBytes {
		return nil
	}
	for _, kind := range []argumentKind{kindID, kindPath} {
		if r := sc.object(objectKey(kind, "", server, value)); r != nil {
			return r
		}
	}
	if !strings.ContainsAny(value, " \t\n") {
		return nil
	}
	for word := range folded.Words(value) {
		if strings.ContainsAny(word, "./") {
			if r := sc.object(objectKey(kindPath, "", server, word)); r != nil {
				return r
			}
		}
	}
	return nil
}

// returned returns the keys of the objects that the result of a write names: its fields with a digit or a slash.
func returned(server, raw string) (keys []string) {
	for word := range folded.Words(raw[:min(len(raw), 4<<10)]) {
		if len(keys) == maxReturned {
			break
		}
		if len(word) < minValue || len(word) > maxObject || !strings.ContainsAny(word, "0123456789/") {
			continue
		}
		kind := kindID
		if strings.ContainsAny(word, "/") {
			kind = kindPath
		}
		if key := objectKey(kind, "", server, word); key != "" {
			keys = append(keys, key)
		}
	}
	return keys
}

// pass notes what a call that changes something takes along: a value from an untrusted result, or a text with an address
// from one.
func (tr *trace) pass(value string, o *origin) {
	switch {
	case o.from == fromUser, o.from == fromHost:
		return
	case o.from == fromResult && o.result.trusted:
		return
	case o.from == fromResult:
		tr.passes(o.result, value)
	default:
		tr.tokens(value)
	}
}

func (tr *trace) passes(from *result, text string) {
	if tr.passing == nil {
		tr.passing = &passing{from: from}
	}
	tr.passing.texts = append(tr.passing.texts, text)
}

// object notes what a call that passes something on writes to. In a command each path may be that.
func (tr *trace) object(name, value string, kind argumentKind) {
	server := tr.call.Tool.Server
	if kind == kindCommand {
		for word := range folded.Words(value) {
			if strings.ContainsAny(word, "./") {
				tr.passing.objects = append(tr.passing.objects, objectKey(kindPath, "", server, word))
			}
		}
	} else if key := objectKey(kind, name, server, value); key != "" {
		tr.passing.objects = append(tr.passing.objects, key)
	}
}

// tokens looks up the addresses in a text that was found nowhere as it is: the model may have put them into a sentence
// of its own. Words with digits that follow each other may be one address in groups.
func (tr *trace) tokens(text string) {
	if !strings.ContainsAny(text, " \t\n") || !strings.ContainsAny(text, "0123456789@./:") {
		return
	}
	left := maxTokens
	var run []string
	for word := range folded.Words(text) {
		if strings.ContainsAny(word, "0123456789") {
			run = append(run, word)
			continue
		}
		left = tr.grouped(run, left)
		run = run[:0]
		if strings.ContainsAny(word, "@./:") {
			left = tr.grouped([]string{word}, left)
		}
	}
	tr.grouped(run, left)
}

// grouped looks up the words of a run, all of them first and then fewer, until some are found. It returns how many more
// may be looked up.
func (tr *trace) grouped(run []string, left int) int {
	for n := min(len(run), maxGroups); n > 0; n-- {
		for from := 0; from+n <= len(run); from++ {
			word := strings.Join(run[from:from+n], " ")
			norm := folded.New(word, false).Norm
			if len(norm) < minInside {
				continue
			}
			if left--; left < 0 {
				return 0
			}
			l := lookup{s: tr.s, host: tr.host, server: tr.call.Tool.Server, kind: kindOf(kindID, word), raw: word, norm: norm}
			o := l.origin()
			if o.from == fromResult && !o.result.trusted {
				tr.passes(o.result, word)
			}
			if o.from != fromNowhere {
				left = tr.grouped(run[:from], left)
				return tr.grouped(run[from+n:], left)
			}
		}
	}
	return left
}
