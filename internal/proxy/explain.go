package proxy

import (
	"fmt"
	"strings"

	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/internal/policy"
)

// Explain says what a tool is, which rule of the policy decides about it, and what the
// chain will do with its calls. add puts the tool's server into the catalogue.
func (p *Proxy) Explain(add func(*catalog.Catalog) error, name string) (string, error) {
	plan := p.plan()
	set, err := plan.newSet()
	if err != nil {
		return "", err
	}
	defer func() { _ = set.catalog.Close() }() // it has nothing to say
	if err := add(set.catalog); err != nil {
		return "", err
	}
	tool, err := set.catalog.Find(name)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(tool.Explain())
	b.WriteString(plan.policy.Explain(tool))
	words := strings.Split(plan.standard.Describe().Will(plan.policy.Raised(tool)), " · ")
	if v, _ := plan.policy.Decide(tool.Server, tool.Name(), tool.Safety()); v == policy.Allow && len(words) > 0 && words[0] == "ask first" {
		words[0] = "run, by the policy"
	}
	will := strings.Join(words, " · ")
	switch err := plan.refuse(tool); {
	case err != nil:
		will = "refuse"
	default:
		if _, shown := set.shown.Lookup(tool.Server, tool.Name()); !shown {
			will = "refuse, the scopes do not cover it"
		}
	}
	fmt.Fprintf(&b, "  will: %s\n", will)
	return b.String(), nil
}
