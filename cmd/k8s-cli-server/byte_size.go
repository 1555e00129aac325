package main

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/resource"
)

// A size is a flag for a number of bytes: 512Ki, 1Mi, 1000000.
type size int64

// Set is called by pflag.
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

// Type is shown in --help.
func (s *size) Type() string { return "size" }
