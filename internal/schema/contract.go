package schema

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/fairlead-go/fairlead/internal/jsontree"
	"github.com/google/jsonschema-go/jsonschema"
)

// A Contract is what a tool promises about its structured content.
type Contract struct {
	root      any
	validator *jsonschema.Resolved
	// coarse is the validator without multipleOf, which it computes in float64, so that 19.99 is not a multiple of 0.01.
	// It is nil if the schema has none.
	coarse *jsonschema.Resolved
}

// An UncheckableError is about a schema that is harmless and that the validator cannot compile, such as one with a
// pattern that only ECMAScript has.
type UncheckableError struct{ error }

func (e *UncheckableError) Unwrap() error { return e.error }

// ReadContract reads an output schema, or reports why nothing can be checked against it.
func ReadContract(output any) (*Contract, error) {
	raw, err := json.Marshal(output)
	if err != nil {
		return nil, err
	}
	c := new(Contract)
	if err := json.Unmarshal(raw, &c.root); err != nil {
		return nil, err
	}
	if err := Check(c.root); err != nil {
		return nil, err
	}
	if c.validator, err = compile(c.root); err != nil {
		return nil, &UncheckableError{err}
	}
	if coarse, had := without(c.root, "multipleOf"); had {
		if c.coarse, err = compile(coarse); err != nil {
			return nil, &UncheckableError{err}
		}
	}
	return c, nil
}

// compile returns the validator of a schema.
func compile(root any) (*jsonschema.Resolved, error) {
	raw, err := json.Marshal(root)
	if err != nil {
		return nil, err
	}
	var parsed jsonschema.Schema
	if err := json.Unmarshal(raw, &parsed); err != nil {
		return nil, err
	}
	return parsed.Resolve(nil)
}

// Shape returns the shape of the structured content, a new one for each call.
func (c *Contract) Shape() *Shape { return NewShape(c.root, c.root, false) }

// Check reports where the value breaks the schema. Cut the value first, since a hostile schema makes it slow.
func (c *Contract) Check(v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	var plain any // the validator takes a json.Number for a string
	if err := json.Unmarshal(raw, &plain); err != nil {
		return err
	}
	err = c.validator.Validate(plain)
	if err != nil && c.coarse != nil && c.coarse.Validate(plain) == nil {
		digits, decodeErr := jsontree.Decode(raw)
		if decodeErr == nil && multiples(c.root, digits) {
			return nil
		}
	}
	if err != nil {
		return fmt.Errorf("%s is not kept to", where(err))
	}
	return nil
}

// where returns the place in the schema and the keyword that a validator names, without the value.
func where(err error) string {
	place := "the schema"
	for step := range strings.SplitSeq(err.Error(), ": ") {
		inner, ok := strings.CutPrefix(step, "validating ")
		if !ok {
			return fmt.Sprintf("%.200s: %.40s", place, step)
		}
		place = inner
	}
	return place
}
