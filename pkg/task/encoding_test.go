package task

import "testing"

// The hash of a request is stored with its task and compared with the hashes of requests
// that later releases get, so the hash of a request never changes.
func TestBodyIsTheSameInEveryRelease(t *testing.T) {
	spec := Spec{Name: "train", NumNodes: 2, Run: "true"}
	for want, got := range map[string]string{
		"0726d6e13ea2faa47c4b0ce6305a907c": Submit{ID: "a", User: "ann", Task: spec}.Body(),
		"c389c12ddac0ecfdb32a6c2a668032a2": Submit{ID: "b", User: "bob", Task: spec, SecretsMAC: "mac"}.Body(),
	} {
		if got != want {
			t.Errorf("the hash is %s, want %s", got, want)
		}
	}
}
