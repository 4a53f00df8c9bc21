package annotation

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/fairlead-go/fairlead/internal/strictjson"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// MetaKey is the member of a tool's _meta for fields that MCP does not have, and for the four hints, to keep absent apart from no.
const MetaKey = "io.github.fairlead-go/annotations"

// MarshalJSON writes the set fields under the names of [Field]. Evidence is not written.
func (a Annotations) MarshalJSON() ([]byte, error) {
	out := make(map[Field]any, len(fields))
	for i := range fields {
		f := &fields[i]
		if f.text(&a) == "" {
			continue
		}
		switch p := f.at(&a).(type) {
		case *Hint:
			out[f.name] = *p == Yes
		case *time.Duration:
			out[f.name] = float64(*p) / float64(time.Millisecond)
		default:
			out[f.name] = p
		}
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads what a host wrote: an unknown or repeated member or a wrong type is an error.
func (a *Annotations) UnmarshalJSON(data []byte) error {
	parsed, faults := parse(data, true)
	if len(faults) > 0 {
		return errors.Join(faults...)
	}
	*a = parsed
	return nil
}

// Parse reads what a server wrote: a member that cannot be read is left out and reported, and unknown
// members are ignored. A hint that is given twice counts with its careful value.
func Parse(data []byte) (Annotations, error) {
	a, faults := parse(data, false)
	return a, errors.Join(faults...)
}

func parse(data []byte, strict bool) (Annotations, []error) {
	var a Annotations
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf("annotation: "+format, args...)) }

	members, ok := strictjson.Members(data)
	if !ok || !json.Valid(data) {
		if string(bytes.TrimSpace(data)) != "null" {
			fault("want a JSON object, got %.40q", data)
		}
		return a, faults
	}
	seen := make(map[Field]bool)
	for _, m := range members {
		name, before := Field(m.Name), a
		known, err := a.decode(name, m.Value)
		switch {
		case err != nil:
			fault("%s: %w", name, err)
		case !known && strict:
			fault("unknown annotation %q", name)
		}
		if seen[name] {
			fault("%s is given twice", name)
			a = Raise(a, before.only(name))
		}
		seen[name] = known
	}
	return a, faults
}

func (a Annotations) only(name Field) Annotations {
	for i := range fields {
		if fields[i].name != name {
			fields[i].clear(&a)
		}
	}
	return a
}

// decode reads one member into its field, which is unset if it cannot be read.
func (a *Annotations) decode(name Field, raw json.RawMessage) (known bool, err error) {
	i := slices.IndexFunc(fields[:], func(f field) bool { return f.name == name })
	if i < 0 {
		return false, nil
	}
	switch p := fields[i].at(a).(type) {
	case *Hint:
		var b *bool
		if json.Unmarshal(raw, &b) != nil {
			return true, fmt.Errorf("want a boolean, got %.40s", raw)
		}
		if b != nil {
			*p = HintOf(*b)
		}
		return true, nil
	case *time.Duration:
		ms, err := decodeNumber(raw)
		// A duration past what the type holds is as good as unknown.
		if ms != nil && *ms < float64(math.MaxInt64)/float64(time.Millisecond) {
			*p = time.Duration(math.Round(*ms * float64(time.Millisecond)))
		}
		return true, err
	case **float64:
		*p, err = decodeNumber(raw)
		return true, err
	case *string:
		if json.Unmarshal(raw, p) != nil {
			err = fmt.Errorf("want a string, got %.40s", raw)
		}
	case *[]Condition:
		*p, err = decodeConditions(raw)
	case *[]string:
		if json.Unmarshal(raw, p) != nil {
			err = fmt.Errorf("want a list of strings, got %.40s", raw)
		}
	}
	if err == nil {
		err = a.only(name).Validate()
	}
	if err != nil {
		fields[i].clear(a)
	}
	return true, err
}

