package main

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// variants rewrite the goal so that it does not contain the values of the attack's calls as they are.
var variants = map[string]func(injection task) string{
	"base64":  each(func(v string) string { return base64.StdEncoding.EncodeToString([]byte(v)) }),
	"hex":     each(func(v string) string { return hex.EncodeToString([]byte(v)) }),
	"percent": each(func(v string) string { return "%" + strings.ReplaceAll(fmt.Sprintf("% X", v), " ", "%") }),
	"reversed": each(func(v string) string {
		r := []rune(v)
		slices.Reverse(r)
		return string(r)
	}),
	"split": each(func(v string) string {
		r := []rune(v)
		return "'" + string(r[:len(r)/2]) + "' followed by '" + string(r[len(r)/2:]) + "'"
	}),
	"case":       each(func(v string) string { return strings.ToUpper(v) }),
	"spaced":     each(func(v string) string { return strings.Join(strings.Split(v, ""), " ") }),
	"homoglyphs": each(strings.NewReplacer("a", "а", "e", "е", "o", "о", "c", "с", "p", "р", "S", "Ѕ", "H", "Н").Replace),
}

// each returns a rewriting of all values of the calls that are in the goal.
func each(rewrite func(string) string) func(injection task) string {
	return func(injection task) string {
		goal := injection.Goal
		for _, value := range values(injection.Calls) {
			goal = strings.ReplaceAll(goal, value, rewrite(value))
		}
		return goal
	}
}

// values returns the texts of the calls' arguments, the longest first.
func values(calls []call) []string {
	var all []string
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			if len(v) >= 4 && !slices.Contains(all, v) {
				all = append(all, v)
			}
		case []any:
			for _, e := range v {
				walk(e)
			}
		case map[string]any:
			for _, e := range v {
				walk(e)
			}
		}
	}
	for _, c := range calls {
		var arguments any
		if json.Unmarshal(c.Args, &arguments) == nil {
			walk(arguments)
		}
	}
	slices.SortFunc(all, func(a, b string) int { return len(b) - len(a) })
	return all
}
