package search

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-go/fairlead/middleware"
)

// A Ranker returns one score for each tool, how well it fits a message, for example by the distance of
// embeddings. A tool that is not above 0 does not fit. It only gets tools that may be selected.
type Ranker func(ctx context.Context, message string, tools []*middleware.Tool) ([]float64, error)

// SelectOptions are the settings of [Index.Select]. The zero value is ready.
type SelectOptions struct {
	// Max is how many tools are selected at most; 0 means 20.
	Max int
	// Always are the tools, as "server/tool", that are selected whatever the message. It cannot bring back
	// what is kept out, and an unknown tool is passed over; nil means none.
	Always []string
	// Named are the tools, as "server/tool", that the host wants in this turn, whatever their class; nil means
	// none. Put in what a person asked for by name, and never what a model or a server wrote.
	Named []string
	// WithDangerous lets in tools whose class is Dangerous or Unknown; false keeps them out unless they are named.
	WithDangerous bool
	// Where keeps out every tool that it does not hold for, named or not; nil keeps none out.
	Where func(*middleware.Tool) bool
	// Rank scores the tools; nil means by the words that they share with the message.
	Rank Ranker
}

const defaultMax = 20

func (o *SelectOptions) allows(t *middleware.Tool) bool {
	return (o.WithDangerous || !t.Annotations.MustConfirm()) && o.holds(t)
}

func (o *SelectOptions) holds(t *middleware.Tool) bool { return o.Where == nil || o.Where(t) }

// Select returns the tools to give to a model for a user's message: the named ones, those of Always, and then
// those that fit the message, the best first, at most Max. It only shortens a list: the chain and the guard
// decide what the model may call.
func (x *Index) Select(ctx context.Context, message string, o SelectOptions) ([]*middleware.Tool, error) {
	if o.Max < 0 {
		return nil, fmt.Errorf("search: SelectOptions.Max is %d; use 0 for %d, or a number above it", o.Max, defaultMax)
	}
	s, most := x.now(), cmp.Or(o.Max, defaultMax)
	selected, err := s.picked(&o)
	if err != nil {
		return nil, err
	}
	if len(selected) > most {
		return nil, fmt.Errorf("search: %d tools are named or always selected and SelectOptions.Max is %d; raise it or name fewer", len(selected), most)
	}
	may := func(t *middleware.Tool) bool { return !slices.Contains(selected, t) && o.allows(t) }
	fitting, err := s.fitting(ctx, message, o.Rank, may)
	if err != nil {
		return nil, err
	}
	return append(selected, fitting[:min(len(fitting), most-len(selected))]...), nil
}

// picked returns the tools that are selected whatever the message.
func (s *state) picked(o *SelectOptions) (picked []*middleware.Tool, err error) {
	for _, list := range []struct {
		field string
		names []string
		may   func(*middleware.Tool) bool
	}{{"Named", o.Named, o.holds}, {"Always", o.Always, o.allows}} {
		for _, full := range list.names {
			server, tool, ok := strings.Cut(full, "/")
			if !ok {
				return nil, fmt.Errorf(`search: SelectOptions.%s has %q; write "server/tool"`, list.field, full)
			}
			for _, t := range s.tools {
				if t.Server == server && t.Name() == tool && list.may(t) && !slices.Contains(picked, t) {
					picked = append(picked, t)
				}
			}
		}
	}
	return picked, nil
}

// fitting returns the other tools that may be selected and fit the message, the best first.
func (s *state) fitting(ctx context.Context, message string, rank Ranker, may func(*middleware.Tool) bool) ([]*middleware.Tool, error) {
	if rank == nil {
		return s.at(ranked(s.scores(message), func(at int32) bool { return may(s.tools[at]) })), nil
	}
	those := state{tools: slices.DeleteFunc(slices.Clone(s.tools), func(t *middleware.Tool) bool { return !may(t) })}
	scores, err := rank(ctx, message, slices.Clone(those.tools))
	if err != nil {
		return nil, fmt.Errorf("search: SelectOptions.Rank could not rank the tools; leave it out to go on without it: %w", err)
	}
	if len(scores) != len(those.tools) {
		return nil, fmt.Errorf("search: SelectOptions.Rank returned %d scores for %d tools; it must return one for each", len(scores), len(those.tools))
	}
	return those.at(ranked(scores, func(int32) bool { return true })), nil
}
