package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// keepMark is in a file that is not to be deleted.
const keepMark = "do not delete"

// kinds are the folders for loose files, by the end of their names.
var kinds = map[string]string{
	".txt": "documents", ".md": "documents", ".pdf": "documents", ".doc": "documents", ".docx": "documents", ".odt": "documents",
	".csv": "tables", ".tsv": "tables", ".xlsx": "tables", ".ods": "tables",
	".png": "pictures", ".jpg": "pictures", ".jpeg": "pictures", ".gif": "pictures", ".svg": "pictures", ".webp": "pictures",
	".mp3": "media", ".wav": "media", ".flac": "media", ".mp4": "media", ".mov": "media", ".mkv": "media",
	".zip": "archives", ".tar": "archives", ".gz": "archives", ".tgz": "archives", ".7z": "archives",
}

// A tidier is what the rules know of the folder and what they want.
type tidier struct {
	host  *host
	files []file            // as last listed
	equal map[string]string // of files with the same bytes, the path of the one that stays
	keep  map[string]bool   // the file asks to be kept
	todo  []change
	left  int // files that no rule is sure of
}

// A change is a call with what shows that it has happened.
type change struct {
	call
	gone, there string // what is not there, and what is there, once it has happened
}

// tidy deletes copies, empty files and backups with nothing of their own, and moves loose files by their kind.
func tidy(ctx context.Context, h *host) error {
	t := &tidier{host: h, equal: map[string]string{}, keep: map[string]bool{}}
	if err := t.list(ctx, "What is there?"); err != nil {
		return err
	}
	before := t.files
	if err := t.compare(ctx); err != nil {
		return err
	}
	h.sayf("What is to be done with each file?")
	for _, f := range before {
		t.decide(ctx, f)
	}
	if err := t.list(ctx, fmt.Sprintf("%s, %s left as not sure. Is everything still as it was?", count(len(t.todo), "change"), count(t.left, "file"))); err != nil {
		return err
	}
	if !slices.Equal(before, t.files) {
		return errors.New("the folder changed while it was looked at; nothing was done, run it again")
	}
	h.sayf("Tidying.")
	n := map[string]int{}
	for _, c := range t.todo {
		n[t.make(ctx, c)]++
	}
	if err := t.list(ctx, "What is there now?"); err != nil {
		return err
	}
	files := slices.DeleteFunc(t.files, func(f file) bool { return f.Folder })
	failed := len(t.todo) - n["ok"] - n["denied"] - n["unknown"]
	h.sayf("Done: %s made, %d denied, %d failed, %d unknown; %s left alone; %s now.",
		count(n["ok"], "change"), n["denied"], failed, n["unknown"], count(t.left, "file"), count(len(files), "file"))
	return nil
}

func (t *tidier) list(ctx context.Context, why string) error {
	t.host.sayf("%s", why)
	c := call{Tool: "list_files"}
	t.host.do(ctx, &c)
	got, err := result[files](c)
	if t.files = got.Files; err != nil {
		err = fmt.Errorf("the folder could not be listed: %w", err)
	}
	return err
}

func (t *tidier) has(name string) bool {
	return slices.ContainsFunc(t.files, func(f file) bool { return f.Path == name })
}

// compare finds the files that ask to be kept, and of equal ones that with the shortest name.
func (t *tidier) compare(ctx context.Context) error {
	paths := []string{}
	for _, f := range t.files {
		if f.Size > 0 {
			paths = append(paths, f.Path)
		}
	}
	t.host.sayf("Which files are equal, and which ask to be kept?")
	search, hash := newCall("search_text", "", map[string]any{"text": keepMark}), newCall("hash_files", "", map[string]any{"paths": paths})
	t.host.do(ctx, &search, &hash)
	found, err := result[files](search)
	sums, err2 := result[files](hash)
	if err := errors.Join(err, err2); err != nil {
		return fmt.Errorf("the files could not be compared: %w; nothing was changed", err)
	}
	for _, f := range found.Files {
		t.keep[f.Path] = true
	}
	slices.SortStableFunc(sums.Files, func(a, b file) int { return cmp.Compare(len(a.Path), len(b.Path)) })
	for _, f := range sums.Files {
		first := slices.IndexFunc(sums.Files, func(other file) bool { return other.SHA256 == f.SHA256 })
		t.equal[f.Path] = sums.Files[first].Path
	}
	return nil
}

