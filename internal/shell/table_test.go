package shell

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

func TestTablesAreWhole(t *testing.T) {
	t.Parallel()
	rows, faults := readTables()
	for _, fault := range faults {
		t.Error(fault)
	}
	for name, row := range rows {
		for option := range row.options {
			if len(option) < 2 || option[0] != '-' && option[0] != '+' {
				t.Errorf("%s: %q is not an option", name, option)
			}
		}
		if (row.kind == matched) != (row.shape != nil) {
			t.Errorf("%s: a shape goes with matched operands, and only with them", name)
		}
		if len(row.words) > 0 && row.kind != verbs {
			t.Errorf("%s: words, for a command that has no verbs", name)
		}
	}
	t.Logf("%d commands and subcommands", len(rows))
}

// A command that runs what it is given, or writes by its nature, is in the tables only as one that asks, as one that writes
// what it names, or with a handler that judges what it runs.
func TestNoPlainRowRunsOthers(t *testing.T) {
	t.Parallel()
	for name := range strings.FieldsSeq(`eval exec source . sudo su doas chroot ssh scp sftp rsync parallel less more man vi vim nano emacs tee dd cp mv rm ln mkdir touch chmod
		chown truncate install kill pkill crontab at alias trap nc ncat socat telnet ftp expect gdb strace open osascript screen`) {
		if row := commands()[name]; row != nil && row.kind != asks && row.kind != writing && row.do == nil {
			t.Errorf("%s is in the tables as %s", name, row.kind)
		}
	}
	for name := range strings.FieldsSeq(`bash sh zsh env xargs watch timeout nice nohup time command find fd fzf awk sed psql mysql sqlite3`) {
		if row := commands()[name]; row == nil || row.kind != runs && row.do == nil && rawHandlerOf(name) == nil {
			t.Errorf("%s has nothing that judges what it runs", name)
		}
	}
}

func TestEachSectionHasItsSource(t *testing.T) {
	t.Parallel()
	files, err := tables.ReadDir("tables")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if !strings.HasSuffix(file.Name(), ".txt") || slices.Contains([]string{"secrets.txt", "variables.txt"}, file.Name()) {
			continue
		}
		text, err := tables.ReadFile("tables/" + file.Name())
		if err != nil {
			t.Fatal(err)
		}
		section := false
		for line := range strings.Lines(string(text)) {
			section = section || strings.HasPrefix(line, "## ")
			if names, _, ok := strings.Cut(line, ": "); ok && !section && !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "$") {
				t.Errorf("%s: %s is in front of the first section", file.Name(), names)
			}
		}
	}
}

func TestRowsThatAreMissed(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"x", "x: none", "x: anything\nx: anything", "x y: anything", "x: anything $none", "x: matched=(", "x: anything +nomark", "x: anything do=none", "x: anything -o=none", "x: anything -L* -L=", "x: anything -o -o=", "x: anything --a? --a!"} {
		reader := tableReader{rows: make(map[string]*row), sets: make(map[string][]string), handlers: handlers()}
		var err error
		for line := range strings.Lines(text) {
			if e := reader.line(strings.TrimSpace(line)); e != nil {
				err = e
			}
		}
		names := slices.Collect(maps.Keys(reader.rows))
		if err == nil && !slices.Contains(names, "x y") {
			t.Errorf("%q is read as rows %v", text, names)
		}
	}
}
