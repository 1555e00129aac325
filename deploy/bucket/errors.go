package main

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"syscall"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/rclone/rclone/fs"
	localfile "github.com/rclone/rclone/lib/file"
	"google.golang.org/api/googleapi"
)

// permanent marks an error that another attempt does not remedy.
type permanent struct{ error }

func (p permanent) Unwrap() error { return p.error }

func isPermanent(err error) bool {
	code := statusOf(err)
	switch {
	case errors.As(err, &permanent{}), errors.Is(err, fs.ErrorDirNotFound), isFull(err):
		return true
	case code == http.StatusRequestTimeout, code == http.StatusConflict, code == http.StatusTooManyRequests:
		return false
	}
	return code >= 400 && code < 500
}

// isFull reports whether a file system of the machine has no space left.
func isFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, localfile.ErrDiskFull)
}

// statusOf returns the HTTP status of the store, 0 if err has none.
func statusOf(err error) int {
	var amazon interface{ HTTPStatusCode() int }
	var google *googleapi.Error
	var azure *azcore.ResponseError
	switch {
	case errors.As(err, &amazon):
		return amazon.HTTPStatusCode()
	case errors.As(err, &google):
		return google.Code
	case errors.As(err, &azure):
		return azure.StatusCode
	}
	return 0
}

// explain returns what failed, and what to do.
func (b bucket) explain(what string, err error) error {
	reason := strings.Join(strings.Fields(err.Error()), " ")
	switch code := statusOf(err); {
	case errors.As(err, &permanent{}):
		return err
	case isMissing(err):
		return fmt.Errorf("%s does not exist; create the bucket, or correct its name", b.URL)
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		return fmt.Errorf("the store rejects the credentials for %s, or the credentials do not allow to list and read the bucket; check %s (%s)", b.URL, b.names(), reason)
	case isFull(err):
		return fmt.Errorf("cannot %s %s: the disk of the machine is full, or an emptyDir of the pod has reached its limit; request space with resources.ephemeral_storage, or name a prefix with less data", what, b.URL)
	}
	return fmt.Errorf("cannot %s %s: %s", what, b.URL, reason)
}
