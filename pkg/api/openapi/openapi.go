// Package openapi serves the descriptions of the API. They are OpenAPI 3.1, the JSON Schema of
// task files, and the documentation page.
package openapi

import (
	"bytes"
	_ "embed" // for the description
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/gofiber/fiber/v2"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/taskfile/jsonschema"
)

// The feature tests compare the description with the responses of the server.
//
//go:embed openapi.json
var description []byte

// SchemaPath is the route of the JSON Schema of task files.
const SchemaPath = "/schema/task.json"

// Description returns the OpenAPI 3.1 description in JSON, without the version and the
// issuer of a server. The caller must not modify the result.
func Description() []byte { return description }

// An Operation is an operation of the description.
type Operation struct {
	Method, Path string // for example GET and /tasks/{id}
	// Schemes lists the security schemes; one of them authenticates a request. It is empty if the
	// operation needs no authentication.
	Schemes []string
}

// Operations returns the operations of the description, sorted by path and method.
func Operations() (all []Operation) {
	p := readPage(description)
	for _, o := range p.Operations {
		found, schemes := Operation{Method: o.Verb(), Path: o.Path}, p.Security
		if o.Security != nil {
			schemes = *o.Security
		}
		for _, s := range schemes {
			found.Schemes = slices.AppendSeq(found.Schemes, maps.Keys(s))
		}
		all = append(all, found)
	}
	return all
}

// Documents are the descriptions that one server serves.
type Documents struct {
	texts func() texts // written at the first request
}

type texts struct{ description, schema, page []byte }

// New returns the documents of a server with this version and login method.
func New(version string, login task.Login) *Documents {
	return &Documents{sync.OnceValue(func() texts { return write(version, login) })}
}

func write(version string, login task.Login) texts {
	var document map[string]any
	_ = json.Unmarshal(description, &document) // a test reads the description
	document["info"].(map[string]any)["version"] = strings.Trim(version, "()")
	if login.Issuer != "" {
		addIssuer(document, login.Issuer)
	}
	described := encode(document)
	return texts{described, encode(jsonschema.Task(SchemaPath)), renderPage(described)}
}

// addIssuer adds the OpenID Connect scheme of a server with --auth oidc.
func addIssuer(document map[string]any, issuer string) {
	schemes := document["components"].(map[string]any)["securitySchemes"].(map[string]any)
	schemes["oidc"] = map[string]any{
		"type": "openIdConnect", "openIdConnectUrl": strings.TrimSuffix(issuer, "/") + "/.well-known/openid-configuration",
		"description": "The ID token of the issuer, as a bearer token.",
	}
	document["security"] = append(document["security"].([]any), map[string]any{"oidc": []any{}})
}

func encode(document map[string]any) []byte {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	_ = encoder.Encode(document) // texts, lists and mappings always encode
	return text.Bytes()
}

// Describe serves GET /openapi.json.
func (d *Documents) Describe(c *fiber.Ctx) error {
	c.Set(fiber.HeaderContentType, fiber.MIMEApplicationJSON)
	return c.Send(d.texts().description)
}

// TaskSchema serves the JSON Schema of task files.
func (d *Documents) TaskSchema(c *fiber.Ctx) error {
	c.Set(fiber.HeaderContentType, "application/schema+json")
	return c.Send(d.texts().schema)
}
