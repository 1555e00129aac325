package openapi

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	_ "embed" // for the page and the viewer
	"encoding/hex"
	"encoding/json"
	"html/template"
	"io"
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"

	"k8s-cli/pkg/task/problem"
)

var (
	//go:embed docs.html
	pageText string

	//go:embed viewer/rapidoc-min.js.gz
	viewer []byte

	//go:embed viewer/start.js
	startScript []byte
)

// pagePolicy lets the page load scripts and the description from this server, and nothing
// else. The viewer sets styles of its elements.
const pagePolicy = "default-src 'none'; connect-src 'self'; script-src 'self'; style-src 'unsafe-inline'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

// A page is what the plain page shows of a description.
type page struct {
	Info       struct{ Title, Version, Summary, Description string }
	Paths      map[string]map[string]json.RawMessage
	Components struct{ Parameters map[string]parameter }
	Security   []scheme
	Operations []operationOfPage `json:"-"`
}

type operationOfPage struct {
	Method, Path                      string `json:"-"`
	OperationID, Summary, Description string
	Parameters                        []parameter
	Security                          *[]scheme // nil means that of the description
}

// A scheme has the names of the security schemes that authenticate a request together.
type scheme map[string][]string

// Verb returns the method in capital letters.
func (o operationOfPage) Verb() string { return strings.ToUpper(o.Method) }

type parameter struct {
	Ref                   string `json:"$ref"`
	Name, In, Description string
	Required              bool
}

// readPage returns what the plain page shows of a description. The operations are sorted by path
// and method.
func readPage(description []byte) (p page) {
	_ = json.Unmarshal(description, &p) // a test reads the description
	for path, item := range p.Paths {
		var shared []parameter
		_ = json.Unmarshal(item["parameters"], &shared) // absent from most paths
		for method, raw := range item {
			o := operationOfPage{Method: method, Path: path}
			if json.Unmarshal(raw, &o) != nil { // the parameters of the path are a list
				continue
			}
			o.Parameters = append(slices.Clone(shared), o.Parameters...)
			for i, one := range o.Parameters {
				if name, ok := strings.CutPrefix(one.Ref, "#/components/parameters/"); ok {
					o.Parameters[i] = p.Components.Parameters[name]
				}
			}
			p.Operations = append(p.Operations, o)
		}
	}
	slices.SortFunc(p.Operations, func(a, b operationOfPage) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Method, b.Method))
	})
	return p
}

// renderPage returns the documentation page, which lists all operations without JavaScript.
// With JavaScript, the viewer replaces the list.
func renderPage(description []byte) []byte {
	var text bytes.Buffer
	_ = template.Must(template.New("docs").Parse(pageText)).Execute(&text, readPage(description)) // writing to memory succeeds
	return text.Bytes()
}

// Docs serves the documentation page.
func (d *Documents) Docs(c *fiber.Ctx) error {
	c.Set(fiber.HeaderContentType, fiber.MIMETextHTMLCharsetUTF8)
	c.Set(fiber.HeaderContentSecurityPolicy, pagePolicy)
	return c.Send(d.texts().page)
}

// File serves the scripts of the documentation page.
func File(c *fiber.Ctx) error {
	switch name := c.Params("file"); name {
	case "start.js":
		return script(c, startScript, false)
	case "rapidoc-min.js":
		return script(c, viewer, true)
	default:
		return problem.New(problem.RouteNotFound, "no such file of the documentation page: "+name)
	}
}

// script sends a script, which may be compressed.
func script(c *fiber.Ctx, content []byte, compressed bool) error {
	sum := sha256.Sum256(content)
	tag := `"` + hex.EncodeToString(sum[:8]) + `"`
	c.Set(fiber.HeaderETag, tag)
	if c.Get(fiber.HeaderIfNoneMatch) == tag {
		return c.SendStatus(fiber.StatusNotModified)
	}
	c.Set(fiber.HeaderContentType, fiber.MIMETextJavaScriptCharsetUTF8)
	switch {
	case !compressed:
		return c.Send(content)
	case c.AcceptsEncodings("gzip") == "gzip":
		c.Set(fiber.HeaderContentEncoding, "gzip")
		return c.Send(content)
	}
	plain, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		return err
	}
	text, err := io.ReadAll(plain)
	if err != nil {
		return err
	}
	return c.Send(text)
}
