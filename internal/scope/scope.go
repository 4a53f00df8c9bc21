// Package scope decides what a caller's scopes cover. A tool needs a permission: a resource and an action with
// the last dot between them, as in crm.customers.read. A scope is a permission, or has a star for the whole
// resource (*.read), or a star or the word all for the whole action (customers.*, customers.all), or both. A
// star is never a part of a word or of a resource: *.read covers crm.customers.read, but crm.* only crm.read.
package scope

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/internal/lazyregexp"
	"github.com/fairlead-go/fairlead/middleware"
)

// A Scope is one thing that a caller may do, as catalog.Scope has it.
type Scope struct {
	Permission string
	Ceiling    annotation.SecurityLevel
}

// A Set is the scopes of one caller. It never changes; the zero value covers nothing.
type Set struct{ patterns []pattern }

// A pattern is a scope that was read.
type pattern struct {
	resource, action string
	ceiling          int
}

// New returns the scopes as a set. An error names each invalid one, and then nothing is covered.
func New(scopes ...Scope) (Set, error) {
	var errs []error
	patterns := make([]pattern, len(scopes))
	for i, s := range scopes {
		var err error
		if patterns[i], err = read(s); err != nil {
			errs = append(errs, err)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return Set{}, err
	}
	return Set{patterns: patterns}, nil
}

// Covers reports whether one of the scopes, by itself, covers a tool that needs the permission and has the
// security level. A tool without a valid permission is covered by *.all alone.
func (s Set) Covers(permission string, level annotation.SecurityLevel) bool {
	high, known := rank(level)
	if !known {
		return false
	}
	readable := Check(permission) == nil
	return slices.ContainsFunc(s.patterns, func(p pattern) bool {
		return high <= p.ceiling && (p.everything() || readable && p.covers(permission))
	})
}

// Check returns an error for a string that is not the permission of a tool, such as a wildcard.
func Check(permission string) error {
	resource, action := split(permission)
	switch {
	case strings.Contains(permission, "*") || resource != "" && action == all:
		return fmt.Errorf("%.80q is a wildcard, which is for scopes; a tool needs one permission", permission)
	case !plain(permission):
		return fmt.Errorf("%.80q is not a permission; %s", permission, form)
	}
	return nil
}

const (
	all  = "all"
	star = "*"
	most = 200 // bytes of a permission
	form = `write "resource.action", of letters, digits, '_', '-', ':', '/' and '.' between words`
	word = `[A-Za-z0-9_:/-]+`
)

var (
	words   = lazyregexp.New(`^` + word + `(\.` + word + `)*$`)
	starred = lazyregexp.New(`^(\*|` + word + `(\.` + word + `)*)(\.(\*|` + word + `))?$`)
)

func plain(s string) bool { return len(s) <= most && words.MatchString(s) }

// split cuts a permission at the last dot; without one, all of it is the action.
func split(permission string) (resource, action string) {
	dot := strings.LastIndexByte(permission, '.')
	return permission[:max(dot, 0)], permission[dot+1:]
}

func read(s Scope) (pattern, error) {
	ceiling, known := rank(s.Ceiling)
	if !known {
		return pattern{}, fmt.Errorf("the ceiling of %.80q: want public, internal or restricted, got %.80q", s.Permission, s.Ceiling)
	}
	resource, action := split(s.Permission)
	if action == all && resource != "" {
		action = star
	}
	switch {
	case s.Permission == star || s.Permission == all:
		return pattern{}, fmt.Errorf(`%q is not a scope; for everything write "*.all"`, s.Permission)
	case len(s.Permission) > most || !starred.MatchString(s.Permission):
		return pattern{}, fmt.Errorf("%.80q is not a scope; %s, or '*' for the whole resource, or '*' or \"all\" for the whole action", s.Permission, form)
	}
	return pattern{resource, action, ceiling}, nil
}

func (p pattern) everything() bool { return p.resource == star && p.action == star }

// covers reports whether a pattern that was read covers a permission that was checked. A star covers no word alone.
func (p pattern) covers(permission string) bool {
	resource, action := split(permission)
	is := func(pattern, part string) bool { return pattern == part || pattern == star && resource != "" }
	return is(p.resource, resource) && is(p.action, action)
}

func rank(level annotation.SecurityLevel) (rank int, known bool) {
	levels := []annotation.SecurityLevel{annotation.Public, annotation.Internal, annotation.Restricted}
	rank = slices.Index(levels, cmp.Or(level, annotation.Public))
	return rank, rank >= 0
}

// Uncovered returns the tool with its class for these arguments, if preflight found the call to be more than its tool
// and than the scopes cover; else nil.
func Uncovered(ctx context.Context, call middleware.Call, covers func(*middleware.Tool) bool) *middleware.Tool {
	found, ok := callstate.Answered(ctx, &call)
	if !ok {
		return nil
	}
	answered := *call.Tool
	answered.Annotations = annotation.Raise(call.Tool.Annotations, found)
	if covers(&answered) {
		return nil
	}
	return &answered
}
