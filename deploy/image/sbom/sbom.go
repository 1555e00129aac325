// Package sbom lists what Go programs are made of, as SPDX 2.3 in JSON. It reads
// the list that the compiler has put into each program, so that it says what was
// built and not what should have been.
package sbom

import (
	"cmp"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// A Program is one that was built.
type Program struct {
	Name     string // of its file
	Version  string
	Platform string // system/machine
	SHA256   string
	Modules  []Module // by their paths; the first is the one that it was built from
}

// A Module is one that a program is linked with, or that files of an image are of.
type Module struct {
	Path, Version string
	Sum           string // as go.sum has it
}

// Read returns what a program is made of. An empty version is the one of its main
// module.
func Read(file, version string) (Program, error) {
	info, err := buildinfo.ReadFile(file)
	if err != nil {
		return Program{}, fmt.Errorf("read what %s was built from: %w", file, err)
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return Program{}, err
	}
	sum := sha256.Sum256(content)
	p := Program{Name: filepath.Base(file), Version: cmp.Or(version, info.Main.Version), SHA256: hex.EncodeToString(sum[:]), Modules: modulesOf(info)}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	p.Platform = settings["GOOS"] + "/" + settings["GOARCH"]
	return p, nil
}

func modulesOf(info *buildinfo.BuildInfo) []Module {
	all := []Module{{Path: info.Main.Path, Version: info.Main.Version}, {Path: "stdlib", Version: info.GoVersion}}
	for _, m := range info.Deps {
		all = append(all, ModuleOf(m))
	}
	return all
}

// ModuleOf returns the module of m, or its replacement if m is replaced.
func ModuleOf(m *debug.Module) Module {
	if m.Replace != nil {
		m = m.Replace
	}
	return Module{Path: m.Path, Version: m.Version, Sum: m.Sum}
}

// Of returns the document about programs. If image is not empty, it is the name of
// what holds them, and files are the modules that its other files are of.
func Of(image, version string, created time.Time, programs []Program, files ...Module) Document {
	d := Document{
		Version: "SPDX-2.3", DataLicense: "CC0-1.0", ID: documentID, Name: cmp.Or(image, programs[0].Name),
		CreationInfo: CreationInfo{Created: created.UTC().Format("2006-01-02T15:04:05Z"), Creators: []string{"Tool: k8s-cli-deploy-image"}},
	}
	whole := documentID
	if image != "" {
		whole = "SPDXRef-Image"
		d.add(Package{ID: whole, Name: image, VersionInfo: version, Purpose: "CONTAINER", LicenseDeclared: "Apache-2.0"})
		d.relate(documentID, "DESCRIBES", whole)
	}
	for _, m := range files {
		d.relate(whole, "CONTAINS", d.module(m))
	}
	for _, p := range programs {
		id := "SPDXRef-Program-" + fit(p.Name+"-"+p.Platform)
		d.add(Package{
			ID: id, Name: p.Name, VersionInfo: p.Version, Purpose: "APPLICATION", LicenseDeclared: "Apache-2.0", Comment: p.Platform,
			Checksums: []Checksum{{Algorithm: "SHA256", Value: p.SHA256}},
		})
		if image == "" {
			d.relate(documentID, "DESCRIBES", id)
		} else {
			d.relate(whole, "CONTAINS", id)
		}
		for i, m := range p.Modules {
			kind := "DEPENDS_ON"
			if i == 0 {
				kind = "GENERATED_FROM"
			}
			d.relate(id, kind, d.module(m))
		}
	}
	d.Namespace = "https://spdx.org/spdxdocs/" + fit(d.Name) + "-" + d.digest()
	return d
}

// module adds a module that is not there yet, and returns its identifier.
func (d *Document) module(m Module) string {
	sum := sha256.Sum256([]byte(m.Path + "@" + m.Version))
	id := fmt.Sprintf("SPDXRef-Module-%s-%x", fit(m.Path+"-"+m.Version), sum[:4]) // what does not fit may look alike
	if slices.ContainsFunc(d.Packages, func(p Package) bool { return p.ID == id }) {
		return id
	}
	p := Package{ID: id, Name: m.Path, VersionInfo: m.Version, Purpose: "LIBRARY", LicenseDeclared: unknown}
	if m.Sum != "" {
		p.Comment = "go.sum: " + m.Sum
	}
	p.References = []Reference{{Category: "PACKAGE-MANAGER", Type: "purl", Locator: locator(m)}}
	d.add(p)
	return id
}

// locator is a module's package URL.
func locator(m Module) string {
	version := strings.TrimPrefix(m.Version, "go") // of the standard library
	if m.Path != "stdlib" {
		version = m.Version
	}
	text := "pkg:golang/" + m.Path
	if version != "" {
		text += "@" + strings.NewReplacer("+", "%2B", "(", "%28", ")", "%29").Replace(version)
	}
	return text
}

var misfits = regexp.MustCompile(`[^A-Za-z0-9.-]+`)

// fit returns s as a part of an identifier.
func fit(s string) string { return misfits.ReplaceAllString(s, "-") }

func (d *Document) add(p Package) {
	p.DownloadLocation, p.LicenseConcluded, p.Copyright = unknown, unknown, unknown
	d.Packages = append(d.Packages, p)
}

func (d *Document) relate(from, kind, to string) {
	d.Relationships = append(d.Relationships, Relationship{From: from, Kind: kind, To: to})
}

func (d *Document) digest() string {
	sum := sha256.Sum256(d.text())
	return hex.EncodeToString(sum[:16])
}

func (d *Document) text() []byte {
	text, _ := json.MarshalIndent(d, "", "  ") // strings alone, which always marshal
	return append(text, '\n')
}

// WriteFile stores the document in one step.
func (d *Document) WriteFile(path string) error {
	if err := os.WriteFile(path+".new", d.text(), 0o644); err != nil {
		return fmt.Errorf("write the list of contents: %w", err)
	}
	return os.Rename(path+".new", path)
}
