package redact

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// The names that secrets stand under, in lower case and with nothing between their
// words. A name counts if it holds one of the first, ends in one of the second, or
// is one of the third.
var (
	namesWith = []string{
		"password", "passwd", "passphrase", "passcode", "secret", "credential", "authorization", "cookie", "bearer",
		"apikey", "accesskey", "privatekey", "signingkey", "encryptionkey", "sharedkey", "accountkey", "masterkey", "sshkey", "clientkey", "hmackey",
		"connectionstring", "authtoken", "accesstoken", "refreshtoken", "sessiontoken", "onetimecode", "verificationcode", "securitycode", "recoverycode",
		"passwort", "kennwort", "contraseña", "contrasena", "motdepasse", "wachtwoord", "lösenord", "salasana", "пароль", "密码", "密碼", "口令", "パスワード", "비밀번호",
	}
	namesEndingIn = []string{"token", "tokens", "pwd", "signature", "otp", "sessid", "sessionid", "pass"}
	names         = map[string]bool{
		"auth": true, "pin": true, "pincode": true, "cvv": true, "cvc": true, "dsn": true, "jwt": true, "sid": true, "session": true, "sessionid": true,
		"pass": true, "pw": true, "creds": true, "totp": true, "mfacode": true, "totpcode": true, "sig": true, "passkey": true, "mnemonic": true,
		"seedphrase": true, "requeststate": true,
		"xauth": true, "basicauth": true, "httpauth": true, "proxyauth": true, "passin": true, "passout": true,
		"senha": true, "mdp": true, "hasło": true, "haslo": true, "heslo": true, "şifre": true, "sifre": true,
	}
	noPass = []string{"bypass", "compass", "surpass", "trespass", "overpass", "underpass"}
)

// secretName reports whether a member is a secret by its name. What can be told by
// looking at nothing, or is a switch, is none; and a number of tokens is a count.
func secretName(name string, member any) bool {
	switch member := member.(type) {
	case nil, bool:
		return false
	case string:
		if member == "" {
			return false
		}
	case json.Number:
		if strings.HasSuffix(plain(name), "tokens") {
			return false
		}
	}
	return IsSecret(name)
}

// IsSecret reports whether a secret stands under a name, or is what a text speaks of.
func IsSecret(name string) bool {
	p := plain(name)
	if names[p] {
		return true
	}
	ends := func(end string) bool { return strings.HasSuffix(p, end) }
	return slices.ContainsFunc(namesWith, func(part string) bool { return strings.Contains(p, part) }) ||
		!slices.ContainsFunc(noPass, ends) && slices.ContainsFunc(namesEndingIn, ends)
}

// plain is a name without what its spellings differ in: case, what stands between
// the words, full-width letters and what cannot be seen.
func plain(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= '！' && r <= '～' {
			r -= '！' - '!'
		}
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, name)
}

// isPair reports whether the member is the value of a pair such as
// {"name": "Authorization", "value": "…"}.
func isPair(object map[string]any, member string) bool {
	switch plain(member) {
	case "value", "val", "v", "values", "content", "data", "stringdata":
	default:
		return false
	}
	for key, v := range object {
		switch plain(key) {
		case "name", "key", "header", "field", "k", "variable", "option", "kind", "type":
			if name, ok := v.(string); ok && IsSecret(name) {
				return true
			}
		}
	}
	return false
}

// isFlag reports whether the item is an option of a command line whose value comes
// next.
func isFlag(item any) bool {
	s, ok := item.(string)
	return ok && strings.HasPrefix(s, "-") && !strings.ContainsAny(s, "= ") && IsSecret(s)
}

// isHeader reports whether the item names a header whose value comes next, in a list of
// names and values.
func isHeader(item any) bool {
	s, ok := item.(string)
	return ok && header.MatchString(s) && IsSecret(s)
}

var header = regexp.MustCompile(`(?i)^(?:(?:[a-z0-9]+-)+[a-z0-9]+|authorization|cookie)$`)
