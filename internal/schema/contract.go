package schema

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// A Contract is what a tool promises about its structured content.
type Contract struct {
	// Shape is what the output schema names.
	Shape *Shape

	validator *jsonschema.Resolved
}

// ReadContract reads an output schema, or says why nothing can be checked against it.
func ReadContract(output any) (*Contract, error) {
	checked, err := Open(output)
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(output)
	if err != nil {
		return nil, err
	}
	var parsed jsonschema.Schema
	if err := json.Unmarshal(raw, &parsed); err != nil {
		return nil, err
	}
	c := new(Contract)
	if c.validator, err = parsed.Resolve(nil); err != nil {
		return nil, err
	}
	w := &shaper{schema: checked, known: make(map[string]*Shape)}
	if c.Shape, err = w.shape(w.apply(nil, checked.Root())); err != nil {
		return nil, err
	}
	return c, nil
}

// Check says where the value is not what the tool promises. Use it on what has been
// cut: a hostile schema makes it slow.
func (c *Contract) Check(v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	var plain any // the validator takes a json.Number for a text
	if err := json.Unmarshal(raw, &plain); err != nil {
		return err
	}
	if err := c.validator.Validate(plain); err != nil {
		return fmt.Errorf("%s is not kept to", where(err))
	}
	return nil
}

// where returns the place in the schema and the keyword that a validator names; what
// it says of the value behind them is no matter for a log.
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
