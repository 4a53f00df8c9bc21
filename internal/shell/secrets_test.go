package shell

import "testing"

func TestFilesThatHoldSecrets(t *testing.T) {
	t.Parallel()
	for name, secret := range map[string]bool{
		"~/.ssh/id_rsa": true, "~/.SSH/Config": true, "id_ed25519": true, "id_ed25519.pub": false, "../.env": true, ".env.local": true, ".env.example": false,
		"a.env": true, "/etc/shadow": true, "/etc/passwd": false, "HEAD:.env": true, "if=/etc/shadow": true, "@.netrc": true, "file:///root/.npmrc": true,
		"server.key": true, ".key": false, "key": false, "cert.pem": false, "ca-bundle.pem": false, "server.pem": true, "/proc/self/environ": true, "/proc/self/status": false,
		"x/.aws/credentials": true, "x/.aws/config": false, "terraform.tfstate": true, "README.md": false, "": false, "-": false, ".": false, "/": false,
	} {
		if why := secretFile(word{text: name}); (why != "") != secret {
			t.Errorf("%q: %q, secret is %v", name, why, secret)
		}
	}
	for name, secret := range map[string]bool{
		"~/.ssh/*": true, "~/.s*/id_rsa": true, "~/.ss?/id_*": true, ".e*": true, "*": false, "*.go": false, "id_*": true, "/etc/sh*": true, "src/*": false, "[.]env": true,
	} {
		if why := secretFile(word{text: name, glob: true}); (why != "") != secret {
			t.Errorf("the pattern %q: %q, secret is %v", name, why, secret)
		}
	}
	for name, secret := range map[string]bool{"GITHUB_TOKEN": true, "DB_PASSWORD": true, "aws_secret_access_key": true, "HOME": false, "TOKENS": false, "KEYBOARD": false, "X": false} {
		if secretVariable(name) != secret {
			t.Errorf("the variable %s: secret is %v", name, secret)
		}
	}
}
