package annotation

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// MetaKey is where the fields that MCP does not know travel in a tool's _meta.
// A tool of ours repeats the four hints there too, since the SDK's types cannot
// tell an absent hint from a false one.
const MetaKey = "io.github.fairlead-go/annotations"

// MarshalJSON writes the set fields under the names of [Field]; the duration is
// a number of milliseconds. Evidence is not written.
func (a Annotations) MarshalJSON() ([]byte, error) {
	out := make(map[Field]any, len(fields))
	for name, h := range a.hints() {
		if *h != Unset {
			out[name] = *h == Yes
		}
	}
	for name, s := range a.strings() {
		if *s != "" {
			out[name] = *s
		}
	}
	if len(a.Tags) > 0 {
		out[Tags] = a.Tags
	}
	if a.EstimatedDuration != 0 {
		out[EstimatedDuration] = float64(a.EstimatedDuration) / float64(time.Millisecond)
	}
	if a.RateLimitHint != nil {
		out[RateLimitHint] = *a.RateLimitHint
	}
	if a.CostHint != nil {
		out[CostHint] = *a.CostHint
	}
	return json.Marshal(out)
}

// UnmarshalJSON is the strict reading, for what a host wrote: an unknown or
// repeated member or a wrong type is an error that names it.
func (a *Annotations) UnmarshalJSON(data []byte) error {
	parsed, faults := parse(data, true)
	if len(faults) > 0 {
		return errors.Join(faults...)
	}
	*a = parsed
	return nil
}

// Parse is the lenient reading, for what a server wrote: a member that cannot be
// read is left out and reported, the others count, and unknown members are
// ignored. A hint that is given twice counts with its careful value.
func Parse(data []byte) (Annotations, error) {
	a, faults := parse(data, false)
	return a, errors.Join(faults...)
}

func parse(data []byte, strict bool) (Annotations, []error) {
	var a Annotations
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf("annotation: "+format, args...)) }

	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	open, err := dec.Token()
	if err != nil || open != json.Delim('{') {
		if string(bytes.TrimSpace(data)) != "null" {
			fault("%.40q is no JSON object", data)
		}
		return a, faults
	}
	seen := make(map[Field]Annotations)
	for dec.More() {
		key, err := dec.Token()
		var raw json.RawMessage
		if err == nil {
			err = dec.Decode(&raw)
		}
		if err != nil {
			fault("not readable as JSON: %v", err)
			return a, faults
		}
		name := Field(key.(string)) // a key of an object is always a string
		known, err := a.decode(name, raw)
		switch {
		case err != nil:
			fault("%s: %w", name, err)
		case !known && strict:
			fault("%q is no annotation", name)
		}
		before, twice := seen[name]
		if twice {
			fault("%s is given twice", name)
			a = Raise(a, before)
		}
		if known {
			seen[name] = a.only(name)
		}
	}
	if end, err := dec.Token(); err != nil || end != json.Delim('}') {
		fault("%.40q ends too early", data)
	} else if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		fault("%.40q goes on after the object", data)
	}
	return a, faults
}

// only returns what a says of one field.
func (a Annotations) only(name Field) Annotations {
	var out Annotations
	for i := range fields {
		if fields[i].name == name {
			fields[i].set(&out, &a)
		}
	}
	return out
}

// decode reads one member into its field.
func (a *Annotations) decode(name Field, raw json.RawMessage) (known bool, err error) {
	if h, ok := a.hints()[name]; ok {
		var b *bool
		if err := json.Unmarshal(raw, &b); err != nil {
			return true, fmt.Errorf("%.40s is no boolean", raw)
		}
		if b != nil {
			*h = HintOf(*b)
		}
		return true, nil
	}
	if s, ok := a.strings()[name]; ok {
		if err := json.Unmarshal(raw, s); err != nil {
			return true, fmt.Errorf("%.40s is no string", raw)
		}
		if err := a.only(name).Validate(); err != nil {
			*s = ""
			return true, err
		}
		return true, nil
	}
	switch name {
	case Tags:
		if err := json.Unmarshal(raw, &a.Tags); err != nil {
			a.Tags = nil
			return true, fmt.Errorf("%.40s is no list of strings", raw)
		}
		if err := a.only(name).Validate(); err != nil {
			a.Tags = nil
			return true, err
		}
		return true, nil
	case EstimatedDuration:
		ms, err := decodeNumber(raw)
		if err != nil {
			return true, err
		}
		// A duration past what the type holds is as good as unknown.
		if ms != nil && *ms < float64(math.MaxInt64)/float64(time.Millisecond) {
			a.EstimatedDuration = time.Duration(math.Round(*ms * float64(time.Millisecond)))
		}
		return true, nil
	case RateLimitHint:
		a.RateLimitHint, err = decodeNumber(raw)
		return true, err
	case CostHint:
		a.CostHint, err = decodeNumber(raw)
		return true, err
	}
	return false, nil
}