func (t *tidier) decide(ctx context.Context, f file) {
	name, original, equal := f.Path, f.Path, cmp.Or(t.equal[f.Path], f.Path)
	for _, end := range []string{"~", ".bak", ".old", ".orig"} {
		original = strings.TrimSuffix(original, end)
	}
	kind := kinds[strings.ToLower(path.Ext(name))]
	to := kind + "/" + name
	switch {
	case f.Folder:
	case f.Size == 0 && !strings.HasPrefix(path.Base(name), "__"):
		t.delete(name, "empty")
	case equal != name && t.keep[name]:
		t.leave(name, "equal to "+equal+`, but it says "`+keepMark+`"`)
	case equal != name:
		t.delete(name, "equal to "+equal+", which stays")
	case original != name && !t.has(original):
		t.leave(name, "a backup without its original")
	case original != name:
		t.backup(ctx, name, original)
	case strings.Contains(name, "/"): // it is in a folder already
	case kind == "":
		t.leave(name, "no rule knows what kind of file it is")
	case t.has(to):
		t.leave(name, to+" exists already")
	default:
		move := newCall("move_file", "a loose file of this kind", map[string]any{"from": name, "to": to})
		t.todo = append(t.todo, change{call: move, gone: name, there: to})
	}
}

func (t *tidier) backup(ctx context.Context, name, original string) {
	c, o := newCall("read_file", "", map[string]any{"path": name}), newCall("read_file", "", map[string]any{"path": original})
	t.host.do(ctx, &c, &o)
	backup, err := result[file](c)
	text, err2 := result[file](o)
	lines := strings.Split(text.Text, "\n")
	own := slices.DeleteFunc(strings.Split(backup.Text, "\n"), func(line string) bool { return slices.Contains(lines, line) })
	switch {
	case err != nil || err2 != nil:
		t.leave(name, "it could not be compared with its original")
	case len(own) > 0:
		t.leave(name, fmt.Sprintf("it has %s that %s lacks", count(len(own), "line"), original))
	default:
		t.delete(name, "a backup; "+original+" has every line of it")
	}
}

func (t *tidier) leave(name, why string) {
	t.left++
	t.host.sayf("%s is left alone: %s.", name, why)
}

func (t *tidier) delete(name, why string) {
	t.todo = append(t.todo, change{call: newCall("delete_file", why, map[string]any{"path": name}), gone: name})
}

// make asks for a change and returns how it came out. If it may have happened, it looks first.
func (t *tidier) make(ctx context.Context, c change) string {
	wanted := c.call
	for try := 0; try < 3 && ctx.Err() == nil; try++ {
		c.call = wanted
		t.host.do(ctx, &c.call)
		if c.outcome() != "unknown" || c.edited || t.list(ctx, "That may or may not have happened: looking before going on.") != nil {
			break
		}
		if !t.has(c.gone) && (c.there == "" || t.has(c.there)) {
			return "ok"
		}
	}
	return c.outcome()
}

func newCall(tool, why string, arguments map[string]any) call {
	raw, _ := json.Marshal(arguments) // strings alone
	return call{Tool: tool, Arguments: raw, why: why}
}

func result[T any](c call) (v T, err error) {
	if c.outcome() != "ok" {
		return v, errors.New(c.text())
	}
	raw, err := json.Marshal(c.result.StructuredContent)
	return v, cmp.Or(err, json.Unmarshal(raw, &v))
}
