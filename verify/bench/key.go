package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/fairlead-go/fairlead/internal/canonical"
	"github.com/fairlead-go/fairlead/middleware"
)

// rowsOf returns arguments that are a list of small rows.
func rowsOf(size int) json.RawMessage {
	var b strings.Builder
	b.WriteString(`{"rows":[`)
	for i := 0; b.Len() < size-120; i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"id":%d,"name":"customer %d","due":"2026-11-21","amount":%d.25}`, i, i, i*7)
	}
	b.WriteString(`],"pad":"`)
	b.WriteString(strings.Repeat("p", size-b.Len()-2) + `"}`)
	return json.RawMessage(b.String())
}

var errKey = errors.New("the same question has two keys, or two have one")

// key is what it takes to know a question again, against decoding and encoding it
// and against only looking whether it is JSON.
func key(name string, raw json.RawMessage) contest {
	var buffer []byte
	call := middleware.Call{Tool: reads, Arguments: raw}
	twin := bytes.Clone(raw) // so that the one before is never the same
	twin[bytes.IndexByte(twin, 'p')] = 'q'
	texts := [2]json.RawMessage{raw, twin}
	want, err := naiveKey(call)
	var forms [2][]byte
	for i, text := range texts {
		form, formErr := canonical.AppendObject(nil, text)
		if err = errors.Join(err, formErr); err != nil || !json.Valid(form) {
			panic(err)
		}
		forms[i] = form
	}
	return contest{
		name: "key/" + name,
		ours: func(n int) error {
			for i := range n {
				var err error
				if buffer, err = canonical.AppendObject(buffer[:0], texts[(i+n)%2]); err != nil {
					return err
				}
			}
			if last := (n - 1 + n) % 2; !bytes.Equal(forms[last], buffer) {
				return errKey
			}
			return nil
		},
		peers: []subject{
			{"naive", func(n int) error {
				for range n {
					if got, err := naiveKey(call); err != nil || got != want {
						return errors.Join(errKey, err)
					}
				}
				return nil
			}},
			{"json_valid", func(n int) error {
				for range n {
					if !json.Valid(raw) {
						return errKey
					}
				}
				return nil
			}},
		},
		goals: map[string]float64{"json_valid": 1.2, "naive": 10},
	}
}
