package proxy_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// scanned are texts, and whether each is scanned as a message and as a result.
var scanned = map[string]struct{ message, result bool }{
	`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"a":[1,-2.5e+3,true,null,"\u00e9\n"]}}`: {message: true},
	` { "id" : "x" , "result" : { "content" : [ ] } } `:                                              {message: true},
	`{"id":1,"result": {"content":[{"type":"text","text":"a"}]} ,"jsonrpc":"2.0"}`:                   {message: true},
	`{"id":1,"result":{"content":[{"type":"text","text":"a"}],"tools":[{}]}}`:                        {message: true},
	`{"id":1,"result":{},"result":{"content":[]}}`:                                                   {},
	`{"id":1,"Result":{}}`:             {},
	`{"id":1,"\u0072esult":{}}`:        {},
	`{"id":1,"result":{"a":01}}`:       {},
	`{"id":1,"result":{"a":"\x"}}`:     {},
	`{"id":1,"result":{"a":"\u12g4"}}`: {},
	`{"id":1,"result":{"a":1,}}`:       {},
	`{"id":1,"result":{}}{}`:           {},
	`{"id":1,"result":` + strings.Repeat("[", 600) + strings.Repeat("]", 600) + `}`: {},
	`{}`:             {message: true, result: true},
	`{"content":[]}`: {result: true},
	`{"content":[{"type":"text","text":"a\\\/\"\b\f\n\r\t é \ud83d\ude00 \ud83d"},{"text":"","type":"text"}],"isError":true,"resultType":"complete"}`: {result: true},
	`{"content":[{"type":"text","text":"` + "\xff" + `"}],"structuredContent":{"rows":[1,2.5,"x",null]},"_meta":{"ttlMs":5}}`:                         {result: true},
	`{"content":[{"type":"text","text":"a","annotations":{}}]}`:                                                                                       {},
	`{"content":[{"type":"text","text":"a","text":"b"}]}`:                                                                                             {},
	`{"content":[{"type":"text"}]}`:                                       {},
	`{"content":[{"type":"image","data":"AA==","mimeType":"image/png"}]}`: {},
	`{"content":[null]}`:                                                  {},
	`{"content":null}`:                                                    {},
	`{"content":[],"isError":null}`:                                       {},
	`{"content":[],"isError":"true"}`:                                     {},
	`{"content":[],"isError":false,"isError":true}`:                       {},
	`{"content":[],"resultType":"task","taskId":"1"}`:                     {},
	`{"content":[],"resultType":"input_required","inputRequests":{}}`:     {},
	`{"content":[],"ResultType":"task"}`:                                  {},
	`{"content":[],"structuredContent":1e999}`:                            {},
	`{"content":[],"_meta":[]}`:                                           {},
	`[]`:                                                                  {},
	`{"content":[{"type":"text","text":"a"}`:                              {},
}

func TestScan(t *testing.T) {
	t.Parallel()
	for text, want := range scanned {
		if _, _, _, message, result := proxy.Scanned([]byte(text)); message != want.message || result != want.result {
			t.Errorf("%s: scanned as a message %v, as a result %v; want %v", text, message, result, want)
		}
	}
}

// What is scanned reads as package json and the SDK read it.
func FuzzScan(f *testing.F) {
	for text := range scanned {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		message, res, kind, isMessage, isResult := proxy.Scanned(text)
		if isMessage {
			if want, err := proxy.Decoded(text); err != nil || !reflect.DeepEqual(message, want) {
				t.Errorf("%q: scanned %q, decoded %q, %v", text, message, want, err)
			}
		}
		if !isResult {
			return
		}
		want := new(mcp.CallToolResult)
		var typed struct{ ResultType string }
		if err := json.Unmarshal(text, &typed); err != nil || typed.ResultType != kind {
			t.Errorf("%q: its type is %q, want %q, %v", text, kind, typed.ResultType, err)
		}
		var digits struct {
			Structured any      `json:"structuredContent"`
			Meta       mcp.Meta `json:"_meta"`
		}
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber()
		err := errors.Join(json.Unmarshal(text, want), d.Decode(&digits))
		want.StructuredContent, want.Meta = digits.Structured, digits.Meta // the SDK rounds their numbers
		var got, decoded any = res, want
		if err != nil || !reflect.DeepEqual(got, decoded) {
			t.Errorf("%q: scanned %+v, decoded %+v, %v", text, res, want, err)
		}
	})
}
