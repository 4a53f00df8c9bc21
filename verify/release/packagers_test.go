package main

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The formula has the archive of each of Homebrew's platforms with its SHA-256.
func TestFormula(t *testing.T) {
	t.Parallel()
	r := published(t)
	formula := string(r.read(t, "fairlead.rb"))
	got := map[string]string{}
	pair := regexp.MustCompile(`on_(macos|linux|arm|intel) do|url "(.*)"\n +sha256 "(.*)"`)
	var system, cpu string
	for _, m := range pair.FindAllStringSubmatch(formula, -1) {
		switch m[1] {
		case "macos", "linux":
			system = m[1]
		case "arm", "intel":
			cpu = m[1]
		default:
			got[system+" "+cpu] = m[2] + " " + m[3]
		}
	}
	want := map[string]string{}
	for name, p := range map[string]platform{
		"macos arm": {"darwin", "arm64"}, "macos intel": {"darwin", "amd64"},
		"linux arm": {"linux", "arm64"}, "linux intel": {"linux", "amd64"},
	} {
		want[name] = "https://github.com/fairlead-go/fairlead/releases/download/v" + r.version + "/" + r.archiveOf(p) + " " + r.sum(t, p)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if !strings.Contains(formula, `version "`+r.version+`"`) {
		t.Errorf("want the version %s in\n%s", r.version, formula)
	}
}

// The manifest has the archives of Windows with their SHA-256, and finds later ones by the same names.
func TestManifestOfScoop(t *testing.T) {
	t.Parallel()
	r := published(t)
	type sources map[string]struct{ URL, Hash string }
	var got struct {
		Version, Bin string
		Architecture sources
		Autoupdate   struct{ Architecture sources }
	}
	if err := json.Unmarshal(r.read(t, "fairlead.json"), &got); err != nil {
		t.Fatal(err)
	}
	if got.Version != r.version || got.Bin != "fairlead.exe" || len(got.Architecture) != 2 {
		t.Errorf("got %+v", got)
	}
	for name, arch := range map[string]string{"64bit": "amd64", "arm64": "arm64"} {
		p := platform{"windows", arch}
		want := "https://github.com/fairlead-go/fairlead/releases/download/v" + r.version + "/" + r.archiveOf(p)
		source := got.Architecture[name]
		if source.URL != want || source.Hash != r.sum(t, p) {
			t.Errorf("%s: got %+v, want %s %s", name, source, want, r.sum(t, p))
		}
		later := strings.ReplaceAll(got.Autoupdate.Architecture[name].URL, "$version", r.version)
		if later != want {
			t.Errorf("%s: a later version is looked for at %s, want %s", name, later, want)
		}
	}
}
