package mount_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/catalog/mount"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
)

// ofEachType are values of each type of JSON.
var ofEachType = map[string]string{
	"null": `null`, "boolean": `true`, "number": `7`, "text": `"x"`, "list": `[7]`, "object": `{"x":7}`,
}

// Of a definition with a member of each type, the tools are listed whose member has the type that the protocol gives it,
// or null for no member. Each of the others is left out alone, with a finding.
func TestTypesOfADefinition(t *testing.T) {
	t.Parallel()
	t.Run("B336: each type in each place of a definition", func(t *testing.T) {
		t.Parallel()
		takes := map[string]string{ // the types that are taken; of an output schema that is none the answers are not checked
			"title": "null text", "description": "null text", "annotations": "null object", "_meta": "null object", "icons": "null",
			"execution": "null object", "inputSchema": "object", "outputSchema": "null boolean number text list object", "other": "null boolean number text list object",
			"annotations.readOnlyHint": "null boolean", "annotations.title": "null text", "annotations.other": "null boolean number text list object",
		}
		tools, want := []string{`{"name":"good","inputSchema":{"type":"object"}}`}, []string{"srv/good"}
		for member, taken := range takes {
			for kind, value := range ofEachType {
				name := strings.ReplaceAll(member, ".", "_") + "_" + kind
				if (member == "inputSchema" || member == "outputSchema") && kind == "object" {
					value = `{"type":"object"}`
				}
				definition := `{"name":"` + name + `","inputSchema":{"type":"object"}`
				if hint, ok := strings.CutPrefix(member, "annotations."); ok {
					definition += `,"annotations":{"` + hint + `":` + value + `}}`
				} else if member == "inputSchema" {
					definition = `{"name":"` + name + `","inputSchema":` + value + `}`
				} else {
					definition += `,"` + member + `":` + value + `}`
				}
				tools = append(tools, definition)
				if slices.Contains(strings.Fields(taken), kind) {
					want = append(want, "srv/"+name)
				}
			}
		}
		for _, value := range ofEachType {
			tools = append(tools, value, `{"name":`+strings.Replace(value, `"x"`, `""`, 1)+`,"inputSchema":{"type":"object"}}`)
		}
		c := catalog.New(catalog.Options{})
		defer c.Close()
		client := mcptest.NewClient()
		if err := c.Add(mcptest.Context(t), "srv", mcptest.Dial(t, client, mount.Transport(mcptest.MemoryTransport(t, untypedServer(always(tools)))), mcptest.Legacy)); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, tool := range c.List() {
			got = append(got, tool.String())
		}
		slices.Sort(got)
		slices.Sort(want)
		for _, name := range slices.Concat(got, want) {
			if slices.Contains(got, name) != slices.Contains(want, name) {
				t.Errorf("%s: listed %t, want %t", name, slices.Contains(got, name), slices.Contains(want, name))
			}
		}
		leftOut := 0
		for _, f := range c.Findings() {
			if strings.Contains(f.Text, "left out") {
				leftOut++
			}
		}
		if leftOut != len(tools)-len(want) {
			t.Errorf("%d findings for %d tools that are left out: %v", leftOut, len(tools)-len(want), c.Findings())
		}
	})
}

// A page of a list with a member of another type is not read, and the error names the member.
func TestTypesOfAPage(t *testing.T) {
	t.Parallel()
	for member, takes := range map[string]string{
		"tools": "null", "nextCursor": "null", "_meta": "null object", "cacheScope": "null text", "resultType": "null",
		"other": "null boolean number text list object",
	} {
		t.Run("B337: each type of "+member, func(t *testing.T) {
			t.Parallel()
			for kind, value := range ofEachType {
				if member == "tools" && kind == "list" || member == "nextCursor" && kind == "text" {
					continue // it is a tool, and a cursor without an end
				}
				page := `{"tools":[],"` + member + `":` + value + `}`
				if member == "tools" {
					page = `{"tools":` + value + `}`
				}
				peer := mcptest.PeerTransport(t, func(p *mcptest.Peer, r mcptest.Request) {
					p.Write(`{"jsonrpc":"2.0","id":` + string(r.ID) + `,"result":` + page + `}`)
				})
				c := catalog.New(catalog.Options{})
				err := c.Add(mcptest.Context(t), "srv", mcptest.Dial(t, mcptest.NewClient(), mount.Transport(peer), mcptest.Legacy))
				if taken := slices.Contains(strings.Fields(takes), kind); taken != (err == nil) || err != nil && !strings.Contains(err.Error(), member+" is ") {
					t.Errorf("%s: %v", page, err)
				}
				_ = c.Close()
			}
		})
	}
}