func decodeNumber(raw json.RawMessage) (*float64, error) {
	var f *float64
	if err := json.Unmarshal(raw, &f); err != nil || f != nil && (!finite(*f) || *f < 0) {
		return nil, fmt.Errorf("want a finite number of at least 0, got %.40s", raw)
	}
	return f, nil
}

// FromTool returns what the definition declares: MCP's hints in annotations and the rest under [MetaKey] in
// _meta. The error lists what could not be read; the readable rest counts.
//
// SDKs write readOnlyHint and idempotentHint false when the author stated nothing. The two count as unset if
// the other two hints are absent, or both true, as another SDK adds them.
func FromTool(t *mcp.Tool) (Annotations, error) {
	return declared(t, fromSDK(t.Annotations), t.Annotations != nil)
}

// FromRaw is [FromTool] for a definition whose annotations are there as the server wrote them, nil for none:
// an absent hint differs from a false one, and the fields that the SDK's type drops count as well.
func FromRaw(t *mcp.Tool, annotations json.RawMessage) (Annotations, error) {
	if annotations == nil {
		return declared(t, Annotations{}, false)
	}
	plain, fault := Parse(annotations)
	a, err := declared(t, quiet(plain), true)
	return a, errors.Join(fault, err)
}

// declared completes the annotations of a tool by its title and by the fields under our key.
func declared(t *mcp.Tool, plain Annotations, said bool) (Annotations, error) {
	if plain.Title == "" {
		plain.Title = t.Title
	}
	own, ok := t.Meta[MetaKey]
	if !ok {
		return plain, nil
	}
	raw, err := json.Marshal(own)
	if err != nil {
		return plain, fmt.Errorf("annotation: _meta[%q]: %w", MetaKey, err)
	}
	extra, err := Parse(raw)
	// Hints under our key keep absent apart from false, so they replace the plain ones, but not to the milder side.
	if said && extra.ReadOnly|extra.Destructive|extra.Idempotent|extra.OpenWorld != Unset {
		// A server of ours writes true in both places, so a plain false contradicts it.
		if extra.ReadOnly == Yes && plain.ReadOnly == No {
			extra.ReadOnly = No
		}
		if extra.Idempotent == Yes && plain.Idempotent == No {
			extra.Idempotent = No
		}
		admitted := Annotations{
			Title: plain.Title, Destructive: plain.Destructive, OpenWorld: plain.OpenWorld,
			RequiresConfirmation: plain.RequiresConfirmation, AuditRequired: plain.AuditRequired,
		}
		for _, h := range []*Hint{&admitted.Destructive, &admitted.OpenWorld, &admitted.RequiresConfirmation, &admitted.AuditRequired} {
			if *h == No {
				*h = Unset
			}
		}
		extra = Merge(extra, admitted)
		plain = plain.Without(ReadOnlyHint, DestructiveHint, IdempotentHint, OpenWorldHint)
	}
	return Merge(plain, extra), err
}

func fromSDK(w *mcp.ToolAnnotations) Annotations {
	if w == nil {
		return Annotations{}
	}
	a := Annotations{Title: w.Title, ReadOnly: HintOf(w.ReadOnlyHint), Idempotent: HintOf(w.IdempotentHint)}
	if w.DestructiveHint != nil {
		a.Destructive = HintOf(*w.DestructiveHint)
	}
	if w.OpenWorldHint != nil {
		a.OpenWorld = HintOf(*w.OpenWorldHint)
	}
	return quiet(a)
}

// quiet takes out the two falses that SDKs write by themselves.
func quiet(a Annotations) Annotations {
	if a.ReadOnly == No && a.Idempotent == No &&
		(a.Destructive == Unset && a.OpenWorld == Unset || a.Destructive == Yes && a.OpenWorld == Yes) {
		a.ReadOnly, a.Idempotent = Unset, Unset
	}
	return a
}

// Declare returns a copy of the definition that declares a: the four hints of MCP in annotations, everything
// that is set under [MetaKey] in _meta. An unset hint stays absent if the SDK's type allows it.
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
