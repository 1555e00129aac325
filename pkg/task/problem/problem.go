// Package problem defines why requests fail. It has the reasons that the bodies of errors
// carry, and the HTTP status of each reason. Programs compare reasons, so a reason keeps its
// name and its status. A later release may add reasons.
package problem

import (
	"errors"
	"net/http"
	"regexp"
)

// A Reason is one CamelCase word that says why a request failed. A Reason is also the kind
// of an error: errors.Is finds the Reason and the general Reason that it belongs to. An error
// without a Reason is a fault of the server.
type Reason string

// The general reasons. Each HTTP status of an error has one.
const (
	Malformed            Reason = "Malformed"
	Unauthorized         Reason = "Unauthorized"
	Forbidden            Reason = "Forbidden"
	NotFound             Reason = "NotFound"
	MethodNotAllowed     Reason = "MethodNotAllowed"
	RequestTimeout       Reason = "RequestTimeout"
	Conflict             Reason = "Conflict"
	Gone                 Reason = "Gone"
	TooLarge             Reason = "TooLarge"
	UnsupportedMediaType Reason = "UnsupportedMediaType"
	HostNotAllowed       Reason = "HostNotAllowed"
	Invalid              Reason = "Invalid"
	LimitReached         Reason = "LimitReached"
	UpgradeRequired      Reason = "UpgradeRequired"
	HeaderTooLarge       Reason = "HeaderTooLarge"
	InternalError        Reason = "InternalError"
	Unavailable          Reason = "Unavailable"
	VersionNotSupported  Reason = "VersionNotSupported"
)

// The specific reasons. Each belongs to a general reason.
const (
	ChecksumMismatch      Reason = "ChecksumMismatch"
	CredentialsMissing    Reason = "CredentialsMissing"
	ProxyNotTrusted       Reason = "ProxyNotTrusted"
	AdministratorRequired Reason = "AdministratorRequired"
	OriginNotAllowed      Reason = "OriginNotAllowed"
	RouteNotFound         Reason = "RouteNotFound"
	TaskNotFound          Reason = "TaskNotFound"
	VolumeNotFound        Reason = "VolumeNotFound"
	GroupNotFound         Reason = "GroupNotFound"
	UploadNotFound        Reason = "UploadNotFound"
	LogNotFound           Reason = "LogNotFound"
	OutputsNotFound       Reason = "OutputsNotFound"
	SubmissionNotFound    Reason = "SubmissionNotFound"
	KeyReused             Reason = "KeyReused"
	VolumeInUse           Reason = "VolumeInUse"
	UploadMissing         Reason = "UploadMissing"
	EventsExpired         Reason = "EventsExpired"
	UnknownField          Reason = "UnknownField"
	UnsupportedField      Reason = "UnsupportedField"
	NotAllowed            Reason = "NotAllowed"
	FeatureDisabled       Reason = "FeatureDisabled"
	Starting              Reason = "Starting"
	LogUnavailable        Reason = "LogUnavailable"
	LogFull               Reason = "LogFull"
	OutcomeUnknown        Reason = "OutcomeUnknown"
	PodBusy               Reason = "PodBusy"
)

// A Description explains a Reason for the documentation.
type Description struct {
	Reason  Reason
	Code    int    // HTTP status
	General Reason // general reason of a specific reason, or ""
	Meaning string // cause, and what the sender of the request can do
}

// Reasons returns the descriptions of all reasons, in the order of the documentation.
// Callers must not modify the result.
func Reasons() []Description { return reasons }

