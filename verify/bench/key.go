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

var errKey = errors.New("the key is wrong")

// key makes the canonical form of arguments, which is what the key of a result is made from. It is compared with
// decoding and encoding them, and with only checking that they are JSON.
func key(raw json.RawMessage) contest {
	call := middleware.Call{Tool: reads, Arguments: raw}
	form, err := canonical.AppendObject(nil, raw)
	theirs, err2 := naiveKey(call)
	if err := errors.Join(err, err2); err != nil || !json.Valid(form) {
		panic(fmt.Sprint("bench: arguments without a key: ", err))
	}
	var buffer []byte
	ours := func(n int) (err error) {
		for range n {
			if buffer, err = canonical.AppendObject(buffer[:0], raw); err != nil {
				return err
			}
		}
		if !bytes.Equal(buffer, form) {
			return errKey
		}
		return nil
	}
	naive := func(n int) error {
		for range n {
			if got, err := naiveKey(call); err != nil || got != theirs {
				return errors.Join(errKey, err)
			}
		}
		return nil
	}
	valid := func(n int) error {
		for range n {
			if !json.Valid(raw) {
				return errKey
			}
		}
		return nil
	}
	return contest{
		ways:  []subject{{name: "ours", run: ours}, {name: "naive", run: naive}, {name: "json_valid", run: valid}},
		goals: map[string]float64{"json_valid": 1.2, "naive": 10},
	}
}
