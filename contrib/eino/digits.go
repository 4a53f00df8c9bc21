package eino

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"

	"github.com/eino-contrib/jsonschema"
)

// keepDigits gives the values within a schema, such as those of enum and default, the numbers that raw has, as
// [json.Number]. Decoding a schema leaves them as float64, and a model would be shown 9007199254740992 for
// 9007199254740993.
func keepDigits(s *jsonschema.Schema, raw json.RawMessage) {
	var members map[string]json.RawMessage
	if s == nil || json.Unmarshal(raw, &members) != nil { // true and false have no values
		return
	}
	fields := reflect.ValueOf(s).Elem()
	for i := range fields.NumField() {
		name, _, _ := strings.Cut(fields.Type().Field(i).Tag.Get("json"), ",")
		written, ok := members[name]
		if !ok || !fields.Field(i).CanSet() {
			continue
		}
		switch field := fields.Field(i).Addr().Interface().(type) {
		case *any:
			exactly(written, field)
		case *[]any:
			exactly(written, field)
		case **jsonschema.Schema:
			keepDigits(*field, written)
		case *[]*jsonschema.Schema:
			var all []json.RawMessage
			_ = json.Unmarshal(written, &all) // it was read once
			for i, one := range *field {
				keepDigits(one, all[i])
			}
		case *map[string]*jsonschema.Schema:
			keepEach(*field, written)
		case *jsonschema.Definitions:
			keepEach(*field, written)
		}
	}
	if s.Properties != nil {
		all := make(map[string]*jsonschema.Schema)
		for pair := s.Properties.Oldest(); pair != nil; pair = pair.Next() {
			all[pair.Key] = pair.Value
		}
		keepEach(all, members["properties"])
	}
}

func keepEach(schemas map[string]*jsonschema.Schema, raw json.RawMessage) {
	var all map[string]json.RawMessage
	_ = json.Unmarshal(raw, &all) // it was read once
	for name, one := range schemas {
		keepDigits(one, all[name])
	}
}

// exactly decodes JSON that was decoded once, with its numbers as they are written.
func exactly(raw json.RawMessage, to any) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	_ = d.Decode(to)
}
