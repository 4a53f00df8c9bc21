package schema

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// A Contract is what a tool promises about its structured content.
type Contract struct {
	root      any
	validator *jsonschema.Resolved
}

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
	var parsed jsonschema.Schema
	if err := json.Unmarshal(raw, &parsed); err != nil {
		return nil, err
	}
	if c.validator, err = parsed.Resolve(nil); err != nil {
		return nil, err
	}
	return c, nil
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
	if err := c.validator.Validate(plain); err != nil {
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
