package main

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/resource"
)

// A size is the value of a flag for a number of bytes, for example 512Ki, 1Mi or 1000000.
type size int64

// Set parses a Kubernetes quantity. pflag calls Set.
func (s *size) Set(text string) error {
	q, err := resource.ParseQuantity(text)
	if err != nil || q.Sign() < 0 {
		return fmt.Errorf("%q is not a size such as 512Ki or 1Gi", text)
	}
	*s = size(q.Value())
	return nil
}

func (s *size) String() string {
	return resource.NewQuantity(int64(*s), resource.BinarySI).String()
}

// Type returns the name of the type in --help.
func (s *size) Type() string { return "size" }
