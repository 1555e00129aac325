// Package sbom lists the modules in Go programs as SPDX 2.3 in JSON. It reads the module
// list that the Go toolchain embeds in each program, so that the list describes the
// program that was built.
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

// A Program describes one program.
type Program struct {
	Name     string // base name of the file
	Version  string
	Platform string // system/machine
	SHA256   string
	Modules  []Module // the main module, the standard library, then the dependencies sorted by path
}

// A Module is a module that a program is linked with, or that other files of an image
// come from.
type Module struct {
	Path, Version string
	Sum           string // in the format of go.sum
}

// Read returns the contents of a program. If version is empty, Read uses the version of
// the main module.
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

// ModuleOf returns the module of m, or the replacement of m.
func ModuleOf(m *debug.Module) Module {
	if m.Replace != nil {
		m = m.Replace
	}
	return Module{Path: m.Path, Version: m.Version, Sum: m.Sum}
}

// Of returns a document about programs. If image is not empty, it is the name of the
// image with the programs, and files are the modules that the other files of the image
// come from.
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

// module adds a module if it is missing, and returns its identifier.
func (d *Document) module(m Module) string {
	sum := sha256.Sum256([]byte(m.Path + "@" + m.Version))
	id := fmt.Sprintf("SPDXRef-Module-%s-%x", fit(m.Path+"-"+m.Version), sum[:4]) // two modules may be equal after fit, so the identifier has a hash
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

// locator returns the package URL of a module.
func locator(m Module) string {
	version := strings.TrimPrefix(m.Version, "go") // the version of the standard library begins with go
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

// fit replaces the characters that are not allowed in an identifier.
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
	text, _ := json.MarshalIndent(d, "", "  ") // Document has only strings, so Marshal returns no error
	return append(text, '\n')
}

// WriteFile writes the document to path atomically.
func (d *Document) WriteFile(path string) error {
	if err := os.WriteFile(path+".new", d.text(), 0o644); err != nil {
		return fmt.Errorf("write the list of contents: %w", err)
	}
	return os.Rename(path+".new", path)
}
