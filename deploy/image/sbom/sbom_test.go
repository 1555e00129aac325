package sbom

import (
	"debug/buildinfo"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

var june = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

// itself returns the test binary, which is also a program with modules.
func itself(t *testing.T) (string, Program) {
	t.Helper()
	file, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p, err := Read(file, "v1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	return file, p
}

func TestDocumentNamesEveryModuleOfAProgram(t *testing.T) {
	file, p := itself(t)
	info, err := buildinfo.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	d := Of("", "", june, []Program{p})
	for path, version := range map[string]string{info.Main.Path: info.Main.Version, "stdlib": info.GoVersion} {
		if !slices.ContainsFunc(d.Packages, func(p Package) bool { return p.Name == path && p.VersionInfo == version }) {
			t.Errorf("%s %s is not named", path, version)
		}
	}
	for _, m := range info.Deps {
		if !slices.ContainsFunc(d.Packages, func(p Package) bool { return p.Name == m.Path && p.VersionInfo == m.Version }) {
			t.Errorf("%s %s is not named", m.Path, m.Version)
		}
	}
}

func TestDocumentIsValid(t *testing.T) {
	_, p := itself(t)
	other := p
	other.Platform = "linux/other"
	lookalikes := []Module{{Path: "a.b/c_d", Version: "v1.0.0+incompatible", Sum: "h1:x="}, {Path: "a.b/c~d", Version: "v1.0.0+incompatible"}}
	for name, d := range map[string]Document{
		"a program": Of("", "", june, []Program{p}),
		"an image":  Of("example.com/team/server:v1", "v1", june, []Program{p, other}, lookalikes...),
	} {
		path := filepath.Join(t.TempDir(), "sbom.spdx.json")
		if err := d.WriteFile(path); err != nil {
			t.Fatal(err)
		}
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, fault := range faults(t, content) {
			t.Errorf("%s: %s", name, fault)
		}
	}
}

// TestDocumentIsReproducible checks that equal programs give equal documents, and that
// different programs give different namespaces.
func TestDocumentIsReproducible(t *testing.T) {
	_, p := itself(t)
	first, second := Of("", "", june, []Program{p}), Of("", "", june, []Program{p})
	if string(first.text()) != string(second.text()) {
		t.Error("two documents of one program differ")
	}
	p.SHA256 = strings.Repeat("0", 64)
	if other := Of("", "", june, []Program{p}); other.Namespace == first.Namespace {
		t.Errorf("two programs share the namespace %s", other.Namespace)
	}
}

func TestWhatIsNoProgram(t *testing.T) {
	file := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(file, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(file, ""); err == nil || !strings.Contains(err.Error(), "read what "+file) {
		t.Errorf("Read = %v", err)
	}
}

// TestFaults checks that faults finds the errors in invalid documents.
func TestFaults(t *testing.T) {
	_, p := itself(t)
	for want, spoil := range map[string]func(*Document){
		"dataLicense is":            func(d *Document) { d.DataLicense = "MIT" },
		"documentNamespace":         func(d *Document) { d.Namespace = "" },
		"created":                   func(d *Document) { d.CreationInfo.Created = "today" },
		"is not an identifier":      func(d *Document) { d.Packages[0].ID = "SPDXRef-a_b" },
		"stands there twice":        func(d *Document) { d.Packages[1].ID = d.Packages[0].ID },
		"lacks downloadLocation":    func(d *Document) { d.Packages[0].DownloadLocation = "" },
		"relates to nothing":        func(d *Document) { d.Relationships[1].To = "SPDXRef-nowhere" },
		"nothing is described":      func(d *Document) { d.Relationships = d.Relationships[1:] },
		"is related to by nothing":  func(d *Document) { d.Relationships = d.Relationships[:2] },
		"is not a package URL":      func(d *Document) { d.Packages[1].References[0].Locator = "golang/x" },
		"is not a kind of relation": func(d *Document) { d.Relationships[0].Kind = "HAS" },
	} {
		d := Of("", "", june, []Program{p})
		spoil(&d)
		if found := faults(t, d.text()); !strings.Contains(strings.Join(found, "\n"), want) {
			t.Errorf("want a fault with %q, found %q", want, found)
		}
	}
}

var (
	identifier = regexp.MustCompile(`^SPDXRef-[A-Za-z0-9.-]+$`)
	moment     = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$`)
	namespace  = regexp.MustCompile(`^https://[^#\s]+$`)
	packageURL = regexp.MustCompile(`^pkg:golang/[^\s@]+(@[^\s@+()]+)?$`)
	kinds      = []string{"DESCRIBES", "CONTAINS", "DEPENDS_ON", "GENERATED_FROM"}
)

// faults returns the violations of SPDX 2.3 in the text of a document.
func faults(t *testing.T, text []byte) (found []string) {
	t.Helper()
	var d map[string]any
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	check := func(ok bool, fault string) {
		if !ok {
			found = append(found, fault)
		}
	}
	field := func(in map[string]any, name string) string { value, _ := in[name].(string); return value }
	check(field(d, "spdxVersion") == "SPDX-2.3", "spdxVersion is "+field(d, "spdxVersion"))
	check(field(d, "dataLicense") == "CC0-1.0", "dataLicense is "+field(d, "dataLicense"))
	check(field(d, "SPDXID") == documentID, "SPDXID is "+field(d, "SPDXID"))
	check(field(d, "name") != "", "name is empty")
	check(namespace.MatchString(field(d, "documentNamespace")), "documentNamespace is "+field(d, "documentNamespace"))
	creation, _ := d["creationInfo"].(map[string]any)
	check(moment.MatchString(field(creation, "created")), "created is "+field(creation, "created"))
	creators, _ := creation["creators"].([]any)
	check(len(creators) > 0, "there is no creator")

	ids := map[string]bool{documentID: true}
	packages, _ := d["packages"].([]any)
	for _, p := range packages {
		p := p.(map[string]any)
		id := field(p, "SPDXID")
		check(identifier.MatchString(id), id+" is not an identifier")
		check(!ids[id], id+" stands there twice")
		ids[id] = true
		for _, name := range []string{"name", "downloadLocation", "licenseConcluded", "licenseDeclared", "copyrightText"} {
			check(field(p, name) != "", id+" lacks "+name)
		}
		references, _ := p["externalRefs"].([]any)
		for _, r := range references {
			locator := field(r.(map[string]any), "referenceLocator")
			check(packageURL.MatchString(locator), locator+" is not a package URL")
		}
	}
	described, related := false, map[string]bool{documentID: true}
	relations, _ := d["relationships"].([]any)
	for _, r := range relations {
		r := r.(map[string]any)
		from, kind, to := field(r, "spdxElementId"), field(r, "relationshipType"), field(r, "relatedSpdxElement")
		check(ids[from] && ids[to], from+" "+kind+" "+to+" relates to nothing")
		check(slices.Contains(kinds, kind), kind+" is not a kind of relation")
		described = described || from == documentID && kind == "DESCRIBES"
		related[to] = true
	}
	check(described, "nothing is described")
	for id := range ids {
		check(related[id], id+" is related to by nothing")
	}
	return found
}