func decodeNumber(raw json.RawMessage) (*float64, error) {
	var f *float64
	if err := json.Unmarshal(raw, &f); err != nil || f != nil && (!finite(*f) || *f < 0) {
		return nil, fmt.Errorf("%.40s is no finite number of at least 0", raw)
	}
	return f, nil
}

func (a *Annotations) hints() map[Field]*Hint {
	return map[Field]*Hint{
		ReadOnlyHint: &a.ReadOnly, DestructiveHint: &a.Destructive, IdempotentHint: &a.Idempotent,
		OpenWorldHint: &a.OpenWorld, RequiresConfirmation: &a.RequiresConfirmation, AuditRequired: &a.AuditRequired,
	}
}

func (a *Annotations) strings() map[Field]*string {
	return map[Field]*string{
		Title: &a.Title, Category: &a.Category,
		ComplexityHint: (*string)(&a.Complexity), SecurityLevelHint: (*string)(&a.SecurityLevel),
	}
}

// FromTool returns what the definition declares: MCP's hints in annotations and
// the rest under [MetaKey] in _meta. The error lists what could not be read; the
// readable rest counts.
//
// The tuple that an SDK writes by itself when the author said nothing
// (readOnlyHint and idempotentHint false, the other two absent) is no
// information, and beside destructiveHint and openWorldHint both true, which
// another SDK adds, those two falses are none either.
func FromTool(t *mcp.Tool) (Annotations, error) {
	var declared Annotations
	if w := t.Annotations; w != nil {
		declared = fromSDK(w)
	}
	if declared.Title == "" {
		declared.Title = t.Title
	}
	own, ok := t.Meta[MetaKey]
	if !ok {
		return declared, nil
	}
	raw, err := json.Marshal(own)
	if err != nil {
		return declared, fmt.Errorf("annotation: _meta[%q]: %w", MetaKey, err)
	}
	extra, err := Parse(raw)
	// Hints under our key tell absent from false, so they replace the SDK's; they
	// cannot take back what the plain annotations admit.
	if w := t.Annotations; w != nil && extra.ReadOnly|extra.Destructive|extra.Idempotent|extra.OpenWorld != Unset {
		declared = Annotations{Title: declared.Title}
		// A server of ours writes a yes in both places, so a plain no speaks against it.
		plain := fromSDK(w)
		if extra.ReadOnly == Yes && plain.ReadOnly == No {
			extra.ReadOnly = No
		}
		if extra.Idempotent == Yes && plain.Idempotent == No {
			extra.Idempotent = No
		}
		extra = Merge(extra, admitted(w))
	}
	return Merge(declared, extra), err
}

func fromSDK(w *mcp.ToolAnnotations) Annotations {
	a := Annotations{Title: w.Title}
	if w.DestructiveHint != nil {
		a.Destructive = HintOf(*w.DestructiveHint)
	}
	if w.OpenWorldHint != nil {
		a.OpenWorld = HintOf(*w.OpenWorldHint)
	}
	silent := !w.ReadOnlyHint && !w.IdempotentHint &&
		(a.Destructive == Unset && a.OpenWorld == Unset || a.Destructive == Yes && a.OpenWorld == Yes)
	if !silent {
		a.ReadOnly, a.Idempotent = HintOf(w.ReadOnlyHint), HintOf(w.IdempotentHint)
	}
	return a
}

// admitted is what plain annotations say to the careful side or in words.
func admitted(w *mcp.ToolAnnotations) Annotations {
	a := fromSDK(w)
	return Annotations{Title: a.Title, Destructive: onlyYes(a.Destructive), OpenWorld: onlyYes(a.OpenWorld)}
}

func onlyYes(h Hint) Hint {
	if h == Yes {
		return Yes
	}
	return Unset
}

// Declare returns a copy of the definition that declares a: the four hints of
// MCP in annotations, everything that is set under [MetaKey] in _meta. It is how
// a server of ours says what its tools do. A hint that is unset stays absent
// where the SDK's type can leave it so.
func Declare(t *mcp.Tool, a Annotations) *mcp.Tool {
	out := *t
	w := &mcp.ToolAnnotations{Title: a.Title, ReadOnlyHint: a.ReadOnly == Yes, IdempotentHint: a.Idempotent == Yes}
	if a.Destructive != Unset {
		w.DestructiveHint = new(a.Destructive == Yes)
	}
	if a.OpenWorld != Unset {
		w.OpenWorldHint = new(a.OpenWorld == Yes)
	}
	out.Annotations = w
	out.Meta = maps.Clone(t.Meta)
	if out.Meta == nil {
		out.Meta = mcp.Meta{}
	}
	a.Evidence = nil
	out.Meta[MetaKey] = a
	return &out
}
