package shell_test

import (
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/paths"
	"github.com/fairlead-go/fairlead/internal/shell"
)

func roots(tb testing.TB, r paths.Roots) *paths.Roots {
	tb.Helper()
	clean, err := r.Clean()
	if err != nil {
		tb.Fatal(err)
	}
	return &clean
}

// byRoots are command lines with their class below the roots of [bounded]: reads of /srv/app and of ~/notes, writes of
// /srv/app/scratch and /tmp/out.
const byRoots = `
	safe      cat main.go
	safe      cat /srv/app/main.go
	safe      cat ~/notes/today "$HOME/notes/x" ${HOME}/notes/y
	safe      cat "$PWD/main.go"
	safe      cat src/../main.go
	safe      ls; git status; git log --oneline -5 main..dev | head -n 3
	safe      grep -rn "/api/users" src
	safe      grep -C 3 -e /etc/passwd src/x.go
	safe      sed -n '/a/,/b/p' main.go
	safe      awk -F/ '/x/ {print $2}' list.txt
	safe      cut -d/ -f1 list.txt | sort -t / -k 2 | tr / _
	safe      find . -name '*.go' -exec wc -l {} +
	safe      find src lib -newer go.mod -type f
	safe      for f in src/*.go; do wc -l "$f"; done
	safe      for f in a.go b.go; do cat $f; done
	safe      cd src && cat ../main.go
	safe      echo /etc/passwd
	safe      basename /etc/passwd
	safe      cat < main.go 2>/dev/null
	safe      diff <(sort a) <(sort b)
	safe      env FOO=1 cat main.go
	safe      env -C src cat x.go
	safe      timeout 5 grep x main.go
	safe      git -C src log -3
	safe      curl -s https://example.com/etc/passwd
	safe      tar -tf dist/x.tar
	safe      tar -C dist -tf x.tar
	safe      aws logs describe-log-streams --log-group-name /aws/lambda/x
	safe      bash -c 'cat main.go'
	dangerous cat /etc/passwd
	dangerous cat ../other/secret
	dangerous cat src/../../other
	dangerous cat /srv/application/x
	dangerous cat ~/.bashrc
	dangerous cat ~root/x
	dangerous cat "$HOME/.profile"
	dangerous cat $FILE
	dangerous cat "src/$1"
	dangerous cat "$PWD/../x"
	dangerous head -n 5 < /etc/passwd
	dangerous ls /etc
	dangerous ls -la /
	dangerous echo /etc/*
	dangerous cat .*/x
	dangerous cat src/.?/../x
	dangerous for f in /etc/*; do echo x; done
	dangerous for f in ../*; do cat "$f"; done
	dangerous for f in src/*; do cat "$f/../../../x"; done
	dangerous for f in src/*; do cat "$f"; cd ..; done
	dangerous find / -name x
	dangerous find ../.. -name '*.go'
	dangerous find -L . -exec cat {} +
	dangerous find . -exec cat {}/../../x \;
	dangerous find . -execdir cat ../../x \;
	dangerous find . -exec cat $F \;
	dangerous find . -exec cat {} $F \;
	dangerous find . -newer /etc/passwd
	dangerous find . -name '*.go' | xargs cat
	dangerous echo /etc/passwd | xargs cat
	dangerous cd /etc && cat passwd
	dangerous cd nowhere; cat ../x
	dangerous cd src || cd lib; cat ../../x
	dangerous cd - && cat x
	dangerous cd $D; cat x
	dangerous while true; do cat x; cd ..; done
	dangerous f() { cd ..; }; f; cat x
	dangerous pushd src; popd; cat x
	dangerous git -C .. log
	dangerous git -C src diff --no-index a ../../b
	dangerous git --git-dir=/other/.git log
	dangerous env -C /etc cat passwd
	dangerous env -C src cat ../../x
	dangerous bash -c 'cat /etc/passwd'
	dangerous cd .. && bash -c 'cat x'
	dangerous timeout 5 cat /etc/passwd
	dangerous wc --files0-from=list
	dangerous file -f list
	dangerous md5sum -c list
	dangerous grep -f /etc/passwd main.go
	dangerous grep x --file=/etc/passwd main.go
	dangerous grep -rx . /proc
	dangerous diff main.go /etc/passwd
	dangerous tar -tf /backup/x.tar
	dangerous tar -tf/backup/x.tar
	dangerous tar -C .. -tf x.tar
	dangerous aws lambda list-functions --cli-input-json file:///etc/passwd
	dangerous gcloud compute instances list --flags-file=/etc/passwd
	dangerous cat .env
	dangerous cat id_rsa
	moderate  echo x > scratch/a
	moderate  echo x >> /tmp/out/log 2>&1
	moderate  cat main.go | tee scratch/copy
	moderate  cat > scratch/a <<'EOF'\nx\nEOF
	moderate  mkdir -p scratch/new/deep && touch scratch/new/a
	moderate  cp main.go scratch/
	moderate  cp -r src scratch
	moderate  cp -t scratch a b
	moderate  mv scratch/a scratch/b
	moderate  sort -o scratch/sorted list.txt
	moderate  curl -s -o scratch/page https://example.com/
	moderate  tar -czf scratch/x.tgz src
	moderate  tar -c -z -f scratch/x.tgz -C src .
	moderate  cd scratch && echo x > a
	moderate  truncate -s 0 scratch/log
	dangerous echo x > main.go
	dangerous echo x > scratch
	dangerous echo x > /etc/motd
	dangerous echo x > scratch/../main.go
	dangerous echo x > "scratch/$NAME"
	dangerous echo x > scratch/.git/hooks/pre-commit
	dangerous echo x > scratch/Makefile
	dangerous echo x > scratch/.env
	dangerous echo x > scratch/*
	dangerous cd scratch; echo x > a
	dangerous cd scratch && cd .. && echo x > a
	dangerous tee scratch/a main.go
	dangerous cp scratch/a main.go
	dangerous cp /etc/passwd scratch/
	dangerous cp .env scratch/x
	dangerous cp -r .git scratch
	dangerous cp a scratch/.git/config
	dangerous cp -t / a
	dangerous mv main.go scratch/
	dangerous mv scratch/a main.go
	dangerous mkdir ../x
	dangerous touch "$F"
	dangerous sort -o main.go list.txt
	dangerous curl -o main.go https://example.com/
	dangerous tar -xf scratch/a.tar -C scratch
	dangerous tar -cf x.tar src
	dangerous tar -cf scratch/x.tar /etc
	dangerous tar -cf scratch/x.tar -C .. .
	dangerous tar -cf main.go -f scratch/x.tar src
	dangerous rm scratch/a
	dangerous ln -s /etc scratch/etc
	dangerous chmod +x scratch/a
	dangerous git -C scratch diff --output=x
	dangerous env -C scratch touch a
	dangerous bash scratch/a
	dangerous echo x > scratch/a; rm x`