// A result is understood if each of its members has the type that the protocol gives it, or null for no member. Of another
// one the outcome of a write is unknown, and the whole answer is kept.
func TestTypesOfAResult(t *testing.T) {
	t.Parallel()
	text := func(member string) string {
		return `{"content":[{"type":"text","text":"words","` + member + `":%s}]}`
	}
	resource := func(member string) string {
		return `{"content":[{"type":"resource","resource":{"uri":"a:b","text":"words","` + member + `":%s}}]}`
	}
	for place, c := range map[string]struct{ result, takes string }{
		"resultType beside words":  {`{"content":[{"type":"text","text":"words"}],"resultType":%s}`, "null"},
		"the result":               {`%s`, "object"},
		"content":                  {`{"content":%s,"x":"words"}`, "null"},
		"isError":                  {`{"content":[],"isError":%s,"x":"words"}`, "null boolean"},
		"structuredContent":        {`{"content":[],"structuredContent":%s,"x":"words"}`, "null boolean number text list object"},
		"_meta":                    {`{"content":[],"_meta":%s,"x":"words"}`, "null object"},
		"resultType":               {`{"content":[],"resultType":%s,"x":"words"}`, "null"},
		"a block":                  {`{"content":[%s],"x":"words"}`, ""},
		"the type of a block":      {`{"content":[{"type":%s,"text":"words"}]}`, ""},
		"an unknown member":        {text("other"), "null boolean number text list object"},
		"the annotations":          {text("annotations"), "null object"},
		"the _meta of a block":     {text("_meta"), "null object"},
		"a resource":               {`{"content":[{"type":"resource","resource":%s,"x":"words"}]}`, "null object"},
		"the MIME type":            {resource("mimeType"), "null text"},
		"the blob":                 {resource("blob"), "null"},
		"the _meta of a resource":  {resource("_meta"), "null object"},
		"the audience":             {`{"content":[{"type":"text","text":"words","annotations":{"audience":%s}}]}`, "null"},
		"the size of a link":       {`{"content":[{"type":"resource_link","uri":"a:b","name":"words","size":%s}]}`, "null number"},
		"the icons of a link":      {`{"content":[{"type":"resource_link","uri":"a:b","name":"words","icons":%s}]}`, "null"},
		"the data of an image":     {`{"content":[{"type":"image","mimeType":"words","data":%s}]}`, "null"},
		"the MIME type of a sound": {`{"content":[{"type":"audio","data":"AAAA","x":"words","mimeType":%s}]}`, "null text"},
	} {
		t.Run("B338: each type of "+place, func(t *testing.T) {
			t.Parallel()
			for _, kind := range slices.Sorted(maps.Keys(ofEachType)) {
				result := fmt.Sprintf(c.result, ofEachType[kind])
				_, err := callAnswered(t, annotation.Write().Attribute(annotation.Host, ""), `{"jsonrpc":"2.0","id":ID,"result":`+result+`}`)
				answer, unread := errors.AsType[interface {
					error
					Unread() []byte
				}](err)
				if taken := slices.Contains(strings.Fields(c.takes), kind); taken != (err == nil) || err != nil && !unread || unread && string(answer.Unread()) != result {
					t.Errorf("%s: want it read: %t; %v", result, taken, err)
				}
			}
		})
	}
}
