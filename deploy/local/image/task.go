package image

import (
	"context"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// WritePause writes the pause image with the program at exe.
func WritePause(path, exe string) error {
	program, err := static(exe)
	if err != nil {
		return err
	}
	only, err := layer([]file{program.at("pause")})
	if err != nil {
		return err
	}
	images := archive{}
	if err := images.add(v1.Config{Entrypoint: []string{"/pause"}, User: "65535:65535"}, []string{Pause}, only); err != nil {
		return err
	}
	return images.save(path)
}

// Programs holds the paths of the programs in the images of tasks.
type Programs struct {
	Bash    string // a static bash
	Busybox string // a static busybox
	Python  string // a root file system with the Python of Debian
}

// WriteTasks writes the task image, the same image without bash, and the stand-in of the Python image.
func WriteTasks(ctx context.Context, path string, p Programs) error {
	shell, err := p.shell(ctx)
	if err != nil {
		return err
	}
	base, err := layer(shell)
	if err != nil {
		return err
	}
	interpreter, err := python(p.Python)
	if err != nil {
		return fmt.Errorf("read the files of Python: %w", err)
	}
	top, err := layer(interpreter)
	if err != nil {
		return err
	}
	config := v1.Config{
		Cmd:        []string{"/bin/bash"},
		Env:        []string{"PATH=/usr/local/bin:/bin", "HOME=/root", "LANG=C.UTF-8"},
		WorkingDir: "/",
	}
	images := archive{}
	if err := images.add(config, taskNames, base); err != nil {
		return err
	}
	box, err := layer(slices.DeleteFunc(slices.Clone(shell), func(f file) bool { return f.path == "bin/bash" }))
	if err != nil {
		return err
	}
	config.Cmd = []string{"/bin/sh"}
	if err := images.add(config, []string{Busybox}, box); err != nil {
		return err
	}
	config.Cmd = []string{"python3"}
	if err := images.add(config, []string{StandIn}, base, top); err != nil {
		return err
	}
	return images.save(path)
}

// shell returns the files of the task image.
func (p Programs) shell(ctx context.Context) ([]file, error) {
	shell, err := static(p.Bash)
	if err != nil {
		return nil, err
	}
	box, err := static(p.Busybox)
	if err != nil {
		return nil, err
	}
	applets, err := exec.CommandContext(ctx, p.Busybox, "--list").Output()
	if err != nil {
		return nil, fmt.Errorf("ask busybox what it can do: %w", err)
	}
	files := append(skeleton(), shell.at("bin/bash"), box.at("bin/busybox"))
	for _, applet := range strings.Fields(string(applets)) {
		if applet != "bash" && applet != "busybox" {
			files = append(files, file{path: "bin/" + applet, link: "busybox", mode: 0o777})
		}
	}
	return files, nil
}

// skeleton returns the files that scripts expect in a root file system. All programs are in
// /bin; links make the programs available under other paths.
func skeleton() []file {
	files := []file{
		{path: "tmp/", mode: 0o1777},
		{path: "etc/passwd", mode: 0o644, content: []byte("root:x:0:0:root:/root:/bin/bash\nnobody:x:65534:65534:nobody:/:/bin/false\n")},
		{path: "etc/group", mode: 0o644, content: []byte("root:x:0:\nnogroup:x:65534:\n")},
		{path: "etc/nsswitch.conf", mode: 0o644, content: []byte("hosts: files dns\n")},
		{path: "etc/os-release", mode: 0o644, content: []byte("ID=k8s-cli-task\nPRETTY_NAME=\"bash and busybox, for tries and tests\"\n")},
		{path: "usr/bin", link: "../bin", mode: 0o777},
		{path: "usr/sbin", link: "../bin", mode: 0o777},
		{path: "sbin", link: "bin", mode: 0o777},
	}
	for _, dir := range []string{"bin/", "root/", "usr/local/bin/", "var/log/", "var/tmp/", "mnt/", "opt/", "home/", "run/"} {
		files = append(files, file{path: dir, mode: 0o755})
	}
	return files
}

// static reads a statically linked program, which runs in an image without libraries.
func static(path string) (file, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return file{}, err
	}
	exe, err := elf.Open(path)
	if err != nil {
		return file{}, fmt.Errorf("%s is not a program: %w", path, err)
	}
	defer func() { _ = exe.Close() }() // opened for reading only
	for _, p := range exe.Progs {
		if p.Type == elf.PT_INTERP {
			return file{}, fmt.Errorf("%s is not a static program", path)
		}
	}
	return file{mode: 0o755, content: content}, nil
}

func (f file) at(path string) file {
	f.path = path
	return f
}