func bounded(tb testing.TB) *paths.Roots {
	return roots(tb, paths.Roots{Folder: "/srv/app", Home: "/home/me", Read: []string{"~/notes"}, Write: []string{"scratch", "/tmp/out"}})
}

func TestFilesBelowRoots(t *testing.T) {
	t.Parallel()
	in := bounded(t)
	for line := range strings.Lines(byRoots) {
		class, text, _ := strings.Cut(strings.TrimSpace(line), " ")
		if text = strings.ReplaceAll(strings.TrimSpace(text), `\n`, "\n"); text == "" {
			continue
		}
		if v := shell.In(text, in); v.Annotations.Safety().String() != class || v.Why == "" {
			t.Errorf("%s: %v (%s), want %s", text, v.Annotations.Safety(), v.Why, class)
		}
	}
}

// A path with a part that the shell fills in is not said to be outside of the roots: it may be anywhere.
func TestPathThatIsNotAllInTheText(t *testing.T) {
	t.Parallel()
	in := bounded(t)
	for _, text := range []string{"cat src/$NAME", "cat $NAME", "cat < src/$NAME", "head src/$(date)", "for f in *.go; do cat x$f; done"} {
		if v := shell.In(text, in); v.Annotations.Safety() != annotation.Dangerous || !strings.HasSuffix(v.Why, ", which is not all in the text") {
			t.Errorf("%s: %v (%s)", text, v.Annotations.Safety(), v.Why)
		}
	}
}

// Roots only raise what is a read without them, and never let a write pass as a read.
func TestRootsOnlyRaiseReads(t *testing.T) {
	t.Parallel()
	in := bounded(t)
	all := append(commandLines(t, "asks.txt"), commandLines(t, "reads.txt")...)
	for line := range strings.Lines(byRoots) {
		_, text, _ := strings.Cut(strings.TrimSpace(line), " ")
		all = append(all, strings.ReplaceAll(strings.TrimSpace(text), `\n`, "\n"))
	}
	for _, text := range all {
		if shell.In(text, in).Annotations.Safety() == annotation.Safe && !reads(text) {
			t.Errorf("%q is a read with roots only", text)
		}
		if shell.AnyIn(text, in).Annotations.Safety() > shell.AnyShell(text).Annotations.Safety() {
			t.Errorf("%q is milder with roots, for any shell", text)
		}
	}
}

// Without roots for reads, only what holds secrets asks; the folder may be any.
func TestRootsForWritesAlone(t *testing.T) {
	t.Parallel()
	in := roots(t, paths.Roots{Folder: "/srv/app", Write: []string{"scratch"}})
	for text, want := range map[string]annotation.Safety{
		"cat /etc/passwd":             annotation.Safe,
		"cat $FILE":                   annotation.Safe,
		"cat .env":                    annotation.Dangerous,
		"cat /etc/passwd > scratch/x": annotation.Moderate,
		"cp /etc/passwd scratch/x":    annotation.Moderate,
		"echo x > y":                  annotation.Dangerous,
	} {
		if v := shell.In(text, in); v.Annotations.Safety() != want {
			t.Errorf("%s: %v (%s), want %v", text, v.Annotations.Safety(), v.Why, want)
		}
	}
}

// A shell that is not known may be one of Windows, with paths of its own.
func TestPathsOfWindows(t *testing.T) {
	t.Parallel()
	in := bounded(t)
	for text, want := range map[string]annotation.Safety{
		"cat main.go":           annotation.Safe,
		"cat C:/Users/me/x":     annotation.Dangerous,
		"cat %USERPROFILE%/x":   annotation.Dangerous,
		"cat /etc/passwd":       annotation.Dangerous,
		"touch scratch/a":       annotation.Dangerous,
		"cat main.go > scratch": annotation.Dangerous,
	} {
		if v := shell.AnyIn(text, in); v.Annotations.Safety() != want {
			t.Errorf("%s: %v (%s), want %v", text, v.Annotations.Safety(), v.Why, want)
		}
	}
}
