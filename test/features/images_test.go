package features

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"k8s-cli/pkg/task"
	"k8s-cli/test/testkit/must"
)

// A registry serves a few images, as public registries do, over plain HTTP. Container
// runtimes allow plain HTTP on this machine's own address.
type registry struct {
	name  string // prefix of its images
	blobs map[string]blob
	tags  map[string]string // digest by repository
}

type blob struct {
	kind string
	data []byte
}

const (
	manifestKind = "application/vnd.oci.image.manifest.v1+json"
	configKind   = "application/vnd.oci.image.config.v1+json"
	layerKind    = "application/vnd.oci.image.layer.v1.tar"
	indexKind    = "application/vnd.oci.image.index.v1+json"
)

// newRegistry returns a registry with images that contain no files.
func newRegistry(t *testing.T) *registry {
	t.Helper()
	listener := must.Listen(t)
	r := &registry{name: listener.Addr().String(), blobs: map[string]blob{}, tags: map[string]string{}}
	r.tags["empty"] = r.image(t, "", 2)
	r.tags["slow"] = r.image(t, "", 4) // runtimes fetch equal layers only once
	r.tags["owned"] = r.image(t, "nobody-there", 2)
	r.tags["foreign"] = r.put(t, indexKind, map[string]any{
		"schemaVersion": 2, "mediaType": indexKind,
		"manifests": []any{r.descriptor(r.tags["empty"], map[string]any{"os": "linux", "architecture": "s390x"})},
	})
	server := &http.Server{Handler: r}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	return r
}

// image stores an image that runs as a user, and returns its digest. The layer of the image
// is an archive without files, of this many blocks.
func (r *registry) image(t *testing.T, user string, blocks int) string {
	t.Helper()
	layer := r.store(layerKind, make([]byte, 512*blocks))
	config := r.put(t, configKind, map[string]any{
		"os": "linux", "architecture": runtime.GOARCH,
		"config": map[string]any{"User": user},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{layer}},
	})
	return r.put(t, manifestKind, map[string]any{
		"schemaVersion": 2, "mediaType": manifestKind,
		"config": r.descriptor(config, nil), "layers": []any{r.descriptor(layer, nil)},
	})
}

func (r *registry) put(t *testing.T, kind string, document map[string]any) (digest string) {
	t.Helper()
	return r.store(kind, must.Encode(t, document))
}

func (r *registry) store(kind string, data []byte) (digest string) {
	digest = fmt.Sprintf("sha256:%x", sha256.Sum256(data))
	r.blobs[digest] = blob{kind, data}
	return digest
}

func (r *registry) descriptor(digest string, platform map[string]any) map[string]any {
	d := map[string]any{"mediaType": r.blobs[digest].kind, "digest": digest, "size": len(r.blobs[digest].data)}
	if platform != nil {
		d["platform"] = platform
	}
	return d
}

// ServeHTTP implements the OCI distribution specification.
func (r *registry) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	repository, what, _ := strings.Cut(strings.TrimPrefix(q.URL.Path, "/v2/"), "/")
	_, reference, _ := strings.Cut(what, "/")
	found, ok := r.blobs[reference]
	if digest := r.tags[repository]; !ok && digest != "" {
		found, ok, reference = r.blobs[digest], true, digest
	}
	switch {
	case q.URL.Path == "/v2/":
		return
	case repository == "private":
		w.Header().Set("WWW-Authenticate", `Basic realm="members"`)
		refuse(w, http.StatusUnauthorized, "UNAUTHORIZED")
	case !ok:
		refuse(w, http.StatusNotFound, "MANIFEST_UNKNOWN")
	case repository == "slow" && strings.HasPrefix(what, "blobs/") && found.kind == layerKind:
		<-q.Context().Done()
	default:
		w.Header().Set("Content-Type", found.kind)
		w.Header().Set("Docker-Content-Digest", reference)
		w.Header().Set("Content-Length", fmt.Sprint(len(found.data)))
		if q.Method != http.MethodHead {
			_, _ = w.Write(found.data)
		}
	}
}

func refuse(w http.ResponseWriter, code int, word string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = fmt.Fprintf(w, `{"errors":[{"code":%q,"message":"no"}]}`, word)
}

func TestImagePullErrors(t *testing.T) {
	t.Parallel()
	ann := newUser(t)
	r := newRegistry(t)
	image := func(name string) string { return "run: true\nresources: {image_id: '" + r.name + "/" + name + "'}\n" }
	for _, tt := range []struct {
		name, file string
		phase      task.Phase
		want       explanation
	}{
		{"it is not there", image("nothing:1"), task.Pending, explanation{"ErrImagePull|ImagePullBackOff", "/nothing:1.*not found", "^The registry has no such image"}},
		{"it is for members", image("private:1"), task.Pending, explanation{"ErrImagePull|ImagePullBackOff", "authorization failed", "pull secret"}},
		{"it is for other machines", image("foreign:1"), task.Pending, explanation{"ErrImagePull|ImagePullBackOff", "no match for platform", "^The image does not support the architecture of the machine"}},
		{"it takes long", image("slow:1"), task.Pending, explanation{"ContainerCreating", `^pulling image \S+/slow:1, or starting the container, since \S+Z$`, "^Wait: the first pull of a large image"}},
		{"its name is too long", image(strings.Repeat("x", 256)), task.Pending, explanation{"InvalidImageName", "couldn't parse image name|must not be more than 255", "^Correct resources.image_id"}},
		{
			"it may not be pulled", image("empty:2") + "config: {kubernetes: {pod_config: {spec: {containers: [{imagePullPolicy: Never}]}}}}", task.Pending,
			explanation{"ErrImageNeverPull", "empty:2", "^The machine does not have the image"},
		},
		{"its user does not exist", image("owned:1"), task.Pending, explanation{"CreateContainerError", "failed to create containerd container", "^The machine cannot create the container"}},
		{"it has no shell", image("empty:1"), task.Failed, explanation{"StartError", "/bin/sh", "^The image needs a shell"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			id := ann.submit(t, tt.file)
			if s := ann.awaitExplained(t, id, tt.phase, tt.want); s.Phase == task.Pending {
				ann.stop(t, id)
			}
		})
	}
}
