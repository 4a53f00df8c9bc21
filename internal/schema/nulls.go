package schema

import "slices"

// StripNulls removes from v each null in place of an optional member whose schemas take none, at every depth, and calls
// removed with the path of each as [Shape.Strip] does. Many servers write null for a member that is not there.
func (s *Shape) StripNulls(v any, removed func(path []string)) {
	s.stripNulls(v, nil, removed)
}

func (s *Shape) stripNulls(v any, path []string, removed func(path []string)) {
	if s == nil {
		return
	}
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			member := s.Member(k)
			if e == nil && member.refusesNull() && !s.Requires(k) {
				delete(v, k)
				removed(append(path, k))
			} else if e != nil {
				member.stripNulls(e, append(path, k), removed)
			}
		}
	case []any:
		path = append(path, Element)
		for i, e := range v {
			s.Item(i).stripNulls(e, path, removed)
		}
	}
}

// refusesNull reports whether the schemas name types, and null is in none of them.
func (s *Shape) refusesNull() bool {
	return s.Any(func(o map[string]any) bool { return o["type"] != nil }) && !s.Any(func(o map[string]any) bool {
		types, _ := o["type"].([]any)
		return o["type"] == "null" || slices.Contains(types, "null")
	})
}

// HasNull reports whether an object or a list in v, at any depth, has a null.
func HasNull(v any) bool {
	isNull := func(e any) bool { return e == nil || HasNull(e) }
	switch v := v.(type) {
	case map[string]any:
		for _, e := range v {
			if isNull(e) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, isNull)
	}
	return false
}
