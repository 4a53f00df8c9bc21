package main

import (
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/verify/internal/repo"
	"github.com/google/go-cmp/cmp"
)

// modulesOf returns the name of the list of modules that are in the program for a platform. .ci/release writes it.
func (r release) modulesOf(p platform) string {
	return fmt.Sprintf("fairlead_%s_%s_%s.cdx.json", r.version, p.os, p.arch)
}

// The list of modules of each program, in the form of CycloneDX, is what is linked into the program of the archive. The
// sums of other authors' modules are those of go.sum.
func TestListsOfModules(t *testing.T) {
	t.Parallel()
	if os.Getenv("FAIRLEAD_RELEASE") == "" {
		t.Skip("SKIPPED: FAIRLEAD_RELEASE names no folder of .ci/release, which .ci/nightly makes: the lists of modules are not compared with the programs")
	}
	root, err := repo.Root()
	if err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile(root + "/cmd/fairlead/go.sum")
	if err != nil {
		t.Fatal(err)
	}
	r := published(t)
	for _, p := range platforms {
		name := r.archiveOf(p)
		program := unpacked(t, name, r.read(t, name))[0]
		info, err := buildinfo.Read(bytes.NewReader(program.content))
		if err != nil {
			t.Fatal(err)
		}
		if info.Main.Version != "v"+r.version {
			t.Errorf("%s: the program's version is %s, want v%s", name, info.Main.Version, r.version)
		}
		settings := map[string]string{}
		for _, s := range info.Settings {
			settings[s.Key] = s.Value
		}
		if settings["GOOS"] != p.os || settings["GOARCH"] != p.arch || settings["CGO_ENABLED"] != "0" || settings["-trimpath"] != "true" {
			t.Errorf("%s: the program was built with %v", name, settings)
		}
		want := map[string]bool{}
		for _, module := range info.Deps {
			want[module.Path+"@"+module.Version] = true
			ours := strings.HasPrefix(module.Path, "github.com/fairlead-go/")
			if !ours && !bytes.Contains(sums, []byte(module.Path+" "+module.Version+" "+module.Sum+"\n")) {
				t.Errorf("%s: %s %s %s is not in go.sum", name, module.Path, module.Version, module.Sum)
			}
		}
		got := listed(t, r.read(t, r.modulesOf(p)))
		if diff := cmp.Diff(slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got))); diff != "" || len(want) < 20 {
			t.Errorf("%s: %d modules (-linked +listed)\n%s", name, len(want), diff)
		}
	}
}

// listed returns the modules of a list of CycloneDX, without Go's standard library.
func listed(t *testing.T, list []byte) map[string]bool {
	t.Helper()
	var all struct {
		BOMFormat  string `json:"bomFormat"`
		Components []struct{ PURL string }
	}
	if err := json.Unmarshal(list, &all); err != nil {
		t.Fatal(err)
	}
	if all.BOMFormat != "CycloneDX" {
		t.Errorf("the format is %q, want CycloneDX", all.BOMFormat)
	}
	got := map[string]bool{}
	for _, c := range all.Components {
		module, _, _ := strings.Cut(strings.TrimPrefix(c.PURL, "pkg:golang/"), "?")
		module, err := url.PathUnescape(module)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(module, "std@") {
			got[module] = true
		}
	}
	return got
}