var reasons = []Description{
	{Malformed, http.StatusBadRequest, "", "the header or the body cannot be read, for example as JSON; correct the request"},
	{ChecksumMismatch, http.StatusBadRequest, Malformed, "the SHA-256 of the archive is not the one in the URL; send the archive again"},
	{Unauthorized, http.StatusUnauthorized, "", "the server rejects the credentials; authenticate again"},
	{CredentialsMissing, http.StatusUnauthorized, Unauthorized, "the request has no credentials; see `GET /auth`"},
	{ProxyNotTrusted, http.StatusUnauthorized, Unauthorized, "only trusted proxies may set `X-User`"},
	{Forbidden, http.StatusForbidden, "", "the user may not do this; ask an administrator"},
	{AdministratorRequired, http.StatusForbidden, Forbidden, "only administrators may name other users"},
	{OriginNotAllowed, http.StatusForbidden, Forbidden, "a page of another site sent the request; open the page under the name of the server"},
	{NotFound, http.StatusNotFound, "", "the object does not exist"},
	{RouteNotFound, http.StatusNotFound, NotFound, "the server has no such route"},
	{TaskNotFound, http.StatusNotFound, NotFound, "the user has no such task, or the task has left the history"},
	{VolumeNotFound, http.StatusNotFound, NotFound, "the user has no such volume"},
	{GroupNotFound, http.StatusNotFound, NotFound, "the user has no task of such a group in the history"},
	{UploadNotFound, http.StatusNotFound, NotFound, "the user has no such archive; upload the archive"},
	{LogNotFound, http.StatusNotFound, NotFound, "the server did not keep the log of this attempt, or not these lines"},
	{OutputsNotFound, http.StatusNotFound, NotFound, "the server has no outputs of this node; `metadata.outputs` of the task says why"},
	{SubmissionNotFound, http.StatusNotFound, NotFound, "the server no longer has the task as submitted"},
	{MethodNotAllowed, http.StatusMethodNotAllowed, "", "use a method from the header `Allow`"},
	{RequestTimeout, http.StatusRequestTimeout, "", "the request did not arrive in time; retry"},
	{Conflict, http.StatusConflict, "", "the request conflicts with an object or with an earlier request"},
	{KeyReused, http.StatusConflict, Conflict, "the `Idempotency-Key` belongs to a request with another body; use another key"},
	{VolumeInUse, http.StatusConflict, Conflict, "tasks use the volume; stop the tasks, or repeat the request with `force=true`"},
	{UploadMissing, http.StatusConflict, Conflict, "an archive of the task is not on the server; upload the archive, then submit the task again"},
	{Gone, http.StatusGone, "", "the requested data has expired; start from the beginning"},
	{EventsExpired, http.StatusGone, Gone, "the events after this id have expired; restart without an id"},
	{TooLarge, http.StatusRequestEntityTooLarge, "", "the body is too large"},
	{UnsupportedMediaType, http.StatusUnsupportedMediaType, "", "use a `Content-Type` and a `Content-Encoding` that the message names"},
	{HostNotAllowed, http.StatusMisdirectedRequest, "", "the name in `Host` is unknown; use localhost, or add the name to `--allowed-hosts`"},
	{Invalid, http.StatusUnprocessableEntity, "", "a value is invalid; `field` names the field, the parameter or the header"},
	{UnknownField, http.StatusUnprocessableEntity, Invalid, "no field has this name; correct or remove the field"},
	{UnsupportedField, http.StatusUnprocessableEntity, Invalid, "the server does not support this field of SkyPilot; remove the field"},
	{NotAllowed, http.StatusUnprocessableEntity, Invalid, "the configuration of the server does not allow this value; choose another value, or ask an administrator"},
	{FeatureDisabled, http.StatusUnprocessableEntity, Invalid, "the configuration of the server turns this feature off; ask an administrator"},
	{UpgradeRequired, http.StatusUpgradeRequired, "", "the route needs a WebSocket with the protocol that the message names"},
	{LimitReached, http.StatusTooManyRequests, "", "the user has reached a limit, and nothing was stored; retry after `Retry-After`"},
	{HeaderTooLarge, http.StatusRequestHeaderFieldsTooLarge, "", "the header of the request is too large"},
	{InternalError, http.StatusInternalServerError, "", "the server failed; report the request id to an administrator"},
	{Unavailable, http.StatusServiceUnavailable, "", "a dependency of the server is unavailable; retry after `Retry-After`"},
	{Starting, http.StatusServiceUnavailable, Unavailable, "this pod is starting or stopping; retry"},
	{LogUnavailable, http.StatusServiceUnavailable, Unavailable, "the command log accepts no commands at present, and nothing was stored; retry"},
	{LogFull, http.StatusServiceUnavailable, Unavailable, "the command log is nearly full and accepts only stops and deletions; ask an administrator"},
	{OutcomeUnknown, http.StatusServiceUnavailable, Unavailable, "the server may have stored the command; retry with the same `Idempotency-Key`"},
	{PodBusy, http.StatusServiceUnavailable, Unavailable, "this pod has reached its own limit; retry"},
	{VersionNotSupported, http.StatusHTTPVersionNotSupported, "", "send HTTP/1.1"},
}

var byReason = func() map[Reason]Description {
	all := make(map[Reason]Description, len(reasons))
	for _, d := range reasons {
		all[d.Reason] = d
	}
	return all
}()

// Error returns the name of the reason.
func (r Reason) Error() string { return string(r) }

// Unwrap returns the general reason of a specific reason.
func (r Reason) Unwrap() error {
	if general := byReason[r].General; general != "" {
		return general
	}
	return nil
}

// Code returns the HTTP status of the reason.
func (r Reason) Code() int { return byReason[r].Code }

// Of returns the most specific reason of an error. An error without a reason is a fault of
// the server.
func Of(err error) Reason {
	if r, ok := errors.AsType[Reason](err); ok {
		return r
	}
	return InternalError
}

// OfCode returns the general reason of an HTTP status.
func OfCode(code int) Reason {
	for _, d := range reasons {
		if d.Code == code {
			return d.Reason
		}
	}
	if code < http.StatusInternalServerError {
		return Malformed
	}
	return InternalError
}

// New returns an error with a reason and a message. The message does not contain the reason.
func New(r Reason, text string) error { return &problem{r, text} }

type problem struct {
	reason Reason
	text   string
}

func (p *problem) Error() string { return p.text }
func (p *problem) Unwrap() error { return p.reason }

// fieldForm matches the field at the beginning of a message about one field, one parameter
// or one header.
var fieldForm = regexp.MustCompile(`^([A-Za-z_][\w.\[\]-]*): `)

// Field returns the path of the field, or the name of the parameter or header, that the
// problem is about: messages about a field begin with its path and a colon.
func (p *problem) Field() string {
	if found := fieldForm.FindStringSubmatch(p.text); found != nil {
		return found[1]
	}
	return ""
}

// Field returns what the method Field of an error returns, or "" for errors without it.
func Field(err error) string {
	if e, ok := errors.AsType[interface {
		error
		Field() string
	}](err); ok {
		return e.Field()
	}
	return ""
}
