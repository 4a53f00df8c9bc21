package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// published returns the folder of a release: the one of .ci/release, which FAIRLEAD_RELEASE names, or one with stand-ins
// of the programs.
func published(t *testing.T) release {
	t.Helper()
	if dir := os.Getenv("FAIRLEAD_RELEASE"); dir != "" {
		launchers, err := filepath.Glob(filepath.Join(dir, "fairlead-fairlead-[0-9]*.tgz"))
		if err != nil || len(launchers) != 1 {
			t.Fatalf("FAIRLEAD_RELEASE has %q, want one package of npm: %v", launchers, err)
		}
		version := strings.TrimPrefix(filepath.Base(launchers[0]), "fairlead-fairlead-")
		return release{version: strings.TrimSuffix(version, ".tgz"), out: dir}
	}
	return standIn(t, t.TempDir())
}

// standIn writes a release. Programs that are not in the folder are text.
func standIn(t *testing.T, programs string) release {
	t.Helper()
	r := release{version: "0.1.0-test", time: time.Unix(1_790_000_000, 0).UTC(), programs: programs, out: t.TempDir()}
	for _, p := range platforms {
		dir := filepath.Join(programs, p.os+"_"+p.arch)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		for _, name := range p.programs() {
			program := filepath.Join(dir, name)
			if _, err := os.Stat(program); err == nil {
				continue
			}
			if err := os.WriteFile(program, []byte(name+" for "+p.os+" on "+p.arch), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := r.write(); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r release) read(t *testing.T, name string) []byte {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(r.out, name))
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func (r release) sum(t *testing.T, p platform) string {
	t.Helper()
	return fmt.Sprintf("%x", sha256.Sum256(r.read(t, r.archiveOf(p))))
}

// unpacked returns the files of an archive.
func unpacked(t *testing.T, name string, archive []byte) (files []file) {
	t.Helper()
	add := func(name string, mode fs.FileMode, from io.Reader) {
		content, err := io.ReadAll(from)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file{name, mode.Perm(), content})
	}
	if strings.HasSuffix(name, ".zip") {
		all, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range all.File {
			content, err := f.Open()
			if err != nil {
				t.Fatal(err)
			}
			add(f.Name, f.Mode(), content)
		}
		return files
	}
	plain, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	all := tar.NewReader(plain)
	for {
		header, err := all.Next()
		if err == io.EOF {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		add(header.Name, header.FileInfo().Mode(), all)
	}
}

// Each archive has the programs, which may be executed, the licence and the notices.
func TestArchives(t *testing.T) {
	t.Parallel()
	r := published(t)
	for _, p := range platforms {
		got := map[string]fs.FileMode{}
		for _, f := range unpacked(t, r.archiveOf(p), r.read(t, r.archiveOf(p))) {
			got[f.name] = f.mode
			if len(f.content) == 0 {
				t.Errorf("%s: %s is empty", r.archiveOf(p), f.name)
			}
		}
		want := map[string]fs.FileMode{"LICENSE": 0o644, "NOTICE": 0o644}
		for _, name := range p.programs() {
			want[name] = 0o755
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", r.archiveOf(p), diff)
		}
	}
}

// The bytes of a release depend on neither the folder nor the time of the build.
func TestEqualProgramsGiveEqualBytes(t *testing.T) {
	t.Parallel()
	one, two := standIn(t, t.TempDir()), standIn(t, t.TempDir())
	if got := string(one.read(t, sumsName)); got != string(two.read(t, sumsName)) {
		t.Errorf("the checksums differ:\n%s\n%s", got, two.read(t, sumsName))
	}
	two.version = "0.1.1"
	if err := two.write(); err != nil {
		t.Fatal(err)
	}
	if got := string(one.read(t, sumsName)); got == string(two.read(t, sumsName)) {
		t.Error("another version has the same checksums")
	}
}

// The checksums are those of every other file.
func TestChecksums(t *testing.T) {
	t.Parallel()
	r := published(t)
	entries, err := os.ReadDir(r.out)
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	for _, entry := range entries {
		if entry.Name() != sumsName {
			fmt.Fprintf(&want, "%x  %s\n", sha256.Sum256(r.read(t, entry.Name())), entry.Name())
		}
	}
	got := string(r.read(t, sumsName))
	if diff := cmp.Diff(want.String(), got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	// Six archives, seven packages of npm, the formula and the manifest; of .ci/release also six lists of modules.
	if lines := strings.Count(got, "\n"); lines < 15 {
		t.Errorf("%d checksums, want at least 15:\n%s", lines, got)
	}
}
